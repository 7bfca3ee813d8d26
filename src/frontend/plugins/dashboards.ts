/** Dashboard panes: opened by command, restored after a reload. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import { addDashboardCommands } from '../actions/dashboard-commands.js';
import { CommandIDs } from '../commands.js';
import { DashboardPane } from '../views/dashboard/index.js';
import { IMusterParts } from './parts.js';

export const dashboardsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-muster:dashboards',
  description: 'Opens Dask’s plots as panes, through the bridge.',
  autoStart: true,
  requires: [IMusterParts],
  optional: [ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    parts: IMusterParts,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ): void => {
    const tracker = new WidgetTracker<DashboardPane>({
      namespace: 'muster-dashboard'
    });
    const ids = addDashboardCommands({ ...parts, tracker, shell: app.shell });
    for (const command of ids) {
      palette?.addItem({
        command,
        category: parts.muster.trans.__('Clusters')
      });
    }
    if (restorer !== null) {
      void restorer.restore(tracker, {
        command: CommandIDs.openDashboard,
        args: ({ state }) => ({
          plot: state.plot,
          title: state.title,
          ...(state.pinned === null
            ? {}
            : { cluster: state.pinned, pinned: true })
        }),
        name: ({ state }) => DashboardPane.idOf(state)
      });
    }
  }
};
