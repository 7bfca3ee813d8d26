import { useMuster } from '../../elements/muster-context.js';
import { jobWord, workerWord } from '../../elements/words.js';
import { hasEnded } from '../../model/cluster-order.js';
import type { ClusterView } from '../../../protocol/index.js';
import type { LogSource } from '../logs/log-view.js';
import { LogView } from '../logs/log-view.js';
import { useFeed } from './feed.js';
import { useJobs } from './job-rows.js';

/** Sources offered in the chooser; the tables' own log buttons reach all the others. */
const OFFERED = 500;

/** The logs of the scheduler, of each job and of each worker. */
export function Logs(props: {
  view: ClusterView;
  what: string;
  onWhat: (what: string) => void;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { view } = props;
  const { jobs } = useJobs(view);
  const { workers } = useFeed(view.id);
  const sources: LogSource[] = [
    { what: 'scheduler', label: trans.__('Scheduler') },
    ...workers.slice(0, OFFERED).map(worker => ({
      what: worker.id,
      label: trans.__(
        'Worker %1 · %2',
        worker.id,
        [worker.host ?? '', workerWord(worker.status, trans)]
          .filter(part => part !== '')
          .join(' · ')
      )
    })),
    ...jobs
      .filter(job => job.logs && job.group !== null)
      .slice(0, OFFERED)
      .map(job => ({
        what: job.id,
        label: trans.__(
          'Job %1 · %2',
          job.handle?.nativeId ?? job.id,
          jobWord(job.phase, job.outcome, trans)
        )
      }))
  ];
  return (
    <LogView
      cluster={view.id}
      clusterName={view.name}
      sources={sources}
      what={props.what}
      onWhat={props.onWhat}
      isOver={hasEnded(view)}
    />
  );
}
