/** What the notebook half needs to know of clusters; the panel's model is adapted to it in plugins/. */
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import type {
  ClusterId,
  ClusterView,
  ConnectionView
} from '../../protocol/index.js';
import type { IClustersModel } from '../tokens.js';

export interface IClusterSource {
  /** False until the bridge's first list has arrived: nothing is called stopped before. */
  readonly ready: boolean;
  readonly clusters: readonly ClusterView[];
  /** Emitted when `clusters` or `ready` changed. */
  readonly changed: ISignal<unknown, unknown>;
  /**
   * How a client gets there (`GET clusters/{id}/connection`).
   * Rejects with a sentence for the user.
   */
  connection(id: ClusterId): Promise<ConnectionView>;
  /** Create a cluster anew from the spec of an ended one; resolves with the new one. */
  startAgain(id: ClusterId): Promise<ClusterView>;
  /** Ask for live clusters until the answer is disposed; while nobody does, nothing is polled. */
  attach(): IDisposable;
}

/** The panel's model as the notebook half sees it. */
export function clusterSource(model: IClustersModel): IClusterSource {
  return {
    get ready() {
      return model.isReady;
    },
    get clusters() {
      return model.clusters;
    },
    changed: model.changed,
    connection: id => model.connection(id),
    startAgain: id => model.startAgain(id),
    attach: () => model.attach()
  };
}

/** Has it ended: nothing can connect to it any more? */
export function hasEnded(cluster: ClusterView): boolean {
  return cluster.phase === 'stopped' || cluster.phase === 'failed';
}

/** Connected workers over all groups. */
export function connectedWorkers(cluster: ClusterView): number {
  return cluster.groups.reduce(
    (sum, group) => sum + group.connected.workers,
    0
  );
}

/** The address clients use, or null while there is none. */
export function connectableAddress(cluster: ClusterView): string | null {
  return cluster.phase === 'running' ? cluster.scheduler.address : null;
}
