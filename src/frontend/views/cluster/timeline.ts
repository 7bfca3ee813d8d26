/** The events of one cluster: those on record, then those that happen. */
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type { ClusterEvent } from '../../../protocol/index.js';
import type { BridgeClient } from '../../model/bridge-client.js';
import type { IClustersModel } from '../../tokens.js';

const PAGE = 1_000;
/** A timeline longer than this is cut at its beginning. */
const MAXIMUM = 20_000;

export class Timeline implements IDisposable {
  constructor(options: Timeline.IOptions) {
    this._options = options;
    options.model.happened.connect(this._onHappened, this);
    void this._load();
  }

  /** Oldest first. */
  get events(): readonly ClusterEvent[] {
    return this._events;
  }

  get error(): string | null {
    return this._error;
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
    this._options.model.happened.disconnect(this._onHappened, this);
    Signal.clearData(this);
  }

  private async _load(): Promise<void> {
    const { client, cluster } = this._options;
    try {
      for (let after = 0; !this._isDisposed;) {
        const page = await client.events(cluster, { after, limit: PAGE });
        this._add(page.items);
        const last = page.items.at(-1)?.seq;
        if (page.next === null || last === undefined || last <= after) {
          break;
        }
        after = last;
      }
      this._error = null;
    } catch (error) {
      this._error = error instanceof Error ? error.message : String(error);
    }
    if (!this._isDisposed) {
      this._changed.emit();
    }
  }

  private _onHappened(_: IClustersModel, event: ClusterEvent): void {
    if (event.cluster === this._options.cluster) {
      this._add([event]);
      this._changed.emit();
    }
  }

  private _add(events: readonly ClusterEvent[]): void {
    const known = new Set(this._events.map(event => event.seq));
    const fresh = events.filter(event => !known.has(event.seq));
    if (fresh.length > 0) {
      this._events = [...this._events, ...fresh]
        .sort((a, b) => a.seq - b.seq)
        .slice(-MAXIMUM);
    }
  }

  private _options: Timeline.IOptions;
  private _events: readonly ClusterEvent[] = [];
  private _error: string | null = null;
  private _isDisposed = false;
  private _changed = new Signal<this, void>(this);
}

export namespace Timeline {
  export interface IOptions {
    client: BridgeClient;
    model: IClustersModel;
    cluster: string;
  }
}
