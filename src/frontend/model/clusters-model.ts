/** The clusters as this browser knows them; see `IClustersModel` for what each member means. */
import { PromiseDelegate, UUID } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { DisposableDelegate } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type {
  BackendView,
  ClusterEvent,
  ClusterId,
  ClusterSpec,
  ClusterView,
  ConnectionView,
  DashboardView,
  Scale,
  ServerMessage
} from '../../protocol/index.js';
import type { HistoryPoint, IClustersModel, Link } from '../tokens.js';
import type { BridgeClient } from './bridge-client.js';
import type { Connection } from './connection.js';
import { History } from './history.js';
import { hasEnded, inOrder } from './cluster-order.js';
import { ScalingQueue } from './scaling-queue.js';
import { specToStartAgain } from './start-again.js';
import { WorkersFeed } from './workers-feed.js';

/** Time a hidden panel keeps its stream, so that switching tabs back and forth is free. */
const LINGER_MS = 5_000;

export class ClustersModel implements IClustersModel {
  constructor(options: ClustersModel.IOptions) {
    this._client = options.client;
    this._connection = options.connection;
    this._connection.message.connect(this._onMessage, this);
    this._connection.linkChanged.connect(this._onLink, this);
    this._scaling = new ScalingQueue({
      patch: (id, patch) => this._client.patch(id, patch),
      onAccepted: view => {
        this._accept(view);
      },
      onChanged: () => {
        this._emit();
      }
    });
    document.addEventListener('visibilitychange', this._onVisibility);
  }

  get clusters(): readonly ClusterView[] {
    this._sorted ??= inOrder(
      [...this._views.values()].map(view => this._scaling.overlay(view))
    );
    return this._sorted;
  }

  get backends(): readonly BackendView[] {
    return this._backends;
  }

  get link(): Link {
    return this._connection.link;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get happened(): ISignal<this, ClusterEvent> {
    return this._happened;
  }

  get isReady(): boolean {
    return this._isReady;
  }

  get ready(): Promise<void> {
    return this._ready.promise;
  }

  get selected(): ClusterId | null {
    return this._selected;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  get(id: string): ClusterView | undefined {
    const view = this._views.get(id);
    return view === undefined ? undefined : this._scaling.overlay(view);
  }

  find(name: string): ClusterView | undefined {
    // `clusters` is newest first with the ended ones last: the first hit is the wanted one.
    return this.clusters.find(view => view.name === name);
  }

  history(id: string): readonly HistoryPoint[] {
    return this._histories.get(id)?.points ?? [];
  }

  select(id: ClusterId | null): void {
    if (this._selected !== id) {
      this._selected = id;
      this._emit();
    }
  }

  connection(id: string): Promise<ConnectionView> {
    return this._client.connection(id);
  }

  dashboards(id: string): Promise<DashboardView[]> {
    return this._client.dashboards(id);
  }

  async create(spec: ClusterSpec): Promise<ClusterView> {
    const view = await this._client.create(spec, UUID.uuid4());
    this._accept(view);
    this.select(view.id);
    return view;
  }

  async startAgain(id: string): Promise<ClusterView> {
    const old = this._views.get(id);
    if (old === undefined) {
      throw new Error(`no cluster ${id}`);
    }
    const taken = new Set(
      this.clusters.filter(view => !hasEnded(view)).map(view => view.name)
    );
    return this.create(specToStartAgain(old.spec, taken));
  }

  scale(id: string, group: string, scale: Scale): Promise<void> {
    return this._scaling.scale(id, group, scale);
  }

  async stop(id: string, options: { force?: boolean } = {}): Promise<void> {
    const running = this._stopping.get(id);
    if (running !== undefined && options.force !== true) {
      return running; // a second click joins the first (W7)
    }
    this._scaling.drop(id);
    const stopping = this._client
      .stop(id, options.force === true)
      .then(view => {
        this._accept(view);
      })
      .finally(() => {
        this._stopping.delete(id);
      });
    this._stopping.set(id, stopping);
    return stopping;
  }

  async forget(id: string): Promise<void> {
    await this._client.forget(id);
    this._remove(id);
    this._emit();
  }

  /** Accept a view that an action answered with, before the stream brings it. */
  accept(view: ClusterView): void {
    this._accept(view);
  }

  attach(): IDisposable {
    this._viewers += 1;
    this._updateConnection();
    return new DisposableDelegate(() => {
      this._viewers -= 1;
      this._updateConnection();
    });
  }

  /** Look again now. */
  refresh(): void {
    this._connection.retry();
  }

  /** Rows of one cluster's workers, live until disposed. */
  watchWorkers(id: ClusterId): WorkersFeed {
    return new WorkersFeed({
      id,
      client: this._client,
      connection: this._connection
    });
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    window.clearTimeout(this._linger);
    document.removeEventListener('visibilitychange', this._onVisibility);
    this._scaling.dispose();
    this._connection.dispose();
    Signal.clearData(this);
  }

  private _onVisibility = (): void => {
    this._updateConnection();
  };

  private _updateConnection(): void {
    window.clearTimeout(this._linger);
    if (this._viewers > 0 && document.visibilityState !== 'hidden') {
      this._connection.start();
    } else {
      this._linger = window.setTimeout(() => {
        this._connection.pause();
      }, LINGER_MS);
    }
  }

  private _onLink(): void {
    this._emit();
  }

  private _onMessage(_: Connection, message: ServerMessage): void {
    switch (message.type) {
      case 'snapshot':
        if (message.partial !== true) {
          const known = new Set<string>(message.clusters.map(view => view.id));
          for (const id of [...this._views.keys()]) {
            if (!known.has(id)) {
              this._remove(id);
            }
          }
          // Another store may have begun counting revisions anew: a whole snapshot is the truth.
          this._views.clear();
        }
        message.clusters.forEach(view => {
          this._put(view);
        });
        this._backends = message.backends;
        this._isReady = true;
        this._ready.resolve();
        this._dropDeadSelection();
        this._emit();
        break;
      case 'cluster':
        this._put(message.cluster);
        this._emit();
        break;
      case 'removed':
        this._remove(message.id);
        this._emit();
        break;
      case 'event':
        this._happened.emit(message.event);
        break;
      default:
        break;
    }
  }

  private _accept(view: ClusterView): void {
    this._put(view);
    this._emit();
  }

  /** The newer revision wins: an answer may be overtaken by the stream. */
  private _put(view: ClusterView): void {
    const known = this._views.get(view.id);
    if (known !== undefined && known.revision > view.revision) {
      return;
    }
    this._views.set(view.id, view);
    if (hasEnded(view)) {
      this._scaling.drop(view.id);
      return;
    }
    let history = this._histories.get(view.id);
    if (history === undefined) {
      history = new History();
      this._histories.set(view.id, history);
    }
    history.add(view, Date.now());
  }

  private _remove(id: string): void {
    this._views.delete(id);
    this._histories.delete(id);
    this._scaling.drop(id);
    if (this._selected === id) {
      this._selected = null; // never point at what is gone (W12)
    }
  }

  private _dropDeadSelection(): void {
    if (this._selected !== null && !this._views.has(this._selected)) {
      this._selected = null;
    }
  }

  private _emit(): void {
    this._sorted = null;
    if (!this._isDisposed) {
      this._changed.emit();
    }
  }

  private _client: BridgeClient;
  private _connection: Connection;
  private _scaling: ScalingQueue;
  private _views = new Map<string, ClusterView>();
  private _histories = new Map<string, History>();
  private _stopping = new Map<string, Promise<void>>();
  private _backends: readonly BackendView[] = [];
  private _sorted: readonly ClusterView[] | null = null;
  private _selected: ClusterId | null = null;
  private _viewers = 0;
  private _linger = 0;
  private _isReady = false;
  private _isDisposed = false;
  private _ready = new PromiseDelegate<void>();
  private _changed = new Signal<this, void>(this);
  private _happened = new Signal<this, ClusterEvent>(this);
}

export namespace ClustersModel {
  export interface IOptions {
    client: BridgeClient;
    /** Owned and disposed by the model. */
    connection: Connection;
  }
}
