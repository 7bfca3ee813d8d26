/**
 * Keeps the event stream and the list of workers: subscribes first and looks afterwards, keeps
 * looking cheaply, and comes back by itself after a loss with a fresh snapshot (H7, H10; §2.3, §2.8).
 */
import { randomUUID } from 'node:crypto';
import { fullJitterMs } from './backoff.js';
import type { Connector } from './connector.js';
import { openEventStream, type EventStream } from './event-stream.js';
import type { Removal } from './event.js';
import { Membership } from './membership.js';
import { DEADLINES, type Operations } from './operations.js';
import type { LinkEvent, SchedulerIdentity } from './scheduler-link.js';
import { Sleeper } from './sleeper.js';
import { LinkError } from './wire/errors.js';

/** The cheap look; it is the keep-alive too, on the same comms as all cheap calls. */
const LOOK_PERIOD_MS = 5_000;
/** The full identity as ground truth, whatever the cheap looks say. */
const FULL_EVERY_LOOKS = 12;
const BACKOFF = { baseMs: 250, capMs: 30_000 };
/** Events of a worker's own topic still come after it has left. */
const UNSUBSCRIBE_AFTER_MS = 10_000;
const CONFIRM_EVERY_MS = 100;

export type StreamKeeperOptions = {
  connector: Connector;
  operations: Operations;
  /** The reply of `versions`. */
  versions: Record<string, unknown>;
  onEvent: (event: LinkEvent) => void;
  /** The stream broke: all other comms are to be given up with it. */
  onLost: (reason: LinkError) => void;
};

export class StreamKeeper {
  constructor(options: StreamKeeperOptions) {
    this._options = options;
  }

  get connected(): boolean {
    return this._stream !== null;
  }

  /** First connection; afterwards the keeper holds it by itself until `close`. */
  async start(): Promise<void> {
    await this._connect();
    this._running = this._watch();
  }

  /**
   * The full identity; what the stream did not show becomes events. One at a time, or an older one
   * could overtake a newer: who asks meanwhile shares the next.
   */
  snapshot(): Promise<SchedulerIdentity> {
    if (this._snapshotRunning === null) {
      this._snapshotRunning = this._takeSnapshot().finally(() => {
        this._snapshotRunning = null;
      });
      return this._snapshotRunning;
    }
    this._snapshotNext ??= this._snapshotRunning
      .catch(() => undefined)
      .then(() => {
        this._snapshotNext = null;
        return this.snapshot();
      });
    return this._snapshotNext;
  }

  /** How it left; null while it is there or nothing is known. */
  removal(address: string): Removal | null {
    return this._membership.removal(address);
  }

  async untilRemoved(
    addresses: readonly string[],
    timeoutMs: number
  ): Promise<void> {
    const until = performance.now() + timeoutMs;
    while (
      !this._ended &&
      performance.now() < until &&
      addresses.some(address => this._membership.removal(address) === null)
    ) {
      await this._sleeper.sleep(until - performance.now(), 'removal');
    }
  }

  async untilConnected(timeoutMs: number): Promise<void> {
    if (!this.connected) {
      await this._sleeper.sleep(timeoutMs, 'connected');
    }
  }

  /** Cut short by `close`. */
  sleep(ms: number): Promise<void> {
    return this._sleeper.sleep(ms);
  }

  /** Is this client id one of our streams'? */
  isOurs(client: string): boolean {
    return client.startsWith(this._clientPrefix);
  }

  /** The scheduler is about to end on our word: its loss is no reason to come back. */
  expectEnd(expected: boolean): void {
    this._endExpected = expected;
  }

  async close(): Promise<void> {
    this._ended = true;
    this._stream?.close();
    this._stream = null;
    this._opening?.close();
    this._opening = null;
    this._sleeper.end();
    await this._running;
  }

  private async _takeSnapshot(): Promise<SchedulerIdentity> {
    const { operations } = this._options;
    const mark = this._membership.mark();
    const identity = await operations.identity();
    const present = new Set(identity.workers.map(worker => worker.address));
    // How those left whom the stream did not show.
    const missed =
      this._introduced &&
      this._membership.addresses.some(address => !present.has(address));
    this._announce(
      this._membership.applySnapshot(
        identity.workers,
        mark,
        missed ? await operations.history() : []
      )
    );
    return identity;
  }

  private async _connect(): Promise<void> {
    const rpc = await this._options.connector.open();
    const client = `${this._clientPrefix}${++this._clientCount}`;
    const stream = await openEventStream({
      comm: rpc.comm,
      client,
      versions: this._options.versions,
      deadlineMs: DEADLINES.cheap,
      onEvent: event => {
        this._announce(this._membership.apply(event));
      },
      onLost: reason => {
        this._lose(reason);
      }
    });
    if (this._ended) {
      stream.close();
      return;
    }
    this._opening = stream;
    // A worker's topic may have been left off with the former stream.
    stream.subscribe(this._membership.addresses);
    try {
      await this._confirm(stream, client);
      await this.snapshot();
      // It may have been lost while the snapshot was under way.
      if (this._opening !== stream) {
        throw new LinkError({
          kind: 'closed',
          message: 'The event stream was lost while it was being opened'
        });
      }
    } catch (error) {
      stream.close();
      throw error;
    } finally {
      this._opening = null;
    }
    this._stream = stream;
    this._introduced = true;
  }

  /** Waits until the subscriptions are in force, which only the stream itself can tell. */
  private async _confirm(stream: EventStream, client: string): Promise<void> {
    const until = performance.now() + DEADLINES.cheap;
    while (!stream.confirmed) {
      if (performance.now() > until || this._opening !== stream) {
        throw new LinkError({
          kind: 'deadline',
          message: 'The scheduler sends no events'
        });
      }
      await this._options.operations.logEvent(client, {
        action: 'muster-subscribed'
      });
      await Promise.race([
        stream.confirmation,
        this._sleeper.sleep(CONFIRM_EVERY_MS)
      ]);
    }
  }

  private _announce(events: readonly LinkEvent[]): void {
    const stream = this._stream ?? this._opening;
    for (const event of events) {
      if (event.type === 'worker-added') {
        this._leavers.delete(event.address);
        stream?.subscribe([event.address]);
      } else if (event.type === 'worker-removed') {
        this._leavers.set(event.address, performance.now());
      }
      // What the first snapshot shows is where the listeners begin.
      if (this._introduced) {
        this._options.onEvent(event);
      }
    }
    this._sleeper.wake('removal');
  }

  /** Nothing is said after the end. */
  private _say(event: LinkEvent): void {
    if (!this._ended) {
      this._options.onEvent(event);
    }
  }

  private _lose(reason: LinkError): void {
    this._opening = null;
    if (this._stream === null || this._ended) {
      return;
    }
    this._stream = null;
    this._options.onLost(reason);
    this._options.onEvent({ type: 'lost', message: reason.message });
    this._sleeper.wake('lost');
  }

  private async _watch(): Promise<void> {
    let looks = 0;
    while (!this._ended) {
      if (this._stream !== null) {
        await this._sleeper.sleep(LOOK_PERIOD_MS, 'lost');
        looks += 1;
        await this._keepAlive(looks % FULL_EVERY_LOOKS === 0);
      } else if (this._endExpected) {
        return;
      } else {
        await this._reconnect();
        looks = 0;
      }
    }
  }

  private async _reconnect(): Promise<void> {
    let said = '';
    for (let failures = 0; ; failures++) {
      await this._sleeper.sleep(fullJitterMs(failures, BACKOFF));
      if (this._ended) {
        return;
      }
      const failure = await this._connect().then(
        () => null,
        (error: unknown) =>
          error instanceof Error ? error.message : String(error)
      );
      if (this.connected) {
        this._sleeper.wake('connected');
        this._options.onEvent({ type: 'connected' });
        return;
      }
      if (failure !== null && failure !== said) {
        said = failure;
        this._say({ type: 'lost', message: failure });
      }
    }
  }

  /** One missed look may be a busy scheduler; two are a loss. Each took its comm with it (H10). */
  private async _keepAlive(full: boolean): Promise<void> {
    const stream = this._stream;
    for (let misses = 0; stream !== null && this._stream === stream; misses++) {
      try {
        await this._look(full || misses > 0);
        return;
      } catch (error) {
        const reason =
          error instanceof LinkError
            ? error
            : new LinkError({
                kind: 'protocol',
                message: 'The scheduler could not be looked at',
                cause: error
              });
        if (reason.kind === 'remote') {
          // It answers: it lives.
          return;
        }
        if (misses > 0) {
          stream.abandon(reason);
        }
      }
    }
  }

  private async _look(full: boolean): Promise<void> {
    this._forgetLeavers();
    if (full) {
      await this.snapshot();
      return;
    }
    const look = await this._options.operations.look();
    const agrees =
      look.kind === 'count'
        ? look.workers === this._membership.size
        : look.workers.length === this._membership.size &&
          look.workers.every(address => this._membership.has(address));
    if (!agrees) {
      await this.snapshot();
    }
  }

  private _forgetLeavers(): void {
    const before = performance.now() - UNSUBSCRIBE_AFTER_MS;
    for (const [address, since] of this._leavers) {
      if (since < before) {
        this._leavers.delete(address);
        this._stream?.unsubscribe([address]);
      }
    }
  }

  private readonly _options: StreamKeeperOptions;
  private readonly _membership = new Membership(client => this.isOurs(client));
  private readonly _sleeper = new Sleeper<'lost' | 'connected' | 'removal'>();
  /** Workers that left, with the time: their topics are left off a little later. */
  private readonly _leavers = new Map<string, number>();
  private readonly _clientPrefix = `muster-${randomUUID()}-`;
  private _clientCount = 0;
  private _snapshotRunning: Promise<SchedulerIdentity> | null = null;
  private _snapshotNext: Promise<SchedulerIdentity> | null = null;
  private _stream: EventStream | null = null;
  private _opening: EventStream | null = null;
  private _introduced = false;
  private _endExpected = false;
  private _ended = false;
  private _running: Promise<void> = Promise.resolve();
}
