/** Commands that open dashboard panes, and the names other software knows them by. */
import { textOf } from '../elements/text-of.js';
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { WidgetTracker } from '@jupyterlab/apputils';
import { Notification } from '@jupyterlab/apputils';
import type { DockLayout } from '@lumino/widgets';
import { CommandIDs } from '../commands.js';
import type { Muster } from '../elements/muster-context.js';
import { plotOf } from '../panels/dashboards/plot-name.js';
import type { MusterSettings } from '../model/settings.js';
import { DashboardPane } from '../views/dashboard/index.js';
import { inLayoutOrder, titleOf } from '../views/dashboard/layout.js';
import { PaneState, STATUS_PLOT } from '../views/dashboard/pane-state.js';
import type { ClusterId } from '../../protocol/index.js';
import type { CommandTarget } from './command-target.js';
import { clusterArgs } from './command-target.js';

export type DashboardCommandsOptions = {
  muster: Muster;
  settings: MusterSettings;
  target: CommandTarget;
  tracker: WidgetTracker<DashboardPane>;
  shell: JupyterFrontEnd.IShell;
};

/** Of dask-labextension; dask's `Client` repr runs them from its "Launch in JupyterLab" button. */
const FOREIGN = {
  populateAndLaunch: 'dask:populate-and-launch-layout',
  launchLayout: 'dask:launch-layout'
};

/** @returns the ids added, for the palette. */
export function addDashboardCommands(
  options: DashboardCommandsOptions
): string[] {
  const { muster, settings, target, tracker, shell } = options;
  const { commands, model, trans } = muster;

  const open = (
    state: PaneState,
    place: DockLayout.ILayoutConfig | Record<string, unknown> = {}
  ): DashboardPane => {
    const id = DashboardPane.idOf(state);
    const known = tracker.find(pane => DashboardPane.idOf(pane.state) === id);
    if (known !== undefined) {
      shell.activateById(known.id);
      return known;
    }
    const pane = new DashboardPane({ muster, state });
    state.changed.connect(() => {
      void tracker.save(pane);
    }, pane);
    void tracker.add(pane);
    shell.add(pane, 'main', { activate: true, type: 'Dashboard', ...place });
    shell.activateById(pane.id);
    return pane;
  };

  commands.addCommand(CommandIDs.openDashboard, {
    label: args =>
      typeof args['title'] === 'string'
        ? args['title']
        : trans.__('Open Dashboard'),
    describedBy: clusterArgs(trans, {
      plot: {
        type: 'string',
        description: trans.__('Path of the plot; default: the status page')
      },
      title: { type: 'string', description: trans.__('Title of the pane') },
      pinned: {
        type: 'boolean',
        description: trans.__('Stay with this cluster')
      }
    }),
    execute: args => {
      const plot =
        typeof args['plot'] === 'string' ? plotOf(args['plot']) : STATUS_PLOT;
      const title =
        typeof args['title'] === 'string' ? args['title'] : titleOf(plot);
      const view = target.of(args);
      const isPinned = args['pinned'] === true;
      if (view !== null && !isPinned) {
        model.select(view.id);
      }
      const pinned = isPinned
        ? (view?.id ?? ((args['cluster'] ?? null) as ClusterId | null))
        : null;
      return open(new PaneState({ plot, title, pinned }));
    }
  });

  const launch = (): void => {
    const entries = inLayoutOrder(settings.defaultLayout);
    if (entries.length === 0) {
      Notification.info(
        trans.__('The default layout in the settings names no plot.'),
        { autoClose: 5_000 }
      );
    }
    const panes = new Map<string, string>();
    const first = shell.currentWidget;
    for (const { plot, title, mode, ref } of entries) {
      const beside = ref === null ? undefined : panes.get(ref);
      const pane = open(new PaneState({ plot, title, pinned: null }), {
        mode,
        ...(beside === undefined ? {} : { ref: beside })
      });
      panes.set(plot, pane.id);
    }
    if (first !== null) {
      shell.activateById(first.id); // an empty main area has none (W23)
    }
  };
  commands.addCommand(CommandIDs.launchLayout, {
    label: trans.__('Open Default Dashboard Layout'),
    describedBy: { args: { type: 'object', properties: {} } },
    execute: launch
  });
  addForeign(options, launch);
  return [CommandIDs.openDashboard, CommandIDs.launchLayout];
}

/** Unless dask-labextension itself is there and owns the names. */
function addForeign(
  options: DashboardCommandsOptions,
  launch: () => void
): void {
  const { commands, model, trans } = options.muster;
  const args = {
    type: 'object',
    properties: {
      url: { type: 'string', description: trans.__('Dashboard of the cluster') }
    }
  } as const;
  if (!commands.hasCommand(FOREIGN.launchLayout)) {
    commands.addCommand(FOREIGN.launchLayout, {
      label: trans.__('Open Default Dashboard Layout'),
      describedBy: { args },
      execute: launch
    });
  }
  if (!commands.hasCommand(FOREIGN.populateAndLaunch)) {
    commands.addCommand(FOREIGN.populateAndLaunch, {
      label: trans.__('Show This Cluster’s Dashboards'),
      describedBy: { args },
      execute: async called => {
        const viewing = model.attach();
        try {
          await model.ready; // the list first, the layout then (W24)
          const url = textOf(called['url']);
          const view = model.clusters.find(
            one =>
              one.phase === 'running' &&
              (url.includes(one.id) || isSameHost(url, one.scheduler.address))
          );
          if (view !== undefined) {
            model.select(view.id);
            launch();
          } else {
            Notification.info(
              trans.__(
                'The dashboard %1 belongs to no cluster of Muster’s.',
                url
              ),
              { autoClose: 6_000 }
            );
          }
        } finally {
          viewing.dispose();
        }
      }
    });
  }
}

function isSameHost(dashboard: string, scheduler: string | null): boolean {
  try {
    return (
      scheduler !== null &&
      new URL(dashboard).hostname ===
        new URL(scheduler.replace(/^\w+:/, 'http:')).hostname
    );
  } catch {
    return false;
  }
}
