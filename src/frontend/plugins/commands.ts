/** Every action as a command, all of them in the palette. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { addClusterCommands } from '../actions/cluster-commands.js';
import { addPanelCommands } from '../actions/panel-commands.js';
import { PANEL_ID } from '../panels/sidebar.js';
import { IMusterParts } from './parts.js';

export const commandsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-muster:commands',
  description: 'Adds the commands that make, steer and show clusters.',
  autoStart: true,
  requires: [IMusterParts],
  optional: [ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    parts: IMusterParts,
    palette: ICommandPalette | null
  ): void => {
    const { muster, settings, target } = parts;
    const ids = [
      ...addPanelCommands(muster, {
        defaultProfile: () => settings.defaultProfile,
        activatePanel: () => {
          app.shell.activateById(PANEL_ID);
        }
      }),
      ...addClusterCommands(muster, target)
    ];
    const category = muster.trans.__('Clusters');
    for (const command of ids) {
      palette?.addItem({ command, category });
    }
    muster.model.changed.connect(() => {
      for (const id of ids) {
        app.commands.notifyCommandChanged(id);
      }
    });
  }
};
