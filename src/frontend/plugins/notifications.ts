/** Worker deaths, reclaims and failed submissions as notifications. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ClusterNotifier } from '../panels/cluster-notifier.js';
import { IMusterParts } from './parts.js';

export const notificationsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-muster:notifications',
  description: 'Tells of workers that died and jobs that were refused.',
  autoStart: true,
  requires: [IMusterParts],
  activate: (_: JupyterFrontEnd, parts: IMusterParts): void => {
    new ClusterNotifier({ muster: parts.muster, settings: parts.settings });
  }
};
