import { useEffect, useReducer, useState } from 'react';
import { useMuster } from '../../elements/muster-context.js';
import type { WorkersFeed } from '../../model/workers-feed.js';
import type {
  ClusterId,
  MusterError,
  WorkerView
} from '../../../protocol/index.js';

/** Deltas come up to 20 times a second; a table is drawn again at most this often. */
const REDRAW_MS = 250;

/** The workers of a cluster while the component is shown. */
export function useFeed(id: ClusterId): {
  workers: readonly WorkerView[];
  isLoaded: boolean;
  error: MusterError | null;
} {
  const { model } = useMuster();
  const [feed, setFeed] = useState<WorkersFeed | null>(null);
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const created = model.watchWorkers(id);
    let timer = 0;
    const onChanged = (): void => {
      if (timer === 0) {
        timer = window.setTimeout(() => {
          timer = 0;
          again();
        }, REDRAW_MS);
      }
    };
    created.changed.connect(onChanged);
    setFeed(created);
    return () => {
      window.clearTimeout(timer);
      created.changed.disconnect(onChanged);
      created.dispose();
    };
  }, [model, id]);
  return {
    workers: feed?.workers ?? NONE,
    isLoaded: feed?.isLoaded ?? false,
    error: feed?.error ?? null
  };
}

const NONE: readonly WorkerView[] = [];
