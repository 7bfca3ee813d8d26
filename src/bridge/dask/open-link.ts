/**
 * The link itself: introduces, subscribes first and looks afterwards, keeps looking cheaply, and
 * comes back by itself after a loss with a fresh snapshot (H7, H10; §2.3, §2.8).
 */
import { randomUUID } from 'node:crypto';
import { fullJitterMs } from './backoff.js';
import { Connector, type FirstContact } from './connector.js';
import { drainWorkers, type DrainPort } from './drain.js';
import { openEventStream, type EventStream } from './event-stream.js';
import type { SchedulerEvent } from './event.js';
import { Membership } from './membership.js';
import { DEADLINES, Operations } from './operations.js';
import type {
  DrainResult,
  LinkEvent,
  OpenLinkOptions,
  SchedulerIdentity,
  SchedulerLink,
  TaskCounts
} from './scheduler-link.js';
import { TaskCounter } from './task-counts.js';
import { isLoopback, parseAddress } from './wire/address.js';
import { LinkError } from './wire/errors.js';
import { RpcPool } from './wire/rpc-pool.js';

/** The cheap look; it is the keep-alive too, on the same comms as all cheap calls. */
const LOOK_PERIOD_MS = 5_000;
/** The full identity as ground truth, whatever the cheap looks say. */
const FULL_EVERY_LOOKS = 12;
const BACKOFF = { baseMs: 250, capMs: 30_000 };
/** Events of a worker's own topic still come after it has left. */
const UNSUBSCRIBE_AFTER_MS = 10_000;
const CONFIRM_EVERY_MS = 100;

/**
 * Connects to a running scheduler. Listeners attached right after it resolves miss nothing that
 * the first `identity()` does not show.
 * @throws LinkError; `unsupported` for versions below the floor, `other-scheduler` when the id is
 *   not the expected one.
 */
export async function openSchedulerLink(
  options: OpenLinkOptions
): Promise<SchedulerLink> {
  const ending = new AbortController();
  const connector = new Connector(options, ending.signal);
  const link = new DaskLink(
    options,
    ending,
    connector,
    await connector.introduce()
  );
  try {
    await link.start();
  } catch (error) {
    await link.close();
    throw error;
  }
  return link;
}

class DaskLink implements SchedulerLink {
  constructor(
    options: OpenLinkOptions,
    ending: AbortController,
    connector: Connector,
    contact: FirstContact
  ) {
    this._ending = ending;
    this._connector = connector;
    this._contact = contact;
    this._pool = new RpcPool({ open: () => connector.open() });
    this._operations = new Operations(
      (request, callOptions) => this._pool.call(request, callOptions),
      contact.versions.capabilities
    );
    this._membership = new Membership(client => this._isOurs(client));
    // Behind a tunnel the port of the dashboard would be somebody else's on this host.
    const local =
      contact.identity.address === options.address &&
      isLoopback(parseAddress(options.address).host);
    this._counter = new TaskCounter({
      operations: this._operations,
      dashboardPort: () => (local ? this._dashboardPort : null),
      isOurs: client => this._isOurs(client),
      ourClients: () => (this.connected ? 1 : 0)
    });
    this._dashboardPort = contact.identity.dashboardPort;
  }

  get version(): string {
    return this._contact.versions.version;
  }

  get packages(): Readonly<Record<string, string | null>> {
    return this._contact.versions.packages;
  }

  get connected(): boolean {
    return this._stream !== null;
  }

  async start(): Promise<void> {
    await this._connect(false);
    this._running = this._watch();
  }

  async identity(): Promise<SchedulerIdentity> {
    return this._snapshot();
  }

  adaptiveTarget(targetDurationSeconds: number): Promise<number> {
    return this._operations.adaptiveTarget(targetDurationSeconds);
  }

  workersToClose(n: number): Promise<string[]> {
    return this._operations.workersToClose(n);
  }

  taskCounts(): Promise<TaskCounts> {
    return this._counter.count();
  }

  idleSince(): Promise<number | null> {
    return this._operations.idleSince();
  }

  setMetadata(keys: readonly string[], value: unknown): Promise<void> {
    return this._operations.setMetadata(keys, value);
  }

  getMetadata(keys: readonly string[]): Promise<unknown> {
    return this._operations.getMetadata(keys);
  }

  async drain(
    addresses: readonly string[],
    options: { deadlineMs: number }
  ): Promise<Map<string, DrainResult>> {
    // One drain per worker at a time: a second wish for the same worker waits for the first.
    const fresh = [...new Set(addresses)].filter(
      address => !this._draining.has(address)
    );
    const stimulusId = `muster-drain-${randomUUID()}`;
    const run = drainWorkers(this._drainPort(), fresh, {
      ...options,
      stimulusId
    }).finally(() => {
      for (const address of fresh) {
        this._draining.delete(address);
      }
    });
    for (const address of fresh) {
      this._draining.set(address, run);
    }
    const results = new Map<string, DrainResult>();
    const runs = new Set([
      run,
      ...addresses.flatMap(address => this._draining.get(address) ?? [])
    ]);
    for (const drained of await Promise.all(runs)) {
      for (const [address, result] of drained) {
        if (addresses.includes(address)) {
          results.set(address, result);
        }
      }
    }
    return results;
  }

  async unregister(address: string): Promise<void> {
    await this._operations.unregister(
      address,
      `muster-unregister-${randomUUID()}`
    );
  }

  async terminate(): Promise<void> {
    this._terminating = true;
    try {
      await this._operations.terminate();
    } catch (error) {
      this._terminating = false;
      throw error;
    }
  }

  onEvent(listener: (event: LinkEvent) => void): void {
    this._listeners.push(listener);
  }

  async close(): Promise<void> {
    if (this._ending.signal.aborted) {
      return this._running;
    }
    this._stream?.close();
    this._stream = null;
    this._pool.close();
    this._ending.abort();
    this._sleepers.forEach(wake => {
      wake();
    });
    await this._running;
  }

  /** Subscribe first, then identity: no gap. */
  private async _connect(again: boolean): Promise<void> {
    const rpc = await this._connector.open();
    const client = `${this._clientPrefix}${++this._clientCount}`;
    const stream = await openEventStream({
      comm: rpc.comm,
      client,
      versions: this._contact.versions.raw,
      deadlineMs: DEADLINES.cheap,
      onEvent: event => {
        this._apply(event);
      },
      onLost: reason => {
        this._lose(reason);
      }
    });
    if (this._ending.signal.aborted) {
      stream.close();
      return;
    }
    this._opening = stream;
    try {
      await this._confirm(stream, client);
      await this._snapshot();
      if (again) {
        stream.subscribe(this._membership.addresses);
      }
    } catch (error) {
      this._opening = null;
      stream.close();
      throw error;
    }
    // It may have been lost while the snapshot was under way.
    if (this._opening !== stream) {
      throw new LinkError({
        kind: 'closed',
        message: 'The event stream was lost while it was being opened'
      });
    }
    this._opening = null;
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
      await this._operations.logEvent(client, { action: 'muster-subscribed' });
      await Promise.race([stream.confirmation, this._sleep(CONFIRM_EVERY_MS)]);
    }
  }

  private async _snapshot(): Promise<SchedulerIdentity> {
    const mark = this._membership.mark();
    const identity = await this._operations.identity();
    this._dashboardPort = identity.dashboardPort;
    const present = new Set(identity.workers.map(worker => worker.address));
    // How those left whom the stream did not show.
    const missed = this._membership.addresses.some(
      address => !present.has(address)
    );
    const events = this._membership.applySnapshot(
      identity.workers,
      mark,
      missed && this._introduced ? await this._operations.history() : []
    );
    this._announce(events);
    return identity;
  }

  private _apply(event: SchedulerEvent): void {
    this._announce(this._membership.apply(event));
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
        this._emit(event);
      }
    }
  }

  private _emit(event: LinkEvent): void {
    for (const listener of this._listeners) {
      listener(event);
    }
    if (event.type === 'worker-removed') {
      this._removalWaits.forEach(wait => {
        wait();
      });
    }
  }

  private _lose(reason: LinkError): void {
    this._opening = null;
    if (this._stream === null || this._ending.signal.aborted) {
      return;
    }
    this._stream = null;
    this._pool.reset(reason);
    this._emit({ type: 'lost', message: reason.message });
    this._lossWaits.forEach(wake => {
      wake();
    });
  }

  private async _watch(): Promise<void> {
    let looks = 0;
    while (!this._ending.signal.aborted) {
      if (this._stream === null) {
        if (this._terminating) {
          return;
        }
        await this._reconnect();
        looks = 0;
      } else {
        await this._sleep(LOOK_PERIOD_MS, this._lossWaits);
        if (this._stream !== null) {
          looks += 1;
          await this._keepAlive(looks % FULL_EVERY_LOOKS === 0);
        }
      }
    }
  }

  private async _reconnect(): Promise<void> {
    let said = '';
    for (let failures = 0; !this._ending.signal.aborted; failures++) {
      await this._sleep(fullJitterMs(failures, BACKOFF));
      if (this._ending.signal.aborted) {
        return;
      }
      try {
        await this._connect(true);
        this._connectWaits.forEach(wait => {
          wait();
        });
        this._emit({ type: 'connected' });
        return;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (message !== said && !this._ending.signal.aborted) {
          said = message;
          this._emit({ type: 'lost', message });
        }
      }
    }
  }

  /** One missed look may be a busy scheduler; two are a loss. Each took its comm with it (H10). */
  private async _keepAlive(full: boolean): Promise<void> {
    const stream = this._stream;
    for (let misses = 0; this._stream !== null; misses++) {
      try {
        await this._look(full || misses > 0);
        return;
      } catch (error) {
        if (this._stream !== stream || this._ending.signal.aborted) {
          return;
        }
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
          stream?.abandon(reason);
          return;
        }
      }
    }
  }

  private async _look(full: boolean): Promise<void> {
    this._forgetLeavers();
    if (full) {
      await this._snapshot();
      return;
    }
    const look = await this._operations.look();
    const agrees =
      look.kind === 'count'
        ? look.workers === this._membership.size
        : look.workers.length === this._membership.size &&
          look.workers.every(address => this._membership.has(address));
    if (!agrees) {
      await this._snapshot();
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

  private _drainPort(): DrainPort {
    const operations = this._operations;
    return {
      retire: (addresses, options) => operations.retire(addresses, options),
      processing: addresses => operations.processing(addresses),
      identity: () => this._snapshot(),
      unregister: (address, stimulusId) =>
        operations.unregister(address, stimulusId),
      removal: address => this._membership.removal(address),
      untilRemoved: (addresses, timeoutMs) =>
        this._untilRemoved(addresses, timeoutMs),
      reconcile: async () => {
        await this._snapshot();
      },
      untilConnected: async timeoutMs => {
        if (!this.connected) {
          await this._sleep(timeoutMs, this._connectWaits);
        }
      },
      now: () => performance.now(),
      sleep: ms => this._sleep(ms)
    };
  }

  private async _untilRemoved(
    addresses: readonly string[],
    timeoutMs: number
  ): Promise<void> {
    const until = performance.now() + timeoutMs;
    while (
      !this._ending.signal.aborted &&
      performance.now() < until &&
      addresses.some(address => this._membership.removal(address) === null)
    ) {
      await this._sleep(until - performance.now(), this._removalWaits);
    }
  }

  /** Until the time is over, somebody calls what it put into `wakers`, or the link is closed. */
  private _sleep(ms: number, wakers?: Set<() => void>): Promise<void> {
    return new Promise(resolve => {
      const wake = (): void => {
        clearTimeout(timer);
        this._sleepers.delete(wake);
        wakers?.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, this._ending.signal.aborted ? 0 : ms);
      this._sleepers.add(wake);
      wakers?.add(wake);
    });
  }

  private _isOurs(client: string): boolean {
    return client.startsWith(this._clientPrefix);
  }

  private readonly _ending: AbortController;
  private readonly _connector: Connector;
  private readonly _contact: FirstContact;
  private readonly _pool: RpcPool;
  private readonly _operations: Operations;
  private readonly _membership: Membership;
  private readonly _counter: TaskCounter;
  private readonly _listeners: ((event: LinkEvent) => void)[] = [];
  private readonly _draining = new Map<
    string,
    Promise<Map<string, DrainResult>>
  >();
  private readonly _sleepers = new Set<() => void>();
  private readonly _removalWaits = new Set<() => void>();
  private readonly _connectWaits = new Set<() => void>();
  private readonly _lossWaits = new Set<() => void>();
  private readonly _leavers = new Map<string, number>();
  private readonly _clientPrefix = `muster-${randomUUID()}-`;
  private _clientCount = 0;
  private _stream: EventStream | null = null;
  private _opening: EventStream | null = null;
  private _introduced = false;
  private _terminating = false;
  private _dashboardPort: number | null;
  private _running: Promise<void> = Promise.resolve();
}
