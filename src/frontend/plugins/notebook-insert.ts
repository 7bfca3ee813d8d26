/** Connect code in notebooks, consoles and files: inserted or dragged from the panel. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { clusterSource } from '../notebook/cluster-source.js';
import { NotebookHooks } from '../notebook/notebook-hooks.js';
import { IMusterClusters } from '../tokens.js';

export const notebookInsertPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-muster:notebook-insert',
  description:
    'Inserts connect code into notebooks, consoles and files, and lets cluster rows be dragged there.',
  autoStart: true,
  requires: [IMusterClusters],
  optional: [INotebookTracker, IConsoleTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    clusters: IMusterClusters,
    notebooks: INotebookTracker | null,
    consoles: IConsoleTracker | null,
    translator: ITranslator | null
  ): void => {
    const hooks = new NotebookHooks({
      source: clusterSource(clusters.model),
      places: { notebooks, consoles, current: () => app.shell.currentWidget },
      currentChanged: app.shell.currentChanged ?? null,
      trans: (translator ?? nullTranslator).load('jupyterlab_muster')
    });
    clusters.setNotebookHooks(hooks);
  }
};
