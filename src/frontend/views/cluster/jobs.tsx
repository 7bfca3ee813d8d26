import { useMemo } from 'react';
import type { Column } from '../../elements/data-table.js';
import { DataTable } from '../../elements/data-table.js';
import { Dot } from '../../elements/dot.js';
import { IconButton } from '../../elements/icon-button.js';
import { linesIcon } from '../../elements/icons.js';
import { useMuster } from '../../elements/muster-context.js';
import { jobTone, jobWord } from '../../elements/words.js';
import type { ClusterView, JobView } from '../../../protocol/index.js';
import { formatDuration } from '../../../protocol/index.js';
import { useJobs } from './job-rows.js';

const between = (from: string | null, to: string | null): string =>
  from === null
    ? '–'
    : formatDuration(
        ((to === null ? Date.now() : Date.parse(to)) - Date.parse(from)) / 1000
      );

const exitText = (job: JobView): string =>
  job.exit === null
    ? ''
    : job.exit.signal !== null
      ? job.exit.signal
      : job.exit.code !== null
        ? String(job.exit.code)
        : '';

/** What the resource manager granted: its ids, states and reasons in its own words beside ours. */
export function Jobs(props: {
  view: ClusterView;
  onLog: (what: string) => void;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { view, onLog } = props;
  const { jobs, error, isLoaded } = useJobs(view);
  const columns = useMemo(
    (): Column<JobView>[] => [
      {
        id: 'state',
        title: trans.__('State'),
        width: 'minmax(130px, 1.2fr)',
        sort: job => job.phase,
        render: job => {
          const word = jobWord(job.phase, job.outcome, trans);
          return (
            <span title={job.nativeState ?? ''}>
              <Dot tone={jobTone(job.phase, job.outcome)} word={word} />
              {word}
            </span>
          );
        }
      },
      {
        id: 'native',
        title: trans.__('Job'),
        width: 'minmax(116px, 1fr)',
        sort: job => job.handle?.nativeId ?? '',
        render: job => <span title={job.id}>{job.handle?.nativeId ?? '–'}</span>
      },
      {
        id: 'group',
        title: trans.__('Group'),
        width: 'minmax(84px, 0.8fr)',
        sort: job => job.group ?? '',
        render: job => job.group ?? trans.__('scheduler')
      },
      {
        id: 'host',
        title: trans.__('Host'),
        width: 'minmax(80px, 1fr)',
        sort: job => job.host ?? '',
        render: job => job.host ?? '–'
      },
      {
        id: 'reason',
        title: trans.__('Reason'),
        width: 'minmax(140px, 2fr)',
        sort: job => job.reason ?? '',
        render: job => <span title={job.reason ?? ''}>{job.reason ?? ''}</span>
      },
      {
        id: 'wait',
        title: trans.__('Waited'),
        width: 'minmax(74px, 0.7fr)',
        align: 'end',
        sort: job =>
          job.submittedAt === null
            ? 0
            : Date.parse(
                job.startedAt ?? job.endedAt ?? new Date().toISOString()
              ) - Date.parse(job.submittedAt),
        render: job => between(job.submittedAt, job.startedAt ?? job.endedAt)
      },
      {
        id: 'ran',
        title: trans.__('Ran'),
        width: 'minmax(92px, 0.7fr)',
        align: 'end',
        sort: job => (job.startedAt === null ? 0 : Date.parse(job.startedAt)),
        render: job => between(job.startedAt, job.endedAt)
      },
      {
        id: 'exit',
        title: trans.__('Exit'),
        width: 'minmax(78px, 0.5fr)',
        align: 'end',
        sort: exitText,
        render: exitText
      },
      {
        id: 'workers',
        title: trans.__('Workers'),
        width: 'minmax(82px, 0.5fr)',
        align: 'end',
        sort: job => job.workers.length,
        render: job => job.workers.length
      },
      {
        id: 'actions',
        title: '',
        width: '40px',
        render: job => (
          <IconButton
            icon={linesIcon}
            label={trans.__('Log of job %1', job.handle?.nativeId ?? job.id)}
            disabled={!job.logs}
            onClick={() => {
              onLog(job.group === null ? 'scheduler' : job.id);
            }}
          />
        )
      }
    ],
    [trans, onLog]
  );
  return (
    <div className="jp-MusterView-fill">
      <div className="jp-MusterView-bar">
        <span className="jp-MusterView-count" role="status">
          {trans._n('%1 job', '%1 jobs', jobs.length)}
          {error === null ? '' : ` · ${trans.__('cannot be read: %1', error)}`}
        </span>
      </div>
      <DataTable
        label={trans.__('Jobs of %1', view.name)}
        rows={jobs}
        columns={columns}
        keyOf={job => job.id}
        initialSort={{ column: 'state', descending: false }}
        empty={isLoaded ? trans.__('No job yet.') : trans.__('Reading…')}
      />
    </div>
  );
}
