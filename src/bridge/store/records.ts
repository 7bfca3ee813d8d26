/** What the bridge remembers of a cluster and of a job; no secrets, only paths and fingerprints. */
import type { Exit, Handle } from '../../backends/resource-manager.js';
import type {
  ClusterId,
  ClusterPhase,
  HealthReason,
  JobId,
  JobOutcome,
  JobPhase,
  ResolvedSpec
} from '../../protocol/index.js';

export type ClusterRecord = {
  id: ClusterId;
  spec: ResolvedSpec;
  phase: ClusterPhase;
  createdAt: string;
  startedAt: string | null;
  stoppedAt: string | null;
  /** The Jupyter server that asked for it; null: the CLI or another program. */
  client: { id: string; baseUrl: string } | null;
  /** Absolute; 0700. */
  folder: string;
  /** Adaptive groups: the workers wanted now. */
  targets: Record<string, number>;
  /** Groups whose submissions the breaker stopped, with the reason. */
  failingGroups: Record<string, string>;
  /** Why it failed or stopped; shown on the ended row. */
  cause: string | null;
  /** Reasons that outlive the bridge, e.g. why it failed. */
  reasons: HealthReason[];
  /** Of the running scheduler; null before it is up. */
  scheduler: {
    job: JobId;
    address: string;
    schedulerId: string;
    dashboardPort: number | null;
    version: string | null;
  } | null;
  /** Grows with every change of the view. */
  revision: number;
  /** Which life of this cluster: grows with every restart under the same id. */
  life: number;
  /** What a cluster in phase `stopping` becomes. */
  then: 'stopped' | 'failed' | 'restart';
  /** A stop was asked with force: give up on parts that cannot be reached. */
  force: boolean;
  /** Python's hash seed of all workers of this cluster. */
  hashSeed: number;
};

export type JobRecord = {
  id: JobId;
  cluster: ClusterId;
  group: string | null;
  /** The cluster's life it belongs to. */
  life: number;
  attempt: number;
  token: string;
  backend: string;
  handle: Handle | null;
  phase: JobPhase;
  outcome: JobOutcome | null;
  nativeState: string | null;
  reason: string | null;
  exit: Exit | null;
  host: string | null;
  createdAt: string;
  submittedAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  deadline: string | null;
  /** Worker processes of this job (0 for the scheduler's). */
  workers: number;
  /** Indices of workers that were once connected. */
  connected: number[];
  /** We asked for its end. */
  endedByUs: boolean;
  /** Last 20 log lines of a job that did not end well. */
  logTail: string | null;
};
