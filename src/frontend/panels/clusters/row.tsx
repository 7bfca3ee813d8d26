import { codeIcon, copyIcon, ellipsesIcon } from '@jupyterlab/ui-components';
import { CommandIDs } from '../../commands.js';
import { secondsSince, useNow } from '../../elements/clock.js';
import { formatUsed } from '../../elements/amount-text.js';
import { Chart } from '../../elements/chart.js';
import { Dot } from '../../elements/dot.js';
import { IconButton } from '../../elements/icon-button.js';
import { barsIcon } from '../../elements/icons.js';
import { useMuster } from '../../elements/muster-context.js';
import { Progress } from '../../elements/progress.js';
import { ScaleControl } from '../../elements/scale-control.js';
import { clusterTone, clusterWord } from '../../elements/words.js';
import { HISTORY_MINUTES } from '../../model/history.js';
import type { ClusterView } from '../../../protocol/index.js';
import { formatBytes, formatDuration } from '../../../protocol/index.js';
import { figuresOf } from './figures.js';
import { Missing } from './missing.js';
import { showScaleError } from './scale-error.js';

/** A cluster that lives: line, bar, sparkline, what is missing; the selected one with controls. */
export function ClusterRow(props: {
  view: ClusterView;
  isSelected: boolean;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { view, isSelected } = props;
  return (
    <>
      <div className="jp-MusterCluster-line">
        <Dot tone={clusterTone(view)} word={clusterWord(view, trans)} />
        <span className="jp-MusterCluster-name" title={view.name}>
          {view.name}
        </span>
        <span className="jp-MusterChip">{view.backend}</span>
        <Summary view={view} />
      </div>
      {view.phase === 'running' ? (
        <Running view={view} isSelected={isSelected} />
      ) : (
        <Missing view={view} all={isSelected} />
      )}
    </>
  );
}

function Summary(props: { view: ClusterView }): React.JSX.Element {
  const { trans } = useMuster();
  const { view } = props;
  const isMoving = view.phase === 'creating' || view.phase === 'stopping';
  const now = useNow(isMoving ? 1_000 : 0);
  if (isMoving) {
    const seconds = secondsSince(view.createdAt, now);
    return (
      <span className="jp-MusterCluster-summary">
        {view.phase === 'creating'
          ? trans.__('starting, %1', formatDuration(seconds))
          : trans.__('stopping…')}
      </span>
    );
  }
  const { connected, target, range } = figuresOf(view);
  const long =
    range !== null
      ? trans._n(
          'worker · %2…%3',
          'workers · %2…%3',
          connected,
          range.minimum,
          range.maximum
        )
      : connected === target
        ? trans._n('worker', 'workers', connected)
        : trans._n('of %1 worker', 'of %1 workers', target);
  // A narrow panel leaves out the word, not the figures.
  const short =
    range !== null
      ? trans.__('in %1…%2', range.minimum, range.maximum)
      : connected === target
        ? long
        : trans.__('of %1', target);
  return (
    <span className="jp-MusterCluster-summary" title={`${connected} ${long}`}>
      <b>{connected}</b> <span className="jp-mod-long">{long}</span>
      <span className="jp-mod-short" aria-hidden="true">
        {short}
      </span>
    </span>
  );
}

function Running(props: {
  view: ClusterView;
  isSelected: boolean;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { view, isSelected } = props;
  const figures = figuresOf(view);
  const { load } = view;
  const memory =
    load !== null && load.memoryLimit > 0
      ? formatUsed(load.memoryUsed, load.memoryLimit)
      : figures.memory > 0
        ? formatBytes(figures.memory)
        : null;
  return (
    <>
      <Progress
        label={trans.__(
          '%1 connected, %2 on their way, up to %3',
          figures.connected,
          figures.pending,
          figures.maximum
        )}
        connected={figures.connected}
        pending={figures.pending}
        whole={figures.maximum}
      />
      <div className="jp-MusterCluster-figures">
        <Sparkline view={view} />
        <span>
          {trans._n('%1 core', '%1 cores', figures.cores)}
          {memory === null ? '' : ` · ${memory}`}
        </span>
      </div>
      <Missing view={view} all={isSelected} />
      {isSelected ? <Controls view={view} /> : null}
    </>
  );
}

function Sparkline(props: { view: ClusterView }): React.JSX.Element {
  const { trans, model } = useMuster();
  const now = useNow(5_000);
  const points = model.history(props.view.id);
  const to = Math.max(now, points.at(-1)?.time ?? 0);
  // A young cluster fills the width; an old one shows the last minutes.
  const from = Math.max(
    to - HISTORY_MINUTES * 60_000,
    Math.min(points[0]?.time ?? to, to - 5_000)
  );
  const workers = points.map(p => [p.time, p.workers] as const);
  const target = points.map(p => [p.time, p.target] as const);
  return (
    <Chart
      label={trans.__('Connected workers over the last minutes')}
      from={from}
      to={to}
      height={30}
      hold
      series={[
        { points: workers, kind: 'area', tone: 'ok' },
        { points: workers, kind: 'line', tone: 'ok' },
        { points: target, kind: 'dashed', tone: 'quiet' }
      ]}
    />
  );
}

function Controls(props: { view: ClusterView }): React.JSX.Element {
  const { trans, model, commands, service } = useMuster();
  const { view } = props;
  const args = { cluster: view.id };
  return (
    <div
      className="jp-MusterCluster-controls"
      role="toolbar"
      aria-label={trans.__('Actions on %1', view.name)}
    >
      <span className="jp-MusterCluster-scales">
        {view.groups.map(group => {
          const shape = view.spec.groups.find(one => one.name === group.name);
          return shape === undefined ? null : (
            <ScaleControl
              key={group.name}
              group={group}
              shape={shape}
              showName={view.groups.length > 1}
              onChange={scale => {
                model
                  .scale(view.id, group.name, scale)
                  .catch((error: unknown) => {
                    showScaleError(view, error, trans);
                  });
              }}
            />
          );
        })}
      </span>
      <span className="jp-MusterCluster-buttons">
        {service.notebook?.canInsert === true ? (
          <IconButton
            icon={codeIcon}
            label={trans.__('Insert connect code in the notebook')}
            onClick={() => {
              void commands.execute(CommandIDs.insertCode, args);
            }}
          />
        ) : (
          <IconButton
            icon={copyIcon}
            label={trans.__('Copy connect code')}
            onClick={() => {
              void commands.execute(CommandIDs.copyCode, args);
            }}
          />
        )}
        <IconButton
          icon={barsIcon}
          label={trans.__('Open the cluster’s dashboard')}
          onClick={() => {
            void commands.execute(CommandIDs.openDashboard, args);
          }}
        />
        <IconButton
          icon={ellipsesIcon}
          label={trans.__('More actions')}
          onClick={event => {
            openRowMenu(event.currentTarget);
          }}
        />
      </span>
    </div>
  );
}

/** The row's context menu, which settings define, opened by a click or a key instead. */
export function openRowMenu(button: HTMLElement): void {
  const { left, bottom } = button.getBoundingClientRect();
  button.dispatchEvent(
    new MouseEvent('contextmenu', {
      bubbles: true,
      cancelable: true,
      clientX: left,
      clientY: bottom
    })
  );
}
