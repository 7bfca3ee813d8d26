/**
 * The public API of the panel: what other plugins, ours and other people's, may require.
 * Everything here is read or asked; the panel itself decides nothing (design/architecture.md).
 */
import { Token } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import type {
  BackendView,
  ClusterEvent,
  ClusterId,
  ClusterSpec,
  ClusterView,
  ConnectionView,
  DashboardView,
  Scale
} from '../protocol/index.js';

/**
 * Where the way to the bridge stands; each state but `live` has its own card in the panel.
 *
 * - `connecting`: nothing is known yet.
 * - `starting`: the Jupyter half is raising the bridge.
 * - `live`: the event stream is open and the clusters are current.
 * - `reconnecting`: it was live; the clusters shown are the last known ones.
 * - `half-missing`: this server has no Muster (404).
 * - `version-mismatch`: the two halves speak different protocols.
 * - `node-missing`: the Jupyter half found no usable Node.
 * - `failed`: the bridge does not answer or could not be started.
 */
export type Link =
  | { state: 'connecting' }
  | { state: 'starting'; seconds: number; log: string }
  | { state: 'live' }
  | { state: 'reconnecting'; since: number }
  | { state: 'half-missing' }
  | { state: 'version-mismatch'; panel: number; server: number }
  | {
      state: 'node-missing';
      message: string;
      hint: string | null;
      /** Where was looked, and why each was not taken. */
      tried: string[];
    }
  | {
      state: 'failed';
      /** Another version's bridge is in the way, or null. */
      kind: 'older-bridge' | 'newer-bridge' | null;
      message: string;
      hint: string | null;
      log: string;
    };

/** One point of a cluster's history, for sparklines and charts. */
export type HistoryPoint = {
  /** Milliseconds since the epoch, by the browser's clock. */
  time: number;
  workers: number;
  target: number;
  /** Mean use of the connected cores, 0 … 1; null where the scheduler does not say. */
  cpu: number | null;
  memoryUsed: number | null;
  memoryLimit: number | null;
  tasks: { memory: number; processing: number; waiting: number } | null;
};

/**
 * The clusters as this browser knows them. Require it (through `IMusterClusters.model`) to show or
 * steer clusters; all promises reject with `MusterError`.
 */
export interface IClustersModel extends IDisposable {
  /** All clusters, those that have ended included; newest first, ended ones last. */
  readonly clusters: readonly ClusterView[];
  /** Backends of the bridge, as last heard. */
  readonly backends: readonly BackendView[];
  /** Where the way to the bridge stands. */
  readonly link: Link;
  /** Any of `clusters`, `backends`, `link`, `selected`, `isReady` changed. */
  readonly changed: ISignal<IClustersModel, void>;
  /** Something happened to a cluster; only what happens while this page listens. */
  readonly happened: ISignal<IClustersModel, ClusterEvent>;
  /** A first snapshot has arrived, so that an unknown id means "gone", not "not yet heard". */
  readonly isReady: boolean;
  /** Resolves when `isReady` first holds; needs a viewer (see `attach`). */
  readonly ready: Promise<void>;
  /** The cluster the panel points at, or null; never one that is gone. */
  readonly selected: ClusterId | null;

  /** The cluster of this id, or undefined. */
  get(id: string): ClusterView | undefined;
  /** The newest cluster of this name that has not ended, else the newest of this name. */
  find(name: string): ClusterView | undefined;
  /** Points of the last minutes, oldest first. */
  history(id: string): readonly HistoryPoint[];
  /** Point the panel, and everything that follows it, at a cluster. */
  select(id: ClusterId | null): void;

  /** Address, certificate files and ready snippets; for whoever connects a kernel. */
  connection(id: string): Promise<ConnectionView>;
  /** The scheduler's own list of plots. */
  dashboards(id: string): Promise<DashboardView[]>;
  /** Create a cluster; answers as soon as it is accepted. */
  create(spec: ClusterSpec): Promise<ClusterView>;
  /** The same spec again under a fresh id (and name, where the old one is taken). */
  startAgain(id: string): Promise<ClusterView>;
  /** Optimistic: shown at once, sent once after a burst, rolled back when refused. */
  scale(id: string, group: string, scale: Scale): Promise<void>;
  /** Stop politely, then surely; `force` gives up on unreachable parts. */
  stop(id: string, options?: { force?: boolean }): Promise<void>;
  /** Remove the record of an ended cluster. */
  forget(id: string): Promise<void>;

  /**
   * Say that something on screen needs live clusters. While nobody does, the event stream is
   * closed and nothing is polled. Dispose the answer when hidden.
   */
  attach(): IDisposable;
}

/**
 * What the notebook half offers the panel. Registered once with `IMusterClusters.setNotebookHooks`;
 * absent where a site has disabled the notebook plugin: the panel then offers "Copy code" instead.
 */
export interface INotebookHooks {
  /** A notebook or console is there to take code. */
  readonly canInsert: boolean;
  /** `canInsert`, `kernelspec` or `uses` may have changed. */
  readonly changed: ISignal<INotebookHooks, void>;
  /** The kernelspec's name of the current notebook or console, for a new cluster's environment. */
  readonly kernelspec: string | null;
  /** Insert connect code below the active cell (or at a console's prompt); tells the user itself. */
  insert(cluster: ClusterView): Promise<void>;
  /**
   * Which scheduler the current notebook's (or console's) kernel has a Dask client of, to offer it
   * for adoption; or a sentence why none is known. Answers within seconds, also when the kernel is
   * busy.
   */
  findScheduler(): Promise<
    | { address: string; security: ConnectionView['security'] }
    | { address: null; reason: string }
  >;
  /**
   * Begin a Lumino drag of a cluster row, carrying cells and text.
   * @param origin where the pointer is, in client coordinates, and the row it left.
   */
  startDrag(
    cluster: ClusterView,
    origin: { clientX: number; clientY: number; row: HTMLElement }
  ): void;
}

/** Muster's clusters in JupyterLab: require it to list, create, scale, or connect to clusters. */
export interface IMusterClusters {
  readonly model: IClustersModel;
  /** The notebook half, or null. */
  readonly notebook: INotebookHooks | null;
  /** `notebook` was set or taken away. */
  readonly notebookChanged: ISignal<IMusterClusters, void>;
  /** For the notebook half only; disposing takes the hooks away again. */
  setNotebookHooks(hooks: INotebookHooks): IDisposable;
}

export const IMusterClusters = new Token<IMusterClusters>(
  'jupyterlab-muster:IMusterClusters',
  'The Dask clusters of this user: list, create, scale, stop, connect.'
);
