/** The list of plugins, nothing else. */
import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { commandsPlugin } from './plugins/commands.js';
import { dashboardsPlugin } from './plugins/dashboards.js';
import { clustersPlugin, partsPlugin } from './plugins/model.js';
import { notebookInsertPlugin } from './plugins/notebook-insert.js';
import { notebookPickerPlugin } from './plugins/notebook-picker.js';
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
  notebookInsertPlugin,
  notebookPickerPlugin
];
export default plugins;
