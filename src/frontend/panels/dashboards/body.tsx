import { useEffect, useReducer, useState } from 'react';
import { CommandIDs } from '../../commands.js';
import { openIcon } from '../../elements/icons.js';
import { useClusters, useMuster } from '../../elements/muster-context.js';
import type { DashboardView } from '../../../protocol/index.js';
import { hasDashboards } from './model.js';
import type { PlotsModel } from './model.js';

/** The scheduler's own list of plots; a click opens a pane. */
export function DashboardsBody(props: {
  plots: PlotsModel;
}): React.JSX.Element {
  const { trans, commands } = useMuster();
  const [, again] = useReducer((count: number) => count + 1, 0);
  const [filter, setFilter] = useState('');
  const { plots } = props;
  useEffect(() => {
    plots.changed.connect(again);
    return () => {
      plots.changed.disconnect(again);
    };
  }, [plots]);
  const { cluster } = plots;
  if (cluster === null) {
    return <NoCluster />;
  }
  const wanted = filter.trim().toLowerCase();
  const shown = plots.plots.filter(plot =>
    plot.title.toLowerCase().includes(wanted)
  );
  const open = (plot: DashboardView): void => {
    void commands.execute(CommandIDs.openDashboard, {
      cluster: cluster.id,
      plot: plot.path,
      title: plot.title
    });
  };
  return (
    <>
      <input
        className="jp-MusterField jp-MusterDashboards-filter"
        type="search"
        placeholder={trans.__('Filter plots')}
        aria-label={trans.__('Filter plots')}
        value={filter}
        onChange={event => {
          setFilter(event.currentTarget.value);
        }}
        onKeyDown={event => {
          const first = shown[0];
          if (event.key === 'Enter' && first !== undefined) {
            open(first);
          }
        }}
      />
      {plots.error !== null ? (
        <p className="jp-MusterHint" role="status">
          {trans.__(
            'The plots of %1 cannot be listed yet: %2',
            cluster.name,
            plots.error
          )}
        </p>
      ) : null}
      <ul
        className="jp-MusterDashboards-list"
        aria-label={trans.__('Plots of %1', cluster.name)}
        onKeyDown={moveFocus}
      >
        {shown.map(plot => (
          <li key={plot.path}>
            <button
              type="button"
              className="jp-MusterDashboards-plot"
              title={trans.__('Open %1', plot.title)}
              onClick={() => {
                open(plot);
              }}
            >
              <span className="jp-MusterDashboards-icon" aria-hidden="true" />
              <span>{plot.title}</span>
              <openIcon.react
                tag="span"
                className="jp-MusterDashboards-open"
                width="16px"
                height="16px"
              />
            </button>
          </li>
        ))}
      </ul>
      {shown.length === 0 && plots.plots.length > 0 ? (
        <p className="jp-MusterHint">{trans.__('No plot is called that.')}</p>
      ) : null}
    </>
  );
}

function NoCluster(): React.JSX.Element {
  const { trans } = useMuster();
  const model = useClusters();
  const running = model.clusters.filter(hasDashboards);
  return (
    <p className="jp-MusterHint">
      {running.length === 0
        ? trans.__('The plots of a running cluster appear here.')
        : trans.__('Choose a cluster to see its plots.')}
    </p>
  );
}

/** Arrow keys move among the plots; Tab leaves the list. */
function moveFocus(event: React.KeyboardEvent<HTMLUListElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0) {
    return;
  }
  event.preventDefault();
  const buttons = [...event.currentTarget.querySelectorAll('button')];
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
  buttons[Math.min(Math.max(at + step, 0), buttons.length - 1)]?.focus();
}

/** In the section's title: whose plots these are. */
export function ClusterChooser(): React.JSX.Element | null {
  const { trans } = useMuster();
  const model = useClusters();
  const running = model.clusters.filter(hasDashboards);
  if (running.length === 0) {
    return null;
  }
  const isSelected = running.some(view => view.id === model.selected);
  const only = running.length === 1 ? running[0] : undefined;
  const value = isSelected ? (model.selected ?? '') : (only?.id ?? '');
  return (
    <select
      className="jp-MusterChooser"
      aria-label={trans.__('Cluster whose plots are listed')}
      value={value}
      onClick={event => {
        event.stopPropagation();
      }}
      onChange={event => {
        const chosen = running.find(
          view => view.id === event.currentTarget.value
        );
        model.select(chosen?.id ?? null);
      }}
    >
      {value === '' ? <option value="">{trans.__('Choose…')}</option> : null}
      {running.map(view => (
        <option key={view.id} value={view.id}>
          {view.name}
        </option>
      ))}
    </select>
  );
}
