/** Keeps one notebook's kernel connected to the cluster the notebook is bound to. */
import type { INotebookModel } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { ISignal } from '@lumino/signaling';
import type {
  ClusterId,
  ClusterView,
  ConnectionView
} from '../../protocol/index.js';
import {
  boundCluster,
  readBinding,
  removeBinding,
  writeBinding
} from './binding.js';
import type { Binding } from './binding.js';
import { connectableAddress, hasEnded } from './cluster-source.js';
import type { IClusterSource } from './cluster-source.js';
import type { KernelReport } from './kernel-code.js';
import { runInKernel } from './kernel-task.js';
import { KernelWatch } from './kernel-watch.js';
import type { Incarnation, WatchedSession } from './kernel-watch.js';

/** Where a notebook stands with its cluster; each is a sentence in `link-words.ts`. */
export type LinkState =
  | { kind: 'unbound' }
  /** The bridge has not said yet which clusters there are. */
  | { kind: 'unknown' }
  | { kind: 'cluster-starting' }
  /** `record`: an ended cluster of ours, whose spec can be started again. */
  | { kind: 'cluster-ended'; record: ClusterId | null }
  | { kind: 'no-kernel' }
  | { kind: 'wrong-language'; language: string }
  | { kind: 'connecting' }
  /** Not connected, and not to be connected without being asked. */
  | { kind: 'paused' }
  /** `named`: as the variable `client`. */
  | { kind: 'connected'; named: boolean }
  /** The user's own live client was left alone. */
  | { kind: 'kept' }
  | { kind: 'no-dask'; message: string }
  | { kind: 'failed'; message: string };

/** What was last tried: for this life of the kernel, at this address. */
type Attempt = {
  incarnation: Incarnation;
  cluster: ClusterId;
  address: string;
  outcome: LinkState | null;
};

/**
 * Level-triggered: every signal only says "look again", and looking compares what is bound, what
 * lives and what was tried. So a repeated or missed signal costs nothing, and one restart of the
 * kernel is one connection.
 */
export class NotebookLink implements IDisposable {
  constructor(options: NotebookLink.IOptions) {
    this._model = options.model;
    this._source = options.source;
    this._automatic = options.automatic ?? (() => true);
    this._kernel = new KernelWatch(options.session);
    this._kernel.changed.connect(this._look, this);
    this._source.changed.connect(this._look, this);
    // Also when somebody else, in a shared notebook, has chosen.
    this._model.metadataChanged.connect(this._look, this);
    this._look();
  }

  get state(): LinkState {
    return this._state;
  }

  get binding(): Binding | null {
    return readBinding(this._model);
  }

  /** The cluster the binding means, as last heard; null where it is not known. */
  get cluster(): ClusterView | null {
    const binding = this.binding;
    return binding === null
      ? null
      : boundCluster(binding, this._source.clusters);
  }

  /** `state`, `binding` or `cluster` changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** A reason why this notebook cannot be connected to any cluster, or null. */
  get refusal(): { language: string } | null {
    const language = this._kernel.current?.language ?? null;
    return language === null || speaksPython(language) ? null : { language };
  }

  /** Bind the notebook and connect its kernel; also again, after a failure. */
  bind(cluster: Pick<ClusterView, 'id' | 'name'>): void {
    const reconnect = this.binding?.reconnect ?? true;
    // A request that is on its way to this cluster is as good as another.
    if (
      this._attempt?.outcome !== null ||
      this._attempt.cluster !== cluster.id
    ) {
      this._attempt = null;
      this._asked = true;
    }
    writeBinding(this._model, {
      cluster: { id: cluster.id, name: cluster.name },
      reconnect
    });
    this._look();
  }

  /** Take the binding away and close the client that was made for it; the cluster does not care. */
  unbind(): void {
    this._attempt = null;
    this._asked = false;
    removeBinding(this._model);
    // Also where this page never connected: the kernel may know a client from before a reload.
    const { kernel, language } = this._kernel.current ?? {};
    if (kernel !== undefined && speaksPython(language ?? '')) {
      void runInKernel(kernel, { do: 'disconnect' });
    }
    this._look();
  }

  /** Start the ended cluster again from its spec and bind the notebook to the new one. */
  async startAgain(): Promise<void> {
    if (this._state.kind !== 'cluster-ended' || this._state.record === null) {
      return;
    }
    const fresh = await this._source.startAgain(this._state.record);
    if (!this.isDisposed) {
      this.bind(fresh);
    }
  }

  setReconnect(reconnect: boolean): void {
    const binding = this.binding;
    if (binding !== null) {
      writeBinding(this._model, { ...binding, reconnect });
    }
  }

  /** What `automatic` says may have changed. */
  lookAgain(): void {
    this._look();
  }

  /** Something on screen shows this link; it then follows the cluster also while connected. */
  setVisible(visible: boolean): void {
    this._visible = visible;
    this._follow();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._model.metadataChanged.disconnect(this._look, this);
    this._source.changed.disconnect(this._look, this);
    this._kernel.changed.disconnect(this._look, this);
    this._kernel.dispose();
    this._attached?.dispose();
    this._attached = null;
    this._attempt = null;
    Signal.clearData(this);
  }

  /** Must stay free of `await` before the request: after a restart this runs just in time. */
  private _look(): void {
    if (this._isDisposed) {
      return;
    }
    this._state = this._decide();
    this._follow();
    this._changed.emit();
  }

  private _decide(): LinkState {
    const binding = this.binding;
    if (binding === null) {
      return { kind: 'unbound' };
    }
    const cluster = boundCluster(binding, this._source.clusters);
    if (cluster === null) {
      return this._source.ready
        ? { kind: 'cluster-ended', record: null }
        : { kind: 'unknown' };
    }
    if (hasEnded(cluster) || cluster.phase === 'stopping') {
      return {
        kind: 'cluster-ended',
        record: hasEnded(cluster) ? cluster.id : null
      };
    }
    const address = connectableAddress(cluster);
    if (address === null) {
      return { kind: 'cluster-starting' };
    }
    // Fetched before the kernel is there: a freshly opened notebook's first cell must not win.
    const connection = this._connectionOf(cluster.id, address);
    const incarnation = this._kernel.current;
    if (incarnation === null) {
      return { kind: 'no-kernel' };
    }
    const { language } = incarnation;
    if (language === null) {
      return { kind: 'connecting' };
    }
    if (!speaksPython(language)) {
      return { kind: 'wrong-language', language };
    }
    const attempt = this._attempt;
    if (
      attempt !== null &&
      attempt.incarnation.epoch === incarnation.epoch &&
      attempt.cluster === cluster.id &&
      attempt.address === address
    ) {
      return attempt.outcome ?? { kind: 'connecting' };
    }
    if (!this._asked && !(binding.reconnect && this._automatic())) {
      return { kind: 'paused' };
    }
    this._attempt = {
      incarnation,
      cluster: cluster.id,
      address,
      outcome: null
    };
    this._asked = false;
    void this._connect(this._attempt, cluster, connection);
    return { kind: 'connecting' };
  }

  private async _connect(
    attempt: Attempt,
    cluster: ClusterView,
    connection: KnownConnection
  ): Promise<void> {
    let outcome: LinkState;
    try {
      const view = connection.view ?? (await connection.promise);
      if (this._attempt !== attempt) {
        return;
      }
      const report = await runInKernel(attempt.incarnation.kernel, {
        do: 'connect',
        name: cluster.name,
        connection: view
      });
      outcome = report === null ? { kind: 'paused' } : standingOf(report);
      if (report !== null) {
        this._kernel.settled(attempt.incarnation);
      }
    } catch (error) {
      this._connection = null;
      outcome = {
        kind: 'failed',
        message: error instanceof Error ? error.message : String(error)
      };
    }
    if (this._attempt === attempt) {
      attempt.outcome = outcome;
      this._look();
    }
  }

  /**
   * The connection is kept for as long as the address holds: a restarted kernel is then served
   * without a question to the bridge, and before anything else.
   */
  private _connectionOf(id: ClusterId, address: string): KnownConnection {
    const known = this._connection;
    if (known?.id === id && known.address === address) {
      return known;
    }
    const fresh: KnownConnection = {
      id,
      address,
      view: null,
      promise: this._source.connection(id)
    };
    this._connection = fresh;
    fresh.promise.then(
      view => {
        fresh.view = view;
      },
      () => {
        // Said by whoever awaits it; asked again next time.
        if (this._connection === fresh) {
          this._connection = null;
        }
      }
    );
    return fresh;
  }

  /** Live clusters are asked for only while this link waits for one or is on screen. */
  private _follow(): void {
    const waiting =
      this._state.kind === 'unknown' || this._state.kind === 'cluster-starting';
    const needed =
      !this._isDisposed &&
      this._state.kind !== 'unbound' &&
      (this._visible || waiting);
    if (needed && this._attached === null) {
      this._attached = this._source.attach();
    } else if (!needed && this._attached !== null) {
      this._attached.dispose();
      this._attached = null;
    }
  }

  private readonly _model: NotebookLink.Model;
  private readonly _source: IClusterSource;
  private readonly _automatic: () => boolean;
  private readonly _kernel: KernelWatch;
  private readonly _changed = new Signal<this, void>(this);
  private _state: LinkState = { kind: 'unbound' };
  private _attempt: Attempt | null = null;
  private _connection: KnownConnection | null = null;
  private _attached: IDisposable | null = null;
  /** The user has chosen: connect also where reconnecting is off. */
  private _asked = false;
  private _visible = false;
  private _isDisposed = false;
}

type KnownConnection = {
  id: ClusterId;
  address: string;
  view: ConnectionView | null;
  promise: Promise<ConnectionView>;
};

function standingOf(report: KernelReport): LinkState {
  switch (report.state) {
    case 'connected':
      return { kind: 'connected', named: report.named };
    case 'kept':
      return { kind: 'kept' };
    case 'no-dask':
    case 'failed':
      return { kind: report.state, message: report.message };
    case 'disconnected':
    case 'found':
    case 'none':
      return { kind: 'paused' };
  }
}

/** @param language as from `Incarnation`, in lower case. */
export function speaksPython(language: string): boolean {
  return language === 'python' || language === 'ipython';
}

export namespace NotebookLink {
  export type Model = Pick<
    INotebookModel,
    'getMetadata' | 'setMetadata' | 'deleteMetadata' | 'metadataChanged'
  >;

  export interface IOptions {
    model: Model;
    session: WatchedSession;
    source: IClusterSource;
    /** Does the setting allow bound notebooks to connect by themselves? Default: yes. */
    automatic?: () => boolean;
  }
}
