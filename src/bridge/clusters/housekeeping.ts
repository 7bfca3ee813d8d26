/** What is due once a minute: lapsed Jupyter servers, changed packages, clusters that ended long ago. */
import type { Store, StoreOperation } from '../store/store.js';
import type { ClientRegistry } from './clients.js';
import type { ClusterSet } from './cluster-set.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { isOver } from './lifecycle.js';
import { lookAfter } from './upkeep.js';

const EVERY_MS = 60_000;
const KEEP_ENDED = 200;
const KEEP_ENDED_MS = 30 * 86_400_000;
const KEEP_EVENTS = 10_000;

export type HousekeepingOptions = {
  context: Context;
  store: Store;
  set: ClusterSet;
  clients: ClientRegistry;
  /** Removes the record of an ended cluster and its folder. */
  forget: (state: ClusterState) => Promise<void>;
  /** The operation that forgets keys of yesterday. */
  sweepKeys: () => StoreOperation;
};

export class Housekeeping {
  constructor(options: HousekeepingOptions) {
    this._options = options;
    this._timer = setInterval(() => {
      this.round().catch((error: unknown) => {
        options.context.log.warn({ err: error }, 'housekeeping failed');
      });
    }, EVERY_MS);
    this._timer.unref();
  }

  async round(): Promise<void> {
    const { context, store, set, clients, forget, sweepKeys } = this._options;
    clients.sweep();
    for (const state of set.active) {
      if (state.record.client !== null) {
        context.enqueue(state.id);
      }
      await lookAfter(context, state).catch((error: unknown) => {
        context.log.warn({ err: error, cluster: state.id }, 'upkeep failed');
      });
    }
    for (const state of outdated(set.all, Date.now())) {
      await forget(state);
    }
    await store.transaction([
      sweepKeys(),
      { type: 'prune-events', keep: KEEP_EVENTS }
    ]);
  }

  close(): void {
    clearInterval(this._timer);
  }

  private readonly _options: HousekeepingOptions;
  private readonly _timer: NodeJS.Timeout;
}

/** Ended clusters beyond the newest 200, or older than 30 days. */
export function outdated(
  states: readonly ClusterState[],
  now: number
): ClusterState[] {
  const endedAt = (state: ClusterState): string =>
    state.record.stoppedAt ?? state.record.createdAt;
  return states
    .filter(state => isOver(state.record.phase))
    .sort((a, b) => endedAt(b).localeCompare(endedAt(a)))
    .filter(
      (state, index) =>
        index >= KEEP_ENDED || now - Date.parse(endedAt(state)) > KEEP_ENDED_MS
    );
}
