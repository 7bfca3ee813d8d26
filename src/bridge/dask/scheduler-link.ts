/**
 * The bridge's line to one stock Dask scheduler (specs/dask-wire-protocol.md): target, arrivals,
 * departures, its ranking of whom to lose, and whom it has politely let go.
 */
export { openSchedulerLink } from './open-link.js';

export type LinkSecurity = {
  /** PEM text. */
  ca: string;
  cert: string;
  key: string;
  /** DNS SAN of the scheduler's certificate, checked instead of the address. */
  servername: string;
};

/** One worker as `identity` shows it; every metric is optional in the protocol, null here. */
export type SchedulerWorker = {
  address: string;
  /** String form of the Dask name. */
  name: string;
  host: string | null;
  status: string;
  nthreads: number;
  memoryLimit: number | null;
  resources: Record<string, number>;
  /** Percent of one core. */
  cpu: number | null;
  memory: number | null;
  managedBytes: number | null;
  executing: number;
  longRunning: number;
  ready: number;
  inMemory: number;
  /** Scheduler's clock of the last heartbeat's metrics, seconds. */
  metricsTime: number | null;
};

export type SchedulerIdentity = {
  id: string;
  address: string;
  dashboardPort: number | null;
  workers: SchedulerWorker[];
};

export type TaskCounts = {
  processing: number;
  queued: number;
  waiting: number;
  unrunnable: number;
  erred: number;
  memory: number;
  /** Clients, ours subtracted. */
  clients: number;
};

export type LinkEvent =
  | { type: 'worker-added'; address: string; name: string | null }
  /** `expected`: it left politely and nothing was lost. */
  | {
      type: 'worker-removed';
      address: string;
      expected: boolean;
      lostTasks: number;
    }
  | {
      type: 'worker-status';
      address: string;
      status: string;
      reason: string | null;
    }
  | { type: 'clients-changed' }
  /** The stream broke; the link reconnects by itself with backoff and then says `connected`. */
  | { type: 'lost'; message: string }
  | { type: 'connected' };

export type DrainResult =
  /** Left with `expected: true` and no lost data. */
  | { type: 'retired' }
  /** Its data had nowhere to go, or it holds an actor: it stays. */
  | { type: 'refused'; message: string }
  /** Gone, but not clean: tasks or data were lost. */
  | { type: 'lost'; message: string; lostTasks: number }
  /** Forced out after every rung of the ladder. */
  | { type: 'forced'; message: string };

export interface SchedulerLink {
  /** Version of `distributed` on the scheduler, e.g. "2026.8.0". */
  readonly version: string;
  /** packages of `versions`, for comparison with the client's. */
  readonly packages: Readonly<Record<string, string | null>>;
  readonly connected: boolean;
  identity(): Promise<SchedulerIdentity>;
  /** The scheduler's own target in workers (4.2). */
  adaptiveTarget(targetDurationSeconds: number): Promise<number>;
  /** Addresses in the order the scheduler would lose them, at most `n`. */
  workersToClose(n: number): Promise<string[]>;
  /** `counts.json`-like task counts, ours subtracted from clients. */
  taskCounts(): Promise<TaskCounts>;
  /** Seconds since 1970 when it became idle, or null while it works. */
  idleSince(): Promise<number | null>;
  setMetadata(keys: readonly string[], value: unknown): Promise<void>;
  getMetadata(keys: readonly string[]): Promise<unknown>;
  /** Polite drain (2.6) of several at once: cordon, wait for running tasks until the deadline, remove. */
  drain(
    addresses: readonly string[],
    options: { deadlineMs: number }
  ): Promise<Map<string, DrainResult>>;
  /** Forced removal of a dead entry. */
  unregister(address: string): Promise<void>;
  /** The scheduler closes all workers and itself. */
  terminate(): Promise<void>;
  onEvent(listener: (event: LinkEvent) => void): void;
  close(): Promise<void>;
}

export type OpenLinkOptions = {
  address: string;
  security: LinkSecurity | null;
  /** Refuse another scheduler at the same address; null: accept any. */
  expectedId: string | null;
  connectTimeoutMs?: number;
};
