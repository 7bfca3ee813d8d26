/** Clusters among the running things, with shut down and shut down all. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IRunningSessionManagers } from '@jupyterlab/running';
import { RunningClusters } from '../panels/running-clusters.js';
import { IMusterParts } from './parts.js';

export const runningPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-muster:running',
  description: 'Lists clusters among the running terminals and kernels.',
  autoStart: true,
  requires: [IMusterParts],
  optional: [IRunningSessionManagers],
  activate: (
    _: JupyterFrontEnd,
    parts: IMusterParts,
    managers: IRunningSessionManagers | null
  ): void => {
    managers?.add(new RunningClusters({ muster: parts.muster }));
  }
};
