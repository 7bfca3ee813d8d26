/** The workers of one cluster while somebody looks at them: a first list, then deltas. */
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type {
  ClusterId,
  MusterError,
  ServerMessage,
  WorkerView
} from '../../protocol/index.js';
import type { BridgeClient } from './bridge-client.js';
import type { Connection } from './connection.js';

export class WorkersFeed implements IDisposable {
  constructor(options: WorkersFeed.IOptions) {
    this._id = options.id;
    this._client = options.client;
    this._connection = options.connection;
    this._connection.message.connect(this._onMessage, this);
    this._connection.opened.connect(this._watch, this);
    this._watch();
  }

  get workers(): readonly WorkerView[] {
    this._list ??= [...this._rows.values()];
    return this._list;
  }

  /** Why the list could not be had, until it could. */
  get error(): MusterError | null {
    return this._error;
  }

  /** The first list has arrived. */
  get isLoaded(): boolean {
    return this._isLoaded;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._connection.message.disconnect(this._onMessage, this);
    this._connection.opened.disconnect(this._watch, this);
    this._connection.send({ type: 'watch', id: this._id, workers: false });
    Signal.clearData(this);
  }

  /** Ask for deltas first, then for the list: nothing falls between the two. */
  private _watch(): void {
    this._connection.send({ type: 'watch', id: this._id, workers: true });
    this._touched.clear();
    this._isLoading = true;
    const load = (this._load += 1);
    this._client.workers(this._id).then(
      workers => {
        if (load === this._load && !this._isDisposed) {
          this._replace(workers);
        }
      },
      (error: unknown) => {
        if (load === this._load && !this._isDisposed) {
          this._error = error as MusterError;
          this._emit();
        }
      }
    );
  }

  private _replace(workers: WorkerView[]): void {
    const rows = new Map<string, WorkerView>();
    for (const worker of workers) {
      if (!this._touched.has(worker.id)) {
        rows.set(worker.id, worker);
      }
    }
    // What the deltas said while the list was on its way is newer than the list.
    for (const id of this._touched) {
      const row = this._rows.get(id);
      if (row !== undefined) {
        rows.set(id, row);
      }
    }
    this._rows = rows;
    this._touched.clear();
    this._isLoading = false;
    this._isLoaded = true;
    this._error = null;
    this._emit();
  }

  private _onMessage(_: Connection, message: ServerMessage): void {
    if (message.type !== 'workers' || message.id !== this._id) {
      return;
    }
    for (const worker of message.upsert) {
      this._rows.set(worker.id, worker);
      this._touch(worker.id);
    }
    for (const id of message.remove) {
      this._rows.delete(id);
      this._touch(id);
    }
    this._emit();
  }

  private _touch(id: string): void {
    if (this._isLoading) {
      this._touched.add(id);
    }
  }

  private _emit(): void {
    this._list = null;
    this._changed.emit();
  }

  private _id: ClusterId;
  private _client: BridgeClient;
  private _connection: Connection;
  private _rows = new Map<string, WorkerView>();
  /** Ids the deltas spoke of while a list is on its way. */
  private _touched = new Set<string>();
  private _list: readonly WorkerView[] | null = null;
  private _error: MusterError | null = null;
  private _load = 0;
  private _isLoading = false;
  private _isLoaded = false;
  private _isDisposed = false;
  private _changed = new Signal<this, void>(this);
}

export namespace WorkersFeed {
  export interface IOptions {
    id: ClusterId;
    client: BridgeClient;
    connection: Connection;
  }
}
