/**
 * What one client of the event stream has still to be told, coalesced: of a cluster only its newest
 * view, of a worker only its newest row, of events every one. Pure; bounded by what exists plus
 * `MAXIMUM_EVENTS`.
 */
import type {
  ClusterEvent,
  ClusterId,
  ClusterView,
  ServerMessage,
  WorkerId,
  WorkerView
} from '../../protocol/index.js';
import type { ClusterDelta } from '../clusters/cluster-service.js';

/** Events waiting for one client; one more and it gets a fresh snapshot instead. */
export const MAXIMUM_EVENTS = 200;
/** Worker rows in one frame. */
export const ROWS_PER_FRAME = 500;

type State =
  | { type: 'cluster'; seq: number; cluster: ClusterView }
  | { type: 'removed'; seq: number; id: ClusterId }
  | {
      type: 'workers';
      id: ClusterId;
      upsert: Map<WorkerId, WorkerView>;
      remove: Set<WorkerId>;
    };

export class EventOutbox {
  /** True once more happened than a client shall catch up on: send a snapshot, then `clear`. */
  get overflown(): boolean {
    return this.overflow;
  }

  get empty(): boolean {
    return this.states.size === 0 && this.events.length === 0;
  }

  /** @param watched worker rows are kept only of clusters the client watches. */
  add(delta: ClusterDelta, watched: ReadonlySet<string>): void {
    if (delta.type === 'workers') {
      if (watched.has(delta.id)) {
        this.addWorkers(delta.id, delta.upsert, delta.remove);
      }
      return;
    }
    this.newest = Math.max(this.newest, delta.seq);
    if (this.overflow) {
      return;
    }
    switch (delta.type) {
      case 'cluster':
        // `set` on a present key keeps its place: a cluster that changes all the time still gets its turn.
        this.states.set(`cluster ${delta.cluster.id}`, delta);
        return;
      case 'removed':
        this.states.delete(`cluster ${delta.id}`);
        this.states.delete(`workers ${delta.id}`);
        this.states.set(`removed ${delta.id}`, delta);
        return;
      case 'event':
        this.addEvent(delta.seq, delta.event);
        return;
      default:
        delta satisfies never;
    }
  }

  addWorkers(
    id: ClusterId,
    upsert: readonly WorkerView[],
    remove: readonly WorkerId[]
  ): void {
    const key = `workers ${id}`;
    const present = this.states.get(key);
    const state =
      present?.type === 'workers'
        ? present
        : {
            type: 'workers' as const,
            id,
            upsert: new Map<WorkerId, WorkerView>(),
            remove: new Set<WorkerId>()
          };
    for (const worker of upsert) {
      state.remove.delete(worker.id);
      state.upsert.set(worker.id, worker);
    }
    for (const worker of remove) {
      state.upsert.delete(worker);
      state.remove.add(worker);
    }
    this.states.set(key, state);
  }

  /** Rows of a cluster are not wanted any more. */
  dropWorkers(id: ClusterId): void {
    this.states.delete(`workers ${id}`);
  }

  /** Forget all but worker rows: a snapshot with this seq says the rest. */
  clear(seq: number): void {
    for (const key of [...this.states.keys()]) {
      if (!key.startsWith('workers ')) {
        this.states.delete(key);
      }
    }
    this.events = [];
    this.known.clear();
    this.overflow = false;
    this.newest = Math.max(this.newest, seq);
  }

  /**
   * The next frame, or null. States and events take turns, so that neither hides the other. Its
   * seq is one a client may resume after: never above what is still waiting here.
   */
  next(): ServerMessage | null {
    const event = this.events[0];
    const state = this.states.entries().next().value;
    if (event !== undefined && (state === undefined || this.eventsTurn)) {
      this.eventsTurn = false;
      this.events.shift();
      this.known.delete(event.event.seq);
      return { type: 'event', seq: this.safe(event.seq), event: event.event };
    }
    this.eventsTurn = true;
    return state === undefined ? null : this.takeState(state[0], state[1]);
  }

  private takeState(key: string, state: State): ServerMessage {
    if (state.type !== 'workers') {
      this.states.delete(key);
      return { ...state, seq: this.safe(state.seq) };
    }
    const upsert = take(state.upsert.values(), ROWS_PER_FRAME);
    const remove = take(state.remove.values(), ROWS_PER_FRAME);
    upsert.forEach(worker => state.upsert.delete(worker.id));
    remove.forEach(worker => state.remove.delete(worker));
    this.states.delete(key);
    if (state.upsert.size > 0 || state.remove.size > 0) {
      this.states.set(key, state); // the rest, behind the others
    }
    return {
      type: 'workers',
      seq: this.safe(this.newest),
      id: state.id,
      upsert,
      remove
    };
  }

  private addEvent(seq: number, event: ClusterEvent): void {
    if (this.known.has(event.seq)) {
      return; // a resumed stream reads from the store what also came live
    }
    if (this.events.length >= MAXIMUM_EVENTS) {
      this.overflow = true;
      this.clearForSnapshot();
      return;
    }
    this.known.add(event.seq);
    this.events.push({ seq, event });
  }

  private clearForSnapshot(): void {
    this.clear(this.newest);
    this.overflow = true;
  }

  private safe(seq: number): number {
    let lowest = Infinity;
    for (const event of this.events) {
      lowest = Math.min(lowest, event.seq);
    }
    for (const state of this.states.values()) {
      if (state.type !== 'workers') {
        lowest = Math.min(lowest, state.seq);
      }
    }
    this.said = Math.max(this.said, Math.min(seq, lowest - 1));
    return this.said;
  }

  /** Insertion order is the order of sending. */
  private readonly states = new Map<string, State>();
  private events: { seq: number; event: ClusterEvent }[] = [];
  private readonly known = new Set<number>();
  private overflow = false;
  private eventsTurn = false;
  private newest = 0;
  private said = 0;
}

function take<T>(values: Iterable<T>, limit: number): T[] {
  const taken: T[] = [];
  for (const value of values) {
    if (taken.length >= limit) {
      break;
    }
    taken.push(value);
  }
  return taken;
}
