/**
 * Who is registered, out of two sources that overtake each other: events on the stream and
 * snapshots (`identity`) on another comm. Pure: messages in, link events out.
 *
 * A snapshot is older than what the stream said after it was asked for: such workers are left as
 * the stream said. So: remember `mark()` before asking, and hand it over with the answer.
 */
import {
  isClean,
  lostTasksOf,
  readEvent,
  type Removal,
  type SchedulerEvent
} from './event.js';
import type { LinkEvent } from './scheduler-link.js';

/** Removals kept for drains and for snapshots that come late. */
const REMOVALS_KEPT = 4096;

export type SnapshotWorker = { address: string; name: string | null };

export class Membership {
  /** @param isOurs is this client id one of this link's? */
  constructor(isOurs: (client: string) => boolean) {
    this._isOurs = isOurs;
  }

  get size(): number {
    return this._workers.size;
  }

  get addresses(): string[] {
    return [...this._workers.keys()];
  }

  has(address: string): boolean {
    return this._workers.has(address);
  }

  /** How it left, while that is remembered and it has not come back. */
  removal(address: string): Removal | null {
    return this._removals.get(address)?.removal ?? null;
  }

  /** The point in the stream up to which a snapshot asked for now is newer. */
  mark(): number {
    return this._sequence;
  }

  apply(event: SchedulerEvent): LinkEvent[] {
    switch (event.type) {
      case 'add-worker':
        return this._add(event.address, null, ++this._sequence);
      case 'remove-worker':
        return this._remove(event.address, event.removal, ++this._sequence);
      case 'status':
        return [
          {
            type: 'worker-status',
            address: event.address,
            status: event.status,
            reason: event.reason
          }
        ];
      case 'add-client':
      case 'remove-client':
        return this._isOurs(event.client) ? [] : [{ type: 'clients-changed' }];
    }
  }

  /**
   * @param mark of `mark()`, before the snapshot was asked for.
   * @param history of the topic `all` (`events`), to tell how those left whom the stream did not
   *   show; without it they left unexpectedly.
   */
  applySnapshot(
    workers: readonly SnapshotWorker[],
    mark: number,
    history: readonly (readonly [number, unknown])[] = []
  ): LinkEvent[] {
    const events: LinkEvent[] = [];
    const present = new Set(workers.map(worker => worker.address));
    for (const worker of workers) {
      const known = this._workers.get(worker.address);
      if (known !== undefined) {
        known.name = worker.name ?? known.name;
      } else if ((this._removals.get(worker.address)?.sequence ?? -1) <= mark) {
        events.push(...this._add(worker.address, worker.name, mark));
      }
    }
    const gone = [...this._workers].filter(
      ([address, known]) => !present.has(address) && known.sequence <= mark
    );
    const removals = gone.length === 0 ? null : removalsOf(history);
    for (const [address] of gone) {
      const removal = removals?.get(address) ?? {
        expected: false,
        lostResults: 0,
        interruptedTasks: 0
      };
      events.push(...this._remove(address, removal, mark));
    }
    return events;
  }

  private _add(
    address: string,
    name: string | null,
    sequence: number
  ): LinkEvent[] {
    this._removals.delete(address);
    const known = this._workers.get(address);
    if (known !== undefined) {
      known.sequence = sequence;
      return [];
    }
    this._workers.set(address, { name, sequence });
    return [{ type: 'worker-added', address, name }];
  }

  private _remove(
    address: string,
    removal: Removal,
    sequence: number
  ): LinkEvent[] {
    // Also of workers never seen: a drain may ask, and a late snapshot may still list them.
    this._removals.delete(address);
    this._removals.set(address, { removal, sequence });
    if (this._removals.size > REMOVALS_KEPT) {
      const [oldest] = this._removals.keys();
      this._removals.delete(oldest as string);
    }
    return this._workers.delete(address)
      ? [
          {
            type: 'worker-removed',
            address,
            expected: isClean(removal),
            lostTasks: lostTasksOf(removal)
          }
        ]
      : [];
  }

  private readonly _isOurs: (client: string) => boolean;
  private readonly _workers = new Map<
    string,
    { name: string | null; sequence: number }
  >();
  private readonly _removals = new Map<
    string,
    { removal: Removal; sequence: number }
  >();
  private _sequence = 0;
}

function removalsOf(
  history: readonly (readonly [number, unknown])[]
): Map<string, Removal> {
  const removals = new Map<string, Removal>();
  for (const [, message] of history) {
    const event = readEvent('all', message);
    if (event?.type === 'remove-worker') {
      removals.set(event.address, event.removal);
    }
  }
  return removals;
}
