import { useContext, useEffect, useState } from 'react';
import { VisibleContext } from '../../elements/clock.js';
import { useMuster } from '../../elements/muster-context.js';
import type { ClusterView, JobView } from '../../../protocol/index.js';

/** Jobs are asked for when the cluster's revision has moved, at most this often. */
const REREAD_MS = 2_000;

/** The jobs of a cluster, read again as it changes. */
export function useJobs(view: ClusterView): {
  jobs: readonly JobView[];
  error: string | null;
  isLoaded: boolean;
} {
  const { client } = useMuster();
  const isVisible = useContext(VisibleContext);
  const [answer, setAnswer] = useState<{
    jobs: readonly JobView[];
    error: string | null;
    isLoaded: boolean;
    revision: number;
    time: number;
  }>({ jobs: [], error: null, isLoaded: false, revision: -1, time: 0 });
  useEffect(() => {
    if (!isVisible || answer.revision === view.revision) {
      return;
    }
    let isStale = false;
    const timer = window.setTimeout(
      () => {
        const done = (part: {
          jobs?: JobView[];
          error: string | null;
        }): void => {
          if (!isStale) {
            setAnswer(old => ({
              jobs: part.jobs ?? old.jobs,
              error: part.error,
              isLoaded: true,
              revision: view.revision,
              time: Date.now()
            }));
          }
        };
        client.jobs(view.id).then(
          jobs => {
            done({ jobs, error: null });
          },
          (error: unknown) => {
            done({
              error: error instanceof Error ? error.message : String(error)
            });
          }
        );
      },
      Math.max(0, answer.time + REREAD_MS - Date.now())
    );
    return () => {
      isStale = true;
      window.clearTimeout(timer);
    };
  }, [client, isVisible, view.id, view.revision, answer.revision, answer.time]);
  return answer;
}
