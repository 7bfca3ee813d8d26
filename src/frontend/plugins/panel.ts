/** The sidebar's tab. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { keepSelection } from '../model/selection-keeper.js';
import { MusterSidebar, PANEL_ID } from '../panels/sidebar.js';
import { IMusterParts } from './parts.js';

/** Third parties' range is 501 to 899. */
const RANK = 550;

export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-muster:panel',
  description: 'Shows clusters and their dashboards in the left sidebar.',
  autoStart: true,
  requires: [IMusterParts],
  optional: [ILayoutRestorer, IStateDB, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    parts: IMusterParts,
    restorer: ILayoutRestorer | null,
    state: IStateDB | null,
    translator: ITranslator | null
  ): void => {
    const { muster, settings } = parts;
    const sidebar = new MusterSidebar({
      muster,
      translator: translator ?? nullTranslator
    });
    const show = (): void => {
      sidebar.clusters.setHidden(settings.hidesClusters);
      sidebar.dashboards.setHidden(settings.hidesDashboards);
    };
    settings.changed.connect(show);
    show();
    app.shell.add(sidebar, 'left', { rank: RANK, type: 'Clusters' });
    restorer?.add(sidebar, PANEL_ID);
    if (state !== null) {
      void keepSelection(muster.model, state);
    }
  }
};
