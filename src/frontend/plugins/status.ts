/** The status bar's item: how many clusters and workers, while that is known. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { StatusItem } from '../panels/status-item.js';
import { IMusterParts } from './parts.js';

export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-muster:status',
  description: 'Shows the number of clusters and workers in the status bar.',
  autoStart: true,
  requires: [IMusterParts],
  optional: [IStatusBar],
  activate: (
    _: JupyterFrontEnd,
    parts: IMusterParts,
    statusBar: IStatusBar | null
  ): void => {
    const { muster, settings } = parts;
    const item = new StatusItem({ muster });
    statusBar?.registerStatusItem('jupyterlab-muster:status', {
      item,
      align: 'left',
      rank: 90,
      isActive: () => item.isWorthShowing,
      activeStateChanged: item.worthChanged
    });
    let watching = settings.watchesInBackground ? muster.model.attach() : null;
    settings.changed.connect(() => {
      if (settings.watchesInBackground) {
        watching ??= muster.model.attach();
      } else {
        watching?.dispose();
        watching = null;
      }
    });
  }
};
