/** Commands that open views of a cluster. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { WidgetTracker } from '@jupyterlab/apputils';
import { CommandIDs } from '../commands.js';
import type { Muster } from '../elements/muster-context.js';
import { ClusterViewWidget } from '../views/cluster/index.js';
import { isTab, ViewState } from '../views/cluster/view-state.js';
import type { Tab } from '../views/cluster/view-state.js';
import { openConnectionDialog } from '../views/connection-dialog.js';
import type { CommandTarget } from './command-target.js';
import { clusterArgs } from './command-target.js';

export type ViewCommandsOptions = {
  muster: Muster;
  target: CommandTarget;
  tracker: WidgetTracker<ClusterViewWidget>;
  shell: JupyterFrontEnd.IShell;
};

/** @returns the ids added, for the palette. */
export function addViewCommands(options: ViewCommandsOptions): string[] {
  const { muster, target, tracker, shell } = options;
  const { commands, trans } = muster;

  const open = (
    cluster: string,
    tab: Tab,
    what: string | null
  ): ClusterViewWidget => {
    const known = tracker.find(widget => widget.state.cluster === cluster);
    if (known !== undefined) {
      known.state.show(tab, what);
      shell.activateById(known.id);
      return known;
    }
    const state = new ViewState({ cluster, tab, what });
    const widget = new ClusterViewWidget({ muster, state });
    state.changed.connect(() => {
      void tracker.save(widget);
    }, widget);
    void tracker.add(widget);
    shell.add(widget, 'main', { type: 'Cluster' });
    shell.activateById(widget.id);
    return widget;
  };
  const text = (value: unknown): string | null =>
    typeof value === 'string' && value !== '' ? value : null;
  const hasTarget = (args: Readonly<Record<string, unknown>>): boolean =>
    text(args['cluster']) !== null || target.of({}) !== null;

  commands.addCommand(CommandIDs.openCluster, {
    label: trans.__('Open Cluster Details'),
    isEnabled: hasTarget,
    describedBy: clusterArgs(trans, {
      tab: {
        type: 'string',
        description: trans.__('overview, workers, jobs, logs, events or spec')
      },
      what: { type: 'string', description: trans.__('Whose log') }
    }),
    execute: args => {
      // By its id even where it is not known yet: at restoring nothing has been heard.
      const cluster = target.of(args)?.id ?? text(args['cluster']);
      const { tab } = args;
      return cluster === null
        ? null
        : open(cluster, isTab(tab) ? tab : 'overview', text(args['what']));
    }
  });
  commands.addCommand(CommandIDs.showLogs, {
    label: trans.__('Show Cluster Logs'),
    isEnabled: hasTarget,
    describedBy: clusterArgs(trans, {
      what: {
        type: 'string',
        description: trans.__('scheduler, a job id or a worker id')
      }
    }),
    execute: args => {
      const view = target.of(args);
      return view === null
        ? null
        : open(view.id, 'logs', text(args['what']) ?? 'scheduler');
    }
  });
  commands.addCommand(CommandIDs.showConnection, {
    label: trans.__('Show How to Connect…'),
    isEnabled: hasTarget,
    describedBy: clusterArgs(trans),
    execute: async args => {
      const view = target.of(args);
      if (view !== null) {
        await openConnectionDialog(muster, view);
      }
    }
  });
  return [
    CommandIDs.openCluster,
    CommandIDs.showLogs,
    CommandIDs.showConnection
  ];
}
