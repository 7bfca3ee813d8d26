import { Clipboard } from '@jupyterlab/apputils';
import { copyIcon } from '@jupyterlab/ui-components';
import { secondsSince, useNow } from '../../elements/clock.js';
import { IconButton } from '../../elements/icon-button.js';
import { useMuster } from '../../elements/muster-context.js';
import { clusterWord } from '../../elements/words.js';
import { hasEnded } from '../../model/cluster-order.js';
import { Missing } from '../../panels/clusters/missing.js';
import type { ClusterView } from '../../../protocol/index.js';
import { formatBytes, formatDuration } from '../../../protocol/index.js';
import { EventList } from './event-list.js';
import { Tiles } from './tiles.js';
import type { Timeline } from './timeline.js';

/** Where it runs, how it does, and what went wrong lately. */
export function Overview(props: {
  view: ClusterView;
  timeline: Timeline;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { view, timeline } = props;
  const now = useNow(10_000);
  const isOver = hasEnded(view);
  const { scheduler, spec } = view;
  const where =
    spec.scheduler.placement === 'job'
      ? trans.__('as a job on %1', scheduler.host ?? view.backend)
      : trans.__('beside the bridge on %1', scheduler.host ?? view.owner.host);
  const bad = timeline.events.filter(event => event.severity !== 'info');
  const facts: [string, React.ReactNode][] = [
    [trans.__('State'), clusterWord(view, trans)],
    [trans.__('Scheduler'), where],
    [
      trans.__('Address'),
      scheduler.address === null ? (
        '–'
      ) : (
        <>
          <code>{scheduler.address}</code>
          <IconButton
            icon={copyIcon}
            label={trans.__('Copy the address')}
            onClick={() => {
              Clipboard.copyToSystem(scheduler.address ?? '');
            }}
          />
        </>
      )
    ],
    [
      trans.__('Created'),
      trans.__(
        '%1, %2 ago',
        new Date(view.createdAt).toLocaleString(),
        formatDuration(secondsSince(view.createdAt, now))
      )
    ],
    ...(view.stoppedAt === null
      ? []
      : ([[trans.__('Ended'), new Date(view.stoppedAt).toLocaleString()]] as [
          string,
          React.ReactNode
        ][])),
    [trans.__('Python'), <code>{spec.environment.python}</code>],
    [trans.__('Dask'), scheduler.version ?? '–'],
    [
      trans.__('Security'),
      spec.security.tls ? trans.__('TLS, own certificates') : trans.__('none')
    ],
    [
      trans.__('Lifetime'),
      [
        spec.lifetime.idleTimeout === null
          ? trans.__('does not stop when idle')
          : trans.__(
              'stops after %1 without work',
              formatDuration(spec.lifetime.idleTimeout)
            ),
        spec.lifetime.onJupyterStop === 'keep'
          ? trans.__('lives on when Jupyter stops')
          : trans.__('stops with Jupyter')
      ].join('; ')
    ]
  ];
  return (
    <div className="jp-MusterView-scroll">
      {isOver ? null : <Tiles view={view} />}
      <Missing view={view} all />
      <div className="jp-MusterOverview">
        <dl>
          {facts.map(([term, fact]) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{fact}</dd>
            </div>
          ))}
        </dl>
        <dl>
          {view.groups.map(group => {
            const shape = spec.groups.find(one => one.name === group.name);
            return (
              <div key={group.name}>
                <dt>{trans.__('Group %1', group.name)}</dt>
                <dd>
                  {trans.__(
                    '%1 of %2 workers',
                    group.counts.connected,
                    group.target
                  )}
                  {shape === undefined
                    ? ''
                    : ` · ${trans._n('%1 core', '%1 cores', shape.worker.cores)}, ${
                        shape.worker.memory === null
                          ? trans.__('no memory limit')
                          : formatBytes(shape.worker.memory)
                      }${
                        shape.worker.gpus > 0
                          ? `, ${trans._n('%1 GPU', '%1 GPUs', shape.worker.gpus)}`
                          : ''
                      }`}
                </dd>
              </div>
            );
          })}
        </dl>
      </div>
      {bad.length === 0 ? null : (
        <section aria-label={trans.__('What went wrong lately')}>
          <h3 className="jp-MusterView-subtitle">
            {trans.__('What went wrong lately')}
          </h3>
          <EventList events={bad.slice(-10).reverse()} />
        </section>
      )}
    </div>
  );
}
