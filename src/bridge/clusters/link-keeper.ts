/**
 * Keeps the line to one cluster's scheduler: opens it, follows arrivals and departures, samples
 * load and the adaptive target as seldom as serves. Writes into the ClusterState it was given.
 */
import type { ClusterEvent, WorkerStatus } from '../../protocol/index.js';
import { rangeOf } from '../../protocol/index.js';
import type {
  LinkEvent,
  LinkSecurity,
  OpenLinkOptions,
  SchedulerIdentity,
  SchedulerLink,
  SchedulerWorker
} from '../dask/scheduler-link.js';
import type { JobRecord } from '../store/records.js';
import { AdaptiveLoop } from './adaptive-loop.js';
import type { Books } from './books.js';
import type { ClusterState, LiveWorker } from './cluster-state.js';
import { targetOf } from './views.js';

export type LinkKeeperOptions = {
  state: ClusterState;
  books: Books;
  openLink: (options: OpenLinkOptions) => Promise<SchedulerLink>;
  loadSecurity: (folder: string, cluster: string) => Promise<LinkSecurity>;
  /** Something changed that a pass should see. */
  enqueue: () => void;
  onError: (error: unknown) => void;
  /** Milliseconds a lower adaptive target must hold. */
  downAfterMs: number;
  adaptiveIntervalMs: number;
};

const SAMPLE_MS = 2_000;
const UNWATCHED_SAMPLE_MS = 60_000;
const REOPEN_MS = [200, 500, 1_000, 2_000, 5_000, 10_000, 30_000] as const;

export class LinkKeeper {
  constructor(options: LinkKeeperOptions) {
    this._options = options;
    this._state = options.state;
    this._adaptive = new AdaptiveLoop({
      ...options,
      tellSpec: () => this.tellSpec()
    });
  }

  /** Open the line in the background, again and again until it is there or `close`. */
  open(): void {
    if (this._state.linkState !== 'none' || this._closed) {
      return;
    }
    this._state.linkState = 'opening';
    void this._open(0);
  }

  /** Look at metrics soon: somebody watches now. */
  watch(): void {
    this._scheduleSample(0);
  }

  /** The desired sizes changed: forget what was wanted under the old ones. */
  scaleChanged(): void {
    this._state.adaptive = [];
    this._adaptive.schedule(0);
  }

  async close(): Promise<void> {
    this._closed = true;
    this._adaptive.close();
    for (const timer of [this._sampleTimer, this._idleTimer, this._openTimer]) {
      if (timer !== null) {
        clearTimeout(timer);
      }
    }
    const link = this._state.link;
    this._state.link = null;
    this._state.linkState = 'none';
    await link?.close();
  }

  /** A call, so that what was read before an `await` is not taken for what is. */
  private _isClosed(): boolean {
    return this._closed;
  }

  private async _open(attempt: number): Promise<void> {
    const { state, openLink, loadSecurity } = this._options;
    const scheduler = state.record.scheduler;
    if (scheduler === null || this._closed) {
      state.linkState = 'none';
      return;
    }
    try {
      const security = state.record.spec.security.tls
        ? await loadSecurity(state.record.folder, state.id)
        : null;
      const link = await openLink({
        address: scheduler.address,
        security,
        expectedId: scheduler.schedulerId
      });
      if (this._isClosed()) {
        await link.close();
        return;
      }
      state.link = link;
      link.onEvent(event => {
        this._onEvent(event);
      });
      await this._up(link);
    } catch (error) {
      if (this._isClosed()) {
        return;
      }
      const message = error instanceof Error ? error.message : String(error);
      state.setReason(
        'scheduler-unreachable',
        {
          message: `The scheduler at ${scheduler.address} does not answer: ${message}`,
          hint: 'See its log.'
        },
        new Date().toISOString()
      );
      this._options.books.changed(state);
      const delay =
        REOPEN_MS[Math.min(attempt, REOPEN_MS.length - 1)] ?? 30_000;
      this._openTimer = setTimeout(() => {
        void this._open(attempt + 1);
      }, delay);
    }
  }

  private async _up(link: SchedulerLink): Promise<void> {
    const { state, books } = this._options;
    state.linkState = 'up';
    state.setReason('scheduler-unreachable', null, '');
    if (
      state.record.scheduler !== null &&
      state.record.scheduler.version !== link.version
    ) {
      state.record.scheduler.version = link.version;
    }
    await this._sync(link);
    await this.tellSpec();
    books.changed(state);
    this._options.enqueue();
    this._scheduleSample(0);
    this._adaptive.schedule(0);
    this._scheduleIdle(1_000);
  }

  /** The manager tells the scheduler its worker specification whenever it changes. */
  async tellSpec(): Promise<void> {
    const { state, books } = this._options;
    const link = state.link;
    if (link === null || !link.connected) {
      return;
    }
    const groups = Object.fromEntries(
      state.record.spec.groups.map(group => [
        group.name,
        {
          cores: group.worker.cores,
          memory: group.worker.memory,
          gpus: group.worker.gpus,
          resources: group.worker.resources,
          workersPerJob: group.workersPerJob,
          ...rangeOf(group),
          target: targetOf(state, group)
        }
      ])
    );
    await link.setMetadata(['muster'], {
      cluster: state.id,
      name: state.record.spec.name,
      bridge: books.owner.bridge,
      epoch: books.owner.epoch,
      groups
    });
  }

  private async _sync(link: SchedulerLink): Promise<void> {
    const identity = await link.identity();
    const { state, books } = this._options;
    const seen = new Set(identity.workers.map(worker => worker.address));
    for (const [address] of [...state.addresses]) {
      if (!seen.has(address)) {
        this._gone(address);
      }
    }
    const arrived: { job: JobRecord; events: ClusterEvent[] }[] = [];
    for (const worker of identity.workers) {
      arrived.push(...this._seen(worker));
    }
    if (arrived.length > 0) {
      await books.commit(state, {
        jobs: arrived.map(one => one.job),
        events: arrived.flatMap(one => one.events)
      });
      this._options.enqueue();
    }
    this._measure(identity);
  }

  /** A worker as the scheduler shows it; one entry when it is a new arrival of ours. */
  private _seen(
    worker: SchedulerWorker
  ): { job: JobRecord; events: ClusterEvent[] }[] {
    const { state, books } = this._options;
    const ours = state.workerOf(worker.name);
    if (ours === null) {
      return [];
    }
    const now = new Date().toISOString();
    const status = statusOf(worker.status);
    const old = state.workers.get(ours.id);
    const fresh = old === undefined || old.status === 'lost';
    if (old !== undefined && old.address !== worker.address) {
      state.addresses.delete(old.address);
    }
    const live: LiveWorker = {
      id: ours.id,
      address: worker.address,
      status,
      since: old?.status === status ? old.since : now,
      connectedAt: fresh ? Date.now() : old.connectedAt,
      metrics: worker,
      reclaimAt: old?.reclaimAt ?? null
    };
    state.workers.set(ours.id, live);
    state.addresses.set(worker.address, ours.id);
    const index = Number(ours.id.slice(ours.job.id.length + 1));
    if (ours.job.connected.includes(index)) {
      return [];
    }
    ours.job.connected = [...ours.job.connected, index];
    return [
      {
        job: ours.job,
        events: [
          books.event(
            state,
            'worker-connected',
            `Connected from ${worker.host ?? worker.address}`,
            {
              job: ours.job.id,
              worker: ours.id,
              data: {
                address: worker.address,
                cores: worker.nthreads,
                memory: worker.memoryLimit
              }
            }
          )
        ]
      }
    ];
  }

  private _onEvent(event: LinkEvent): void {
    const { state, books } = this._options;
    switch (event.type) {
      case 'worker-added':
        this._resync();
        break;
      case 'worker-removed':
        this._gone(event.address);
        books.changed(state);
        this._options.enqueue();
        break;
      case 'worker-status': {
        const id = state.addresses.get(event.address);
        const live = id === undefined ? undefined : state.workers.get(id);
        if (live !== undefined && live.status !== 'lost') {
          live.status = statusOf(event.status);
          live.since = new Date().toISOString();
          books.changed(state);
        }
        break;
      }
      case 'clients-changed':
        this._scheduleSample(100);
        break;
      case 'lost':
        state.linkState = 'lost';
        if (
          state.record.phase === 'running' ||
          state.record.phase === 'creating'
        ) {
          state.setReason(
            'scheduler-unreachable',
            { message: `The line to the scheduler broke: ${event.message}` },
            new Date().toISOString()
          );
          books.changed(state);
        }
        this._options.enqueue();
        break;
      case 'connected':
        if (state.link !== null) {
          this._up(state.link).catch(this._options.onError);
        }
        break;
      default:
        event satisfies never;
    }
  }

  /** Arrivals in a burst are one look: the event does not carry the worker's name. */
  private _resync(): void {
    if (this._syncing) {
      this._syncAgain = true;
      return;
    }
    const link = this._state.link;
    if (link === null) {
      return;
    }
    this._syncing = true;
    this._sync(link)
      .catch(this._options.onError)
      .finally(() => {
        this._syncing = false;
        if (this._syncAgain) {
          this._syncAgain = false;
          this._resync();
        }
      });
  }

  private _gone(address: string): void {
    const { state } = this._options;
    const id = state.addresses.get(address);
    if (id === undefined) {
      return;
    }
    state.addresses.delete(address);
    const live = state.workers.get(id);
    if (live === undefined) {
      return;
    }
    live.status = 'lost';
    live.since = new Date().toISOString();
  }

  private _scheduleSample(delayMs: number): void {
    if (this._sampleTimer !== null) {
      clearTimeout(this._sampleTimer);
    }
    if (this._closed) {
      return;
    }
    this._sampleTimer = setTimeout(() => {
      this._sample()
        .catch(this._options.onError)
        .finally(() => {
          const { books, state } = this._options;
          const watched = books.listened || state.watchers > 0;
          // Full identity costs the scheduler about 10 µs a worker: never above 0.1 % of a core.
          this._scheduleSample(
            watched
              ? Math.max(SAMPLE_MS, state.workers.size * 20)
              : UNWATCHED_SAMPLE_MS
          );
        });
    }, delayMs);
  }

  private async _sample(): Promise<void> {
    const { state, books } = this._options;
    const link = state.link;
    if (link === null || !link.connected) {
      return;
    }
    await this._sync(link);
    const counts = await link.taskCounts();
    state.clients = counts.clients;
    const { clients: _clients, ...tasks } = counts;
    if (state.load !== null) {
      state.load = { ...state.load, tasks };
    }
    books.changed(state);
  }

  private _measure(identity: SchedulerIdentity): void {
    const { state } = this._options;
    let cpu = 0;
    let threads = 0;
    let memoryUsed = 0;
    let memoryLimit = 0;
    for (const worker of identity.workers) {
      cpu += worker.cpu ?? 0;
      threads += worker.nthreads;
      memoryUsed += worker.memory ?? 0;
      memoryLimit += worker.memoryLimit ?? 0;
    }
    const tasks = state.load?.tasks ?? {
      processing: 0,
      queued: 0,
      waiting: 0,
      unrunnable: 0,
      erred: 0,
      memory: 0
    };
    state.load = {
      tasks,
      cpu:
        threads === 0
          ? 0
          : Math.round(Math.min(1, cpu / 100 / threads) * 100) / 100,
      memoryUsed,
      memoryLimit
    };
  }

  private _scheduleIdle(delayMs: number): void {
    if (this._idleTimer !== null) {
      clearTimeout(this._idleTimer);
    }
    if (this._closed) {
      return;
    }
    this._idleTimer = setTimeout(() => {
      const { state } = this._options;
      const timeout = state.record.spec.lifetime.idleTimeout;
      const look = async (): Promise<void> => {
        if (state.link?.connected === true && timeout !== null) {
          const since = await state.link.idleSince();
          state.idleSince = since === null ? null : since * 1000;
          this._options.enqueue();
        }
      };
      look()
        .catch(this._options.onError)
        .finally(() => {
          this._scheduleIdle(
            timeout === null
              ? 30_000
              : Math.min(30_000, Math.max(500, timeout * 100))
          );
        });
    }, delayMs);
  }

  private readonly _options: LinkKeeperOptions;
  private readonly _state: ClusterState;
  private _closed = false;
  private _syncing = false;
  private _syncAgain = false;
  private _openTimer: NodeJS.Timeout | null = null;
  private _sampleTimer: NodeJS.Timeout | null = null;
  private readonly _adaptive: AdaptiveLoop;
  private _idleTimer: NodeJS.Timeout | null = null;
}

function statusOf(status: string): WorkerStatus {
  switch (status) {
    case 'running':
      return 'running';
    case 'paused':
      return 'paused';
    case 'closing_gracefully':
    case 'closing':
      return 'retiring';
    case 'closed':
    case 'failed':
      return 'lost';
    default:
      return 'starting';
  }
}
