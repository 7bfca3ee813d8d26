/** The notebook half's plugins; a site can disable each. */
import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { notebookInsertPlugin } from './notebook-insert.js';
import { notebookPickerPlugin } from './notebook-picker.js';

const plugins: JupyterFrontEndPlugin<void>[] = [
  notebookInsertPlugin,
  notebookPickerPlugin
];
export default plugins;
