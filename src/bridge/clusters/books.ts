/**
 * Writing down and telling: every change of a cluster goes through here, first into the store, then
 * as a delta to whoever listens. `seq` is global, durable and only grows.
 */
import type {
  ClusterEvent,
  ClusterId,
  ClusterView,
  EventKind,
  JobId,
  WorkerId,
  WorkerView
} from '../../protocol/index.js';
import type { JobRecord } from '../store/records.js';
import type { Store, StoreOperation } from '../store/store.js';
import type { ClusterDelta } from './cluster-service.js';
import type { ClusterState } from './cluster-state.js';
import type { Owner } from './views.js';
import { clusterView, workerViews } from './views.js';

/** Numbers reserved in the store at a time. */
const SEQ_BLOCK = 100_000;
/** Changes of one cluster within this time are one delta. */
const PUBLISH_DELAY_MS = 15;
const REMOVED_KEPT = 1_000;

export type EventExtra = {
  severity?: ClusterEvent['severity'];
  job?: JobId;
  worker?: WorkerId;
  data?: Record<string, unknown>;
};

export type BooksOptions = {
  store: Store;
  owner: Owner;
  /** No seq above this was handed out before. */
  seq: number;
  onError: (error: unknown) => void;
};

export class Books {
  constructor(options: BooksOptions) {
    this._store = options.store;
    this._owner = options.owner;
    this._seq = options.seq;
    this._reserved = options.seq;
    this._floor = options.seq;
    this._onError = options.onError;
  }

  get seq(): number {
    return this._seq;
  }

  get owner(): Owner {
    return this._owner;
  }

  /** Reserve the first numbers; before it nothing may be handed out. */
  async open(): Promise<void> {
    this._reserved = this._seq + SEQ_BLOCK;
    await this._store.transaction([{ type: 'raise-seq', to: this._reserved }]);
  }

  /** An event of this cluster, not yet written: give it to `commit`. */
  event(
    state: ClusterState,
    kind: EventKind,
    message: string,
    extra: EventExtra = {}
  ): ClusterEvent {
    return {
      seq: this._next(),
      time: new Date().toISOString(),
      cluster: state.id,
      kind,
      severity: extra.severity ?? 'info',
      message,
      ...(extra.job === undefined ? {} : { job: extra.job }),
      ...(extra.worker === undefined ? {} : { worker: extra.worker }),
      data: extra.data ?? {}
    };
  }

  /**
   * Write the cluster, these jobs and events in one transaction, then tell. Resolves when it is
   * durable; rejects (and tells nothing) when the store refuses.
   */
  async commit(
    state: ClusterState,
    change: {
      jobs?: readonly JobRecord[];
      events?: readonly ClusterEvent[];
      operations?: readonly StoreOperation[];
    }
  ): Promise<void> {
    const events = change.events ?? [];
    await this._write(state, [
      { type: 'put-cluster', cluster: structuredClone(state.record) },
      ...(change.jobs ?? []).map(job => ({
        type: 'put-job' as const,
        job: structuredClone(job)
      })),
      ...events.map(event => ({ type: 'append-event' as const, event })),
      ...(change.operations ?? [])
    ]);
    for (const event of events) {
      this._tell({ type: 'event', seq: event.seq, event });
    }
    this.changed(state);
  }

  /** A disk that refuses is said on every cluster it concerns, from memory, until it takes again. */
  private async _write(
    state: ClusterState,
    operations: readonly StoreOperation[]
  ): Promise<void> {
    try {
      await this._store.transaction(operations);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      state.setReason(
        'state-not-writable',
        { message: `Nothing can be written down: ${message}` },
        new Date().toISOString()
      );
      this.changed(state);
      throw error;
    }
    state.setReason('state-not-writable', null, '');
  }

  /** The view may have changed: publish it soon, if it has. */
  changed(state: ClusterState): void {
    if (this._pending.has(state.id) || this._removedAt.has(state.id)) {
      return;
    }
    this._pending.set(
      state.id,
      setTimeout(() => {
        this._pending.delete(state.id);
        this.publish(state);
      }, PUBLISH_DELAY_MS)
    );
  }

  /** Publish now, if anything changed. */
  publish(state: ClusterState): ClusterView {
    const view = clusterView(state, this._owner);
    const text = JSON.stringify({ ...view, revision: 0 });
    const last = this._published.get(state.id);
    if (last?.text !== text) {
      const seq = this._next();
      state.record.revision = seq;
      view.revision = seq;
      this._published.set(state.id, { text, seq });
      this._tell({ type: 'cluster', seq, cluster: view });
    }
    this._publishWorkers(state);
    return view;
  }

  async remove(state: ClusterState): Promise<void> {
    await this._store.transaction([{ type: 'delete-cluster', id: state.id }]);
    clearTimeout(this._pending.get(state.id));
    this._pending.delete(state.id);
    this._published.delete(state.id);
    this._workers.delete(state.id);
    const seq = this._next();
    this._removedAt.set(state.id, seq);
    if (this._removedAt.size > REMOVED_KEPT) {
      const oldest = this._removedAt.keys().next().value;
      if (oldest !== undefined) {
        this._floor = Math.max(this._floor, this._removedAt.get(oldest) ?? 0);
        this._removedAt.delete(oldest);
      }
    }
    this._tell({ type: 'removed', seq, id: state.id });
  }

  /** Ids changed and removed after a seq; null where this bridge cannot know (before its start). */
  changedSince(
    after: number
  ): { changed: ClusterId[]; removed: ClusterId[] } | null {
    if (after < this._floor || after > this._seq) {
      return null;
    }
    return {
      changed: [...this._published]
        .filter(([, entry]) => entry.seq > after)
        .map(([id]) => id),
      removed: [...this._removedAt]
        .filter(([, seq]) => seq > after)
        .map(([id]) => id)
    };
  }

  onDelta(listener: (delta: ClusterDelta) => void): () => void {
    this._listeners.add(listener);
    return () => this._listeners.delete(listener);
  }

  get listened(): boolean {
    return this._listeners.size > 0;
  }

  close(): void {
    for (const timer of this._pending.values()) {
      clearTimeout(timer);
    }
    this._pending.clear();
    this._listeners.clear();
  }

  private _publishWorkers(state: ClusterState): void {
    if (state.watchers === 0) {
      this._workers.delete(state.id);
      return;
    }
    const old = this._workers.get(state.id) ?? new Map<WorkerId, string>();
    const rows = workerViews(state);
    const now = new Map(rows.map(row => [row.id, JSON.stringify(row)]));
    const upsert: WorkerView[] = rows.filter(
      row => old.get(row.id) !== now.get(row.id)
    );
    const remove = [...old.keys()].filter(id => !now.has(id));
    this._workers.set(state.id, now);
    if (upsert.length > 0 || remove.length > 0) {
      this._tell({
        type: 'workers',
        seq: this._next(),
        id: state.id,
        upsert,
        remove
      });
    }
  }

  private _next(): number {
    this._seq += 1;
    if (this._seq > this._reserved - SEQ_BLOCK / 2) {
      this._reserved += SEQ_BLOCK;
      this._store
        .transaction([{ type: 'raise-seq', to: this._reserved }])
        .catch(this._onError);
    }
    return this._seq;
  }

  private _tell(delta: ClusterDelta): void {
    for (const listener of this._listeners) {
      listener(delta);
    }
  }

  private readonly _store: Store;
  private readonly _owner: Owner;
  private readonly _onError: (error: unknown) => void;
  private readonly _listeners = new Set<(delta: ClusterDelta) => void>();
  private readonly _pending = new Map<ClusterId, NodeJS.Timeout>();
  private readonly _published = new Map<
    ClusterId,
    { text: string; seq: number }
  >();
  private readonly _workers = new Map<ClusterId, Map<WorkerId, string>>();
  private readonly _removedAt = new Map<ClusterId, number>();
  private _seq: number;
  private _reserved: number;
  private _floor: number;
}
