import { Dialog, showDialog } from '@jupyterlab/apputils';
import { closeIcon } from '@jupyterlab/ui-components';
import { useMemo, useState } from 'react';
import { attempt } from '../../actions/report.js';
import { formatUsed } from '../../elements/amount-text.js';
import { useNow } from '../../elements/clock.js';
import type { Column } from '../../elements/data-table.js';
import { DataTable } from '../../elements/data-table.js';
import { Dot } from '../../elements/dot.js';
import { IconButton } from '../../elements/icon-button.js';
import { linesIcon } from '../../elements/icons.js';
import { useMuster } from '../../elements/muster-context.js';
import { workerTone, workerWord } from '../../elements/words.js';
import type { ClusterView, WorkerView } from '../../../protocol/index.js';
import { formatBytes } from '../../../protocol/index.js';
import { Tiles } from './tiles.js';
import { useFeed } from './feed.js';
import { useJobs } from './job-rows.js';

/** `48` → `0:48`, for a countdown. */
function countdown(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** From this share of its limit on a worker's memory is worth a warning (Dask spills at 0.7). */
const MEMORY_WARNING = 0.8;

export function Workers(props: {
  view: ClusterView;
  onLog: (what: string) => void;
}): React.JSX.Element {
  const { trans, client } = useMuster();
  const { view, onLog } = props;
  const feed = useFeed(view.id);
  const [filter, setFilter] = useState('');
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const wanted = filter.trim().toLowerCase();
  const workers = feed.workers;
  const shown = useMemo(
    () =>
      wanted === ''
        ? workers
        : workers.filter(worker =>
            `${worker.id} ${worker.group} ${worker.host ?? ''} ${workerWord(worker.status, trans)}`
              .toLowerCase()
              .includes(wanted)
          ),
    [workers, wanted, trans]
  );
  const { jobs } = useJobs(view);
  const natives = useMemo(
    () =>
      new Map<string, string>(
        jobs.flatMap(job =>
          job.handle === null ? [] : [[job.id, job.handle.nativeId] as const]
        )
      ),
    [jobs]
  );
  const hasReclaimed = workers.some(worker => worker.reclaimAt !== undefined);
  const now = useNow(hasReclaimed ? 1_000 : 0);

  const retire = async (ids: readonly string[]): Promise<void> => {
    const result = await showDialog({
      title: trans._n('Retire %1 worker?', 'Retire %1 workers?', ids.length),
      body: trans.__(
        'What they hold in memory moves to the others first. Where the size is fixed, others take their place.'
      ),
      buttons: [
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        Dialog.warnButton({ label: trans.__('Retire') })
      ]
    });
    if (!result.button.accept) {
      return;
    }
    setSelected(new Set());
    for (const id of ids) {
      await attempt(
        client.retire(view.id, id),
        trans.__('%1 could not be retired', id),
        trans
      );
    }
  };

  const columns = useMemo(
    (): Column<WorkerView>[] => [
      {
        id: 'state',
        title: trans.__('State'),
        width: 'minmax(130px, 1.3fr)',
        sort: worker => worker.status,
        render: worker => (
          <>
            <Dot
              tone={workerTone(worker.status, worker.reclaimAt !== undefined)}
              word={workerWord(worker.status, trans)}
            />
            {worker.reclaimAt === undefined
              ? workerWord(worker.status, trans)
              : trans.__(
                  'reclaimed in %1',
                  countdown((Date.parse(worker.reclaimAt) - now) / 1000)
                )}
          </>
        )
      },
      {
        id: 'worker',
        title: trans.__('Worker'),
        width: 'minmax(150px, 1.5fr)',
        sort: worker => worker.id,
        render: worker => <span title={worker.address}>{worker.id}</span>
      },
      ...(view.groups.length > 1
        ? [
            {
              id: 'group',
              title: trans.__('Group'),
              width: 'minmax(60px, 0.6fr)',
              sort: (worker: WorkerView) => worker.group,
              render: (worker: WorkerView) => worker.group
            }
          ]
        : []),
      {
        id: 'host',
        title: trans.__('Host'),
        width: 'minmax(80px, 1fr)',
        sort: worker => worker.host ?? '',
        render: worker => worker.host ?? '–'
      },
      {
        id: 'cpu',
        title: trans.__('CPU'),
        width: 'minmax(56px, 0.5fr)',
        align: 'end',
        sort: worker => worker.cpu ?? -1,
        render: worker =>
          worker.cpu === null ? '–' : `${Math.round(worker.cpu * 100)} %`
      },
      {
        id: 'memory',
        title: trans.__('Memory'),
        width: 'minmax(190px, 1.8fr)',
        sort: worker => worker.memoryUsed ?? -1,
        render: worker => <MemoryCell worker={worker} />
      },
      {
        id: 'running',
        title: trans.__('Running'),
        width: 'minmax(70px, 0.6fr)',
        align: 'end',
        sort: worker => worker.tasks.executing + worker.tasks.ready,
        render: worker =>
          (worker.tasks.executing + worker.tasks.ready).toLocaleString()
      },
      {
        id: 'results',
        title: trans.__('In memory'),
        width: 'minmax(96px, 0.6fr)',
        align: 'end',
        sort: worker => worker.tasks.inMemory,
        render: worker => worker.tasks.inMemory.toLocaleString()
      },
      {
        id: 'job',
        title: trans.__('Job'),
        width: 'minmax(80px, 0.8fr)',
        sort: worker => natives.get(worker.job) ?? worker.job,
        render: worker => (
          <span className="jp-MusterMeter-text" title={worker.job}>
            {natives.get(worker.job) ?? '–'}
          </span>
        )
      },
      {
        id: 'actions',
        title: '',
        width: '64px',
        render: worker => (
          <>
            <IconButton
              icon={linesIcon}
              label={trans.__('Log of %1', worker.id)}
              onClick={() => {
                onLog(worker.id);
              }}
            />
            <IconButton
              icon={closeIcon}
              label={trans.__('Retire %1…', worker.id)}
              disabled={
                worker.status === 'retiring' || worker.status === 'lost'
              }
              onClick={() => {
                void retire([worker.id]);
              }}
            />
          </>
        )
      }
    ],
    [view.groups.length, view.id, now, trans, onLog, natives]
  );
  return (
    <div className="jp-MusterView-fill">
      <Tiles view={view} />
      <div className="jp-MusterView-bar">
        <input
          className="jp-MusterField"
          type="search"
          placeholder={trans.__('Filter by name, host, state')}
          aria-label={trans.__('Filter workers')}
          value={filter}
          onChange={event => {
            setFilter(event.currentTarget.value);
          }}
        />
        <span className="jp-MusterView-count" role="status">
          {trans._n('%1 worker', '%1 workers', shown.length)}
          {selected.size > 0
            ? `, ${trans.__('%1 selected', selected.size)}`
            : ''}
          {feed.error === null
            ? ''
            : ` · ${trans.__('cannot be read: %1', feed.error.message)}`}
        </span>
        <span className="jp-MusterSpring" />
        <button
          type="button"
          className="jp-MusterButton"
          disabled={selected.size === 0}
          onClick={() => {
            void retire([...selected]);
          }}
        >
          {trans.__('Retire…')}
        </button>
      </div>
      <DataTable
        label={trans.__('Workers of %1', view.name)}
        rows={shown}
        columns={columns}
        keyOf={worker => worker.id}
        initialSort={{ column: 'worker', descending: false }}
        selected={selected}
        onSelect={(key, isAdding) => {
          const next = new Set(isAdding ? selected : []);
          if (selected.has(key)) {
            next.delete(key);
          } else {
            next.add(key);
          }
          setSelected(next);
        }}
        empty={
          feed.isLoaded
            ? wanted === ''
              ? trans.__('No worker yet.')
              : trans.__('No worker is like that.')
            : trans.__('Reading…')
        }
      />
    </div>
  );
}

function MemoryCell(props: { worker: WorkerView }): React.JSX.Element {
  const { memoryUsed, memoryLimit } = props.worker;
  if (memoryUsed === null) {
    return <span className="jp-MusterMeter-text">–</span>;
  }
  if (memoryLimit === null || memoryLimit === 0) {
    return <>{formatBytes(memoryUsed)}</>;
  }
  const share = Math.min(1, memoryUsed / memoryLimit);
  return (
    <>
      <span className="jp-MusterMeter" aria-hidden="true">
        <span
          className={share >= MEMORY_WARNING ? 'jp-mod-warn' : ''}
          style={{ width: `${share * 100}%` }}
        />
      </span>
      <span className="jp-MusterMeter-text">
        {formatUsed(memoryUsed, memoryLimit)}
      </span>
    </>
  );
}
