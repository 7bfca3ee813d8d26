/**
 * The contract between the bridge and a backend (specs/resource-manager.md §7).
 *
 * A backend is a driver of four signals: more workers please (`request`), these are no longer
 * needed (`release`), I will take this one back soon (`reclaiming`), this one died (`ended`). It
 * has no targets, retries, breaker or records of its own: what it must find again is in the handle,
 * which the bridge stores. It never builds a Dask command line and never sees the store.
 */
import type { z } from 'zod';
import type {
  BackendCapabilities,
  ClusterId,
  JobId,
  JobOutcome,
  JobPhase,
  WorkerId
} from '../protocol/index.js';

/** What to run for one process: one worker, or the scheduler. */
export type Launch = {
  /** The Dask worker's name, or the job's id for the scheduler. */
  id: WorkerId | JobId;
  /** Absolute interpreter first: `[python, '-m', 'distributed.cli.dask_worker', …]`. */
  argv: readonly string[];
  /** Variables beside the backend's own minimal environment. Never secrets, only paths of them. */
  environment: Readonly<Record<string, string>>;
  /** Bytes the process may use before it is ended; null: no limit. */
  memoryLimit: number | null;
};

/** One job that shall exist. The bridge has committed it before `request` sees it. */
export type JobIntent = {
  cluster: ClusterId;
  jobId: JobId;
  attempt: number;
  /** `muster-<cluster>-<job>`: carried by the job wherever the manager shows one. */
  token: string;
  /** null: the scheduler's job. */
  group: string | null;
  resources: { cores: number; memory: number | null; gpus: number };
  /** One per process of the job. */
  launches: readonly Launch[];
  /** Absolute 0700 folder of the cluster: logs go to `<folder>/logs/`, private files beside them. */
  folder: string;
  /** Lines run before and after python on the compute host. */
  prologue: readonly string[];
  epilogue: readonly string[];
  /** The group's `options`, checked against the backend's own schema. */
  options: Readonly<Record<string, unknown>>;
};

/** Opaque to the bridge; everything to find the job again. JSON, below 4 KiB. */
export type Handle = {
  /** What the manager calls it; shown to people. */
  nativeId: string;
  /** The manager's cluster, where there are several. */
  nativeCluster?: string;
  /** Grows when the manager requeues the same job. */
  incarnation: number;
  /** The backend's own data. */
  data: Readonly<Record<string, unknown>>;
};

export type ReasonClass =
  | 'account'
  | 'limit'
  | 'partition'
  | 'resources'
  | 'quota'
  | 'syntax'
  | 'permission'
  | 'environment'
  | 'other';

export type RequestResult =
  | { type: 'accepted'; handle: Handle }
  /** Refused for good: the same request will be refused again. */
  | {
      type: 'rejected';
      reasonClass: ReasonClass;
      message: string;
      field?: string;
      hint?: string;
    }
  /** It may or may not exist now. */
  | { type: 'uncertain'; message: string }
  /** Nothing was started; try again later. */
  | { type: 'unavailable'; message: string; retryAfterMs: number };

export type ReleaseResult =
  | { type: 'gone' }
  | { type: 'already-gone' }
  | { type: 'denied'; message: string }
  | { type: 'unreachable'; message: string }
  | { type: 'uncertain'; message: string };

export type Exit = { code: number | null; signal: string | null };

/** Facts about one job, as the manager says them. */
export type JobObservation = {
  handle: Handle;
  phase: Exclude<JobPhase, 'submitting' | 'uncertain'>;
  /** Only with phase `ended`, and only on a positive record, never on mere absence. */
  outcome?: JobOutcome;
  nativeState: string;
  reason: string | null;
  exit: Exit | null;
  host: string | null;
  startedAt: string | null;
  endedAt: string | null;
  /** When the manager will end it by itself; ISO-8601. */
  deadline: string | null;
  estimatedStart?: string;
};

export type Observation = {
  /** ISO-8601. */
  asOf: string;
  /** false: absence of a job in `jobs` proves nothing. */
  complete: boolean;
  /** By native id of the asked handles; a handle without an entry was not seen. */
  jobs: ReadonlyMap<string, JobObservation>;
  /** Things that carry a token of ours but were not asked for. */
  foreign: readonly { token: string; handle: Handle; phase: JobPhase }[];
};

export type LogChunk = { text: string; nextOffset: number };
export type LogStream = 'stdout' | 'stderr';

export type BackendEvent =
  | {
      type: 'reclaiming';
      handle: Handle;
      /** ISO-8601: the last moment it may still run. */
      deadline: string;
      reason: 'walltime' | 'preempt' | 'maintenance' | 'scale-down' | 'idle';
      hostAlso: boolean;
      certainty: 'likely' | 'firm';
    }
  | { type: 'reclaiming-withdrawn'; handle: Handle }
  | {
      type: 'ended';
      handle: Handle;
      outcome: JobOutcome;
      exit: Exit | null;
      /** The manager's own words, e.g. "memory limit: 512 MiB of 500 MiB". */
      message: string | null;
      logTail: string;
    }
  /** Observe me now. `note`: something a user should know, e.g. that forking was not possible. */
  | {
      type: 'changed';
      note?: { code: 'pool-fallback'; cluster: ClusterId; message: string };
    };

export type BackendDescription = {
  name: string;
  title: string;
  /** Of `groups[].options` (and `scheduler.options`). */
  optionsSchema: z.ZodType<Record<string, unknown>>;
  capabilities: BackendCapabilities;
  limits: { workersPerJob: number; jobsPerRequest: number; launcher: boolean };
};

export type Probe = {
  available: boolean;
  reason?: string;
  /** A command or sentence that makes it available. */
  fix?: string;
  version?: string;
  /** What was looked at. */
  looked: Record<string, unknown>;
  /** Of the host a default group is cut from; local only. */
  host?: { cores: number; memory: number };
};

export type JobPreview = {
  argv: string[];
  script: string | null;
  environment: Record<string, string>;
  notHonoured: string[];
  warnings: string[];
};

/** Every member is safe to repeat: the same intent requested twice is one job. */
export interface ResourceManager {
  describe(): BackendDescription;
  probe(): Promise<Probe>;
  /** The exact scripts, argv or manifests. Pure. */
  preview(intents: readonly JobIntent[]): JobPreview[];
  /** "Give me more workers": one result per intent, in order. */
  request(intents: readonly JobIntent[]): Promise<RequestResult[]>;
  /** "I no longer need these": exactly these; one result per handle, in order. */
  release(
    handles: readonly Handle[],
    options: { graceSeconds: number }
  ): Promise<ReleaseResult[]>;
  /**
   * One batched look at everything asked for. `uncertain` intents are searched for by token and
   * reported under `foreign`.
   */
  observe(query: {
    handles: readonly Handle[];
    tokens: readonly { token: string; folder: string }[];
  }): Promise<Observation>;
  /** Text of one process of the job. A negative offset reads from the end. */
  logs(query: {
    handle: Handle;
    launch: WorkerId | JobId;
    folder: string;
    stream: LogStream;
    offset: number;
    limit: number;
  }): Promise<LogChunk>;
  /** Called for every event until `close`; there is one listener, the bridge. */
  onEvent(listener: (event: BackendEvent) => void): void;
  /** The cluster is over: end what the backend kept for it (e.g. its warm pool). Jobs are gone already. */
  retireCluster(cluster: ClusterId, folder: string): Promise<void>;
  /** Optional: make the next cluster of this interpreter fast (e.g. import ahead of time). */
  prepare?(environment: {
    python: string;
    variables: Readonly<Record<string, string>>;
  }): Promise<void>;
  /**
   * Optional: addresses (`host:port`) on which processes of this job listen and others could reach
   * them; empty where all is on loopback, or where it cannot be seen. For jobs of this host only.
   */
  exposed?(handle: Handle): Promise<string[]>;
  /** Stop watching. Nothing that runs is touched. */
  close(): Promise<void>;
}
