/** The view of a cluster in the main area: opened by command, restored after a reload. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import { addViewCommands } from '../actions/view-commands.js';
import { CommandIDs } from '../commands.js';
import type { ClusterViewWidget } from '../views/cluster/index.js';
import { IMusterParts } from './parts.js';

export const viewsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-muster:views',
  description: 'Shows one cluster from all sides in the main area.',
  autoStart: true,
  requires: [IMusterParts],
  optional: [ILayoutRestorer, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    parts: IMusterParts,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null
  ): void => {
    const tracker = new WidgetTracker<ClusterViewWidget>({
      namespace: 'muster-cluster'
    });
    const ids = addViewCommands({ ...parts, tracker, shell: app.shell });
    for (const command of ids) {
      palette?.addItem({
        command,
        category: parts.muster.trans.__('Clusters')
      });
    }
    if (restorer !== null) {
      void restorer.restore(tracker, {
        command: CommandIDs.openCluster,
        args: ({ state }) => ({
          cluster: state.cluster,
          tab: state.tab,
          what: state.what
        }),
        name: ({ state }) => state.cluster
      });
    }
  }
};
