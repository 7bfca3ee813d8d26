/** What is: the objects the API answers with (specs/api.md §1). Times ISO-8601 UTC, sizes in bytes. */
import { z } from 'zod';
import type { ClusterId, JobId, WorkerId } from './ids.js';
import type { ResolvedSpec, Scale } from './spec.js';

export const clusterPhaseSchema = z.enum([
  'creating',
  'running',
  'stopping',
  'stopped',
  'failed'
]);
export type ClusterPhase = z.infer<typeof clusterPhaseSchema>;

export const jobPhaseSchema = z.enum([
  'submitting',
  'queued',
  'held',
  'starting',
  'running',
  'suspended',
  'stopping',
  'ended',
  'uncertain'
]);
export type JobPhase = z.infer<typeof jobPhaseSchema>;

export const jobOutcomeSchema = z.enum([
  'completed',
  'failed',
  'timeout',
  'out-of-memory',
  'node-failure',
  'preempted',
  'cancelled',
  'never-connected',
  'lost'
]);
export type JobOutcome = z.infer<typeof jobOutcomeSchema>;

/** Why a cluster's health is not "ok": a closed list of its own. */
export const healthCodeSchema = z.enum([
  'worker-died',
  'submit-failed',
  'group-failing',
  'never-connected',
  'scheduler-unreachable',
  'scheduler-died',
  'backend-unreachable',
  'version-mismatch',
  'tls-off',
  'pool-fallback',
  'job-suspect',
  'needs-attention',
  'insecure-bind',
  'state-not-writable',
  'store-restored',
  'certificate-expiring',
  'retire-refused',
  'not-observed'
]);
export type HealthCode = z.infer<typeof healthCodeSchema>;

export type HealthReason = {
  code: HealthCode;
  message: string;
  since: string;
  hint?: string;
};

export type GroupCounts = {
  requested: number;
  queued: number;
  starting: number;
  connected: number;
  retiring: number;
  suspended: number;
  uncertain: number;
};

export type GroupView = {
  name: string;
  scale: Scale;
  /** Workers the manager wants now. */
  target: number;
  counts: GroupCounts;
  connected: { workers: number; cores: number; memory: number; gpus: number };
  pendingReasons: { reason: string; jobs: number; estimatedStart?: string }[];
};

export type LoadView = {
  tasks: {
    processing: number;
    queued: number;
    waiting: number;
    unrunnable: number;
    erred: number;
    memory: number;
  };
  /** Mean CPU use of the connected workers' cores, 0 … 1. */
  cpu: number;
  memoryUsed: number;
  memoryLimit: number;
};

export type SchedulerView = {
  phase: JobPhase;
  address: string | null;
  host: string | null;
  job: JobId | null;
  version: string | null;
  /** Relative to the API root, without a leading slash; null where there is none. */
  dashboard: string | null;
  /** Clients connected, ours not counted. */
  clients: number;
};

export type ClusterView = {
  id: ClusterId;
  name: string;
  backend: string;
  spec: ResolvedSpec;
  phase: ClusterPhase;
  health: 'ok' | 'degraded' | 'unreachable';
  reasons: HealthReason[];
  createdAt: string;
  startedAt: string | null;
  stoppedAt: string | null;
  owner: { bridge: string; host: string; epoch: number };
  scheduler: SchedulerView;
  groups: GroupView[];
  load: LoadView | null;
  /** Grows with every change of this view. */
  revision: number;
};

export type JobView = {
  id: JobId;
  /** null: the scheduler's job. */
  group: string | null;
  handle: { nativeId: string; cluster?: string; incarnation: number } | null;
  phase: JobPhase;
  outcome?: JobOutcome;
  nativeState: string | null;
  reason: string | null;
  exit: { code: number | null; signal: string | null } | null;
  host: string | null;
  submittedAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  deadline?: string;
  workers: WorkerId[];
  logs: boolean;
};

export type WorkerStatus =
  'starting' | 'running' | 'paused' | 'retiring' | 'lost';

export type WorkerView = {
  id: WorkerId;
  address?: string;
  group: string;
  job: JobId;
  host: string | null;
  status: WorkerStatus;
  cores: number;
  memoryLimit: number | null;
  memoryUsed: number | null;
  /** 0 … cores; 1 = one core busy. */
  cpu: number | null;
  gpus: number;
  resources: Record<string, number>;
  tasks: { executing: number; ready: number; inMemory: number };
  since: string;
  reclaimAt?: string;
};

export const eventKindSchema = z.enum([
  'created',
  'scaled',
  'adapted',
  'requested',
  'submitted',
  'queued',
  'starting',
  'worker-connected',
  'worker-retiring',
  'worker-retired',
  'worker-reclaiming',
  'worker-died',
  'loss-explained',
  'released',
  'submit-failed',
  'group-failing',
  'retire-refused',
  'backend-unreachable',
  'backend-reachable',
  'scheduler-started',
  'scheduler-died',
  'recovered',
  'adopted',
  'renamed',
  'lifetime-changed',
  'resumed',
  'restarted',
  'stopping',
  'stopped',
  'failed'
]);
export type EventKind = z.infer<typeof eventKindSchema>;

export type ClusterEvent = {
  seq: number;
  time: string;
  cluster: ClusterId;
  kind: EventKind;
  severity: 'info' | 'warning' | 'error';
  message: string;
  job?: JobId;
  worker?: WorkerId;
  data: Record<string, unknown>;
};

export type BackendCapabilities = {
  identity: 'named' | 'late';
  pending: 'listed' | 'counted' | 'hidden';
  exactRelease: boolean;
  reclaimNotice: 'none' | 'deadline' | 'signal' | 'push';
  exitCodes: boolean;
  history: boolean;
  tags: boolean;
  hostBound: boolean;
  schedulerPlacement: ('bridge' | 'job')[];
  gpus: boolean;
  estimateStart: boolean;
};

export type BackendView = {
  name: string;
  title: string;
  available: boolean;
  reason?: string;
  version?: string;
  capabilities: BackendCapabilities;
  /** JSON Schema of `groups[].options`. */
  specSchema: Record<string, unknown>;
  /** What was looked at, as sentences or key → value. */
  probe: Record<string, unknown>;
  /** Of this host where it is known: what a default worker group would be cut from. */
  host?: { cores: number; memory: number };
};

export type EnvironmentView = {
  /** Absolute path of the interpreter. */
  python: string;
  name: string;
  source: 'kernelspec' | 'conda' | 'venv' | 'bridge';
  kernelspec: string | null;
  displayName: string | null;
  pythonVersion: string | null;
  dask: string | null;
  distributed: string | null;
  usable: boolean;
  whyNot: string | null;
};

export type ProfileView = {
  name: string;
  source: 'package' | 'site' | 'user';
  title?: string;
  spec: Record<string, unknown>;
};

export type PreviewView = {
  /** A sentence of what will happen. */
  summary: string;
  jobs: {
    group: string | null;
    count: number;
    workers: number;
    argv: string[];
    script: string | null;
    environment: Record<string, string>;
    notHonoured: string[];
    warnings: string[];
  }[];
};

export type ConnectionView = {
  address: string;
  dashboard: string | null;
  security: { caFile: string; certFile: string; keyFile: string } | null;
  snippets: { python: string; env: string };
};

export type DashboardView = { name: string; title: string; path: string };

export type HealthView = {
  protocol: number;
  version: string;
  bridge: string;
  epoch: number;
  host: string;
  pid: number;
  startedAt: string;
  node: string;
  clusters: number;
};
