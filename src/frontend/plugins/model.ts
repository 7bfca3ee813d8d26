/** The clusters, and what the other plugins share. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IConnectionStatus } from '@jupyterlab/services';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { CommandTarget } from '../actions/command-target.js';
import { BridgeClient } from '../model/bridge-client.js';
import { ClustersModel } from '../model/clusters-model.js';
import { Connection } from '../model/connection.js';
import { MusterClusters } from '../model/muster-clusters.js';
import { MusterSettings } from '../model/settings.js';
import { IMusterClusters } from '../tokens.js';
import { IMusterParts } from './parts.js';

export const PLUGIN_ID = 'jupyterlab-muster:plugin';

export const partsPlugin: JupyterFrontEndPlugin<IMusterParts> = {
  id: PLUGIN_ID,
  description: 'Talks to Muster’s bridge and reads the settings.',
  autoStart: true,
  provides: IMusterParts,
  optional: [IConnectionStatus, ISettingRegistry, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    connectionStatus: IConnectionStatus | null,
    registry: ISettingRegistry | null,
    translator: ITranslator | null
  ): IMusterParts => {
    const { commands, serviceManager } = app;
    const { serverSettings } = serviceManager;
    const client = new BridgeClient({ serverSettings });
    const connection = new Connection({
      client,
      serverSettings,
      connectionStatus
    });
    const model = new ClustersModel({ client, connection });
    const service = new MusterClusters({ model });
    const trans = (translator ?? nullTranslator).load('jupyterlab_muster');
    const settings = new MusterSettings();
    registry?.load(PLUGIN_ID).then(
      loaded => {
        settings.take(loaded);
      },
      (error: unknown) => {
        console.warn(`${PLUGIN_ID}: settings could not be read`, error);
      }
    );
    const contextMenuHitTest = app.contextMenuHitTest.bind(app);
    const target = new CommandTarget({ model, contextMenuHitTest });
    const muster = { model, client, service, commands, trans };
    return { muster, settings, target };
  }
};

export const clustersPlugin: JupyterFrontEndPlugin<IMusterClusters> = {
  id: 'jupyterlab-muster:clusters',
  description: 'Offers the clusters to other plugins.',
  autoStart: true,
  provides: IMusterClusters,
  requires: [IMusterParts],
  activate: (_: JupyterFrontEnd, parts: IMusterParts): IMusterClusters =>
    parts.muster.service
};
