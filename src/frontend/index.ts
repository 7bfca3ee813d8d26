/** The list of plugins, nothing else. */
import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { commandsPlugin } from './plugins/commands.js';
import { dashboardsPlugin } from './plugins/dashboards.js';
import { clustersPlugin, partsPlugin } from './plugins/model.js';
import notebookPlugins from './plugins/notebook.js';
import { notificationsPlugin } from './plugins/notifications.js';
import { panelPlugin } from './plugins/panel.js';
import { runningPlugin } from './plugins/running.js';
import { statusPlugin } from './plugins/status.js';
import { viewsPlugin } from './plugins/views.js';

export { CommandIDs } from './commands.js';
export * from './tokens.js';

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  partsPlugin,
  clustersPlugin,
  commandsPlugin,
  panelPlugin,
  viewsPlugin,
  dashboardsPlugin,
  notificationsPlugin,
  runningPlugin,
  statusPlugin,
  ...notebookPlugins
];
export default plugins;
