/** What the parse functions answer (specs/resource-manager.md §2). Plain values, JSON but for Maps. */
import type { Exit } from '../resource-manager.js';
import type {
  CancelCode,
  JobState,
  PendingReason,
  QueryCode,
  RejectReason,
  SubmitCode
} from './states.js';

/** What a command gave back; all a parse function ever sees of it. */
export type CommandOutput = {
  /** null: it never ended by itself (signal, time limit). */
  rc: number | null;
  stdout: string;
  stderr: string;
  timedOut?: boolean;
};

export type SubmitResult = {
  code: SubmitCode;
  /** As later commands take it: `42`, `1234[].pbs01`, `123.0`, `ƒ2x`. */
  id?: string;
  /** Several where one submit makes jobs with ids of their own (OAR arrays, HTCondor, Flux). */
  ids: readonly string[];
  /** Slurm cluster, HTCondor schedd: goes into every later query and cancel. */
  cluster?: string;
  /** Task range the answer names (`1-10:1`), where it names one. */
  tasks?: string;
  /** The line the id stands in. */
  raw?: string;
  /** Only with REJECTED. */
  reason?: RejectReason;
  /** Field of the JobSpec the refusal concerns, where the words tell. */
  field?: string;
  /** The system's own words: what a user should read. */
  message?: string;
  /** The machine-readable flag was refused as a usage error: repeat once without it. */
  plainRepeat?: boolean;
  /** Seconds. Only with RETRY. */
  retryAfter?: number;
  rc: number | null;
  stdout: string;
  stderr: string;
};

export type JobInfo = {
  /** The id that was asked for, else as the system writes it. */
  id: string;
  /** As the answer writes it. */
  rawId: string;
  /** Of an array element, without the element. */
  masterId?: string;
  arrayIndex?: number;
  cluster?: string;
  name: string | null;
  user: string | null;
  /** Our mark, where the listing carries it. */
  token: string | null;
  state: JobState;
  final: boolean;
  nativeState: string;
  nativeReason: string | null;
  reasonClass: PendingReason | null;
  /** It waits and will not start by itself: show and warn. */
  stuck: boolean;
  /** The row stands for a whole array, whose elements speak for themselves. */
  container: boolean;
  /** ISO-8601, UTC. */
  submitTime: string | null;
  startTime: string | null;
  endTime: string | null;
  estimatedStart: string | null;
  /** When the system will end it: null = unknown, or no limit (see `limitSeconds`). */
  endsAt: string | null;
  /** Seconds, or `unlimited`. */
  limitSeconds: number | 'unlimited' | null;
  /** Wall clock used up so far. */
  usedSeconds: number | null;
  nodes: readonly string[];
  exit: Exit | null;
  /** Grows when the same id is started again; null where the listing does not tell. */
  incarnation: number | null;
  /** New id under which the system itself put the job back (OAR). */
  resubmittedAs?: string;
  /** Who ended it, where the listing tells: a user name or id. */
  endedBy?: string;
  observation: 'fresh';
  /** ISO-8601: when the answer was given. */
  asOf: string;
};

export type QueryResult = {
  code: QueryCode;
  asOf: string;
  /** By the id that was asked for where one was, else by the id as written. */
  jobs: ReadonlyMap<string, JobInfo>;
  /** Asked for, and a good answer knows nothing of them. */
  missing: readonly string[];
  /** Words of the system and of the parser a person should see. */
  errors: readonly string[];
};

export type CancelResult = ReadonlyMap<
  string,
  { code: CancelCode; text: string }
>;

export type TokenMatch = {
  id: string;
  cluster?: string;
  submitTime: string | null;
  state: JobState;
};

export type EstimateResult =
  | { type: 'time'; at: string }
  | { type: 'none'; message: string }
  | {
      type: 'impossible';
      reason: RejectReason;
      message: string;
      field?: string;
    }
  | { type: 'unknown'; message: string };

/** A queue, partition or slot kind, and what it lets through. null: not told. */
export type QueueLimits = {
  name: string;
  isDefault: boolean;
  /** Does it take submits, and does it start jobs? */
  enabled: boolean | null;
  started: boolean | null;
  maxWalltimeSeconds: number | 'unlimited' | null;
  maxNodes: number | 'unlimited' | null;
  maxCpus: number | 'unlimited' | null;
  maxGpus: number | 'unlimited' | null;
  maxMemoryBytes: number | 'unlimited' | null;
  cpusPerNode: number | null;
  memoryPerNodeBytes: number | null;
  nodeNames: string | null;
};

export type LimitsResult = {
  code: QueryCode;
  queues: readonly QueueLimits[];
  accounts: readonly string[];
  qos: readonly string[];
  parallelEnvironments: readonly string[];
  /** Other settings told by name, e.g. `MaxArraySize`. */
  settings: Readonly<Record<string, string>>;
  errors: readonly string[];
};
