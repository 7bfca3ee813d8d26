/** The cluster of a notebook: toolbar picker, connecting by itself, and commands for both. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { clusterSource } from '../notebook/cluster-source.js';
import {
  addNotebookCommands,
  createPicker
} from '../notebook/notebook-commands.js';
import { NotebookLinks } from '../notebook/notebook-links.js';
import { IMusterClusters } from '../tokens.js';

const ID = 'jupyterlab-muster:notebook-picker';

export const notebookPickerPlugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description:
    'Binds a notebook to a cluster and keeps its kernel connected; the choice is in the notebook’s toolbar.',
  autoStart: true,
  requires: [IMusterClusters, INotebookTracker],
  optional: [
    IToolbarWidgetRegistry,
    ICommandPalette,
    ISettingRegistry,
    ITranslator
  ],
  activate: (
    app: JupyterFrontEnd,
    clusters: IMusterClusters,
    tracker: INotebookTracker,
    toolbars: IToolbarWidgetRegistry | null,
    palette: ICommandPalette | null,
    settings: ISettingRegistry | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('jupyterlab_muster');
    const source = clusterSource(clusters.model);
    // Until the setting is known nothing connects by itself.
    let isAutomatic = settings === null;
    const automatic = (): boolean => isAutomatic;
    const links = new NotebookLinks({ tracker, source, trans, automatic });
    const parts = { app, links, source, trans, tracker, palette };
    addNotebookCommands(parts);
    toolbars?.addFactory<NotebookPanel>('Notebook', 'musterCluster', panel =>
      createPicker(panel, parts)
    );
    const take = (value: unknown): void => {
      isAutomatic = value !== false;
      links.lookAgain();
    };
    settings?.load(ID).then(
      loaded => {
        take(loaded.get('autoReconnect').composite);
        loaded.changed.connect(() => {
          take(loaded.get('autoReconnect').composite);
        });
      },
      (error: unknown) => {
        // The default holds; whoever broke the settings file wants to know.
        console.warn(`${ID}: settings could not be read`, error);
        take(true);
      }
    );
  }
};
