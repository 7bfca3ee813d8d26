/** Four figures with their last minutes: workers, CPU, memory, tasks. */
import { useNow } from '../../elements/clock.js';
import type { Series } from '../../elements/chart.js';
import { Chart } from '../../elements/chart.js';
import { useMuster } from '../../elements/muster-context.js';
import { HISTORY_MINUTES } from '../../model/history.js';
import type { HistoryPoint } from '../../tokens.js';
import type { ClusterView } from '../../../protocol/index.js';
import { formatBytes } from '../../../protocol/index.js';
import { figuresOf } from '../../panels/clusters/figures.js';

const number = (value: number): string => value.toLocaleString();

/** `30.5 GiB` → `['30.5', 'GiB']`. */
const split = (bytes: number): [string, string] => {
  const [value = '', unit = ''] = formatBytes(bytes).split(' ');
  return [value, unit];
};

export function Tiles(props: { view: ClusterView }): React.JSX.Element {
  const { trans, model } = useMuster();
  const now = useNow(5_000);
  const { view } = props;
  const { load } = view;
  const points = model.history(view.id);
  const to = Math.max(now, points.at(-1)?.time ?? 0);
  const from = Math.max(
    to - HISTORY_MINUTES * 60_000,
    Math.min(points[0]?.time ?? to, to - 5_000)
  );
  const series = (
    of: (point: HistoryPoint) => number | null
  ): Series['points'] => points.map(point => [point.time, of(point)] as const);
  const figures = figuresOf(view);
  const coming = view.groups.reduce(
    (sum, { counts }) => ({
      starting: sum.starting + counts.starting,
      queued: sum.queued + counts.queued + counts.requested
    }),
    { starting: 0, queued: 0 }
  );
  const notes = [
    coming.starting > 0 ? trans.__('%1 starting', coming.starting) : '',
    coming.queued > 0 ? trans.__('%1 queued', coming.queued) : ''
  ].filter(note => note !== '');
  const workers = series(point => point.workers);
  const cpu = series(point => point.cpu);
  const memory = series(point => point.memoryUsed);
  const [used, usedUnit] = split(load?.memoryUsed ?? 0);
  const tasks = (
    of: (tasks: NonNullable<HistoryPoint['tasks']>) => number
  ): Series['points'] =>
    series(point => (point.tasks === null ? null : of(point.tasks)));
  const time = { from, to };
  return (
    <div className="jp-MusterTiles">
      <Tile
        title={trans.__('Workers, target %1', figures.target)}
        value={number(figures.connected)}
        note={notes.length === 0 ? '' : `+ ${notes.join(', ')}`}
        {...time}
        hold
        series={[
          { points: workers, kind: 'area', tone: 'ok' },
          { points: workers, kind: 'line', tone: 'ok' },
          {
            points: series(point => point.target),
            kind: 'dashed',
            tone: 'quiet'
          }
        ]}
      />
      <Tile
        title={trans.__('CPU')}
        value={load === null ? '–' : `${Math.round(load.cpu * 100)} %`}
        note={trans._n('of %1 core', 'of %1 cores', figures.cores)}
        {...time}
        hold={false}
        maximum={1}
        series={[
          { points: cpu, kind: 'area', tone: 'brand' },
          { points: cpu, kind: 'line', tone: 'brand' }
        ]}
      />
      <Tile
        title={trans.__('Memory')}
        value={load === null ? '–' : used}
        note={
          load === null
            ? ''
            : load.memoryLimit > 0
              ? trans.__('%1 of %2', usedUnit, formatBytes(load.memoryLimit))
              : usedUnit
        }
        {...time}
        hold={false}
        maximum={load?.memoryLimit ?? 0}
        series={[
          { points: memory, kind: 'area', tone: 'brand' },
          { points: memory, kind: 'line', tone: 'brand' }
        ]}
      />
      <Tile
        title={trans.__('Tasks in memory')}
        value={load === null ? '–' : number(load.tasks.memory)}
        note={
          load === null
            ? ''
            : [
                load.tasks.erred > 0
                  ? trans.__('%1 erred', load.tasks.erred)
                  : '',
                trans.__('%1 processing', number(load.tasks.processing)),
                trans.__(
                  '%1 waiting',
                  number(
                    load.tasks.waiting +
                      load.tasks.queued +
                      load.tasks.unrunnable
                  )
                )
              ]
                .filter(note => note !== '')
                .join(' · ')
        }
        {...time}
        hold={false}
        series={[
          {
            points: tasks(one => one.memory + one.processing + one.waiting),
            kind: 'stack',
            tone: 'warn'
          },
          {
            points: tasks(one => one.memory + one.processing),
            kind: 'stack',
            tone: 'brand'
          },
          { points: tasks(one => one.memory), kind: 'stack', tone: 'ok' }
        ]}
      />
    </div>
  );
}

function Tile(props: {
  title: string;
  value: string;
  note: string;
  series: readonly Series[];
  from: number;
  to: number;
  hold: boolean;
  maximum?: number;
}): React.JSX.Element {
  return (
    <figure className="jp-MusterTile">
      <figcaption>{props.title}</figcaption>
      <p>
        <b>{props.value}</b> <span>{props.note}</span>
      </p>
      <Chart
        label={`${props.title}: ${props.value} ${props.note}`}
        series={props.series}
        from={props.from}
        to={props.to}
        height={60}
        hold={props.hold}
        {...(props.maximum === undefined ? {} : { maximum: props.maximum })}
      />
    </figure>
  );
}
