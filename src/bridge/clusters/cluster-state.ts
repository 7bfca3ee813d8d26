/**
 * One cluster in memory: what the store holds of it (record, jobs) and what is only seen while the
 * bridge lives (link, workers, drains). Everything here can be built again from the store, the
 * backend and the scheduler.
 */
import type {
  ClusterId,
  HealthCode,
  HealthReason,
  JobId,
  JobOutcome,
  LoadView,
  WorkerId,
  WorkerStatus
} from '../../protocol/index.js';
import { parseWorkerId, workerId } from '../../protocol/index.js';
import type { SchedulerLink, SchedulerWorker } from '../dask/scheduler-link.js';
import type { ClusterRecord, JobRecord } from '../store/records.js';
import type { AdaptiveMemory } from './adaptive.js';
import type { PlanJob, PlanWorker } from './reconcile.js';

/** A worker of ours that the scheduler knows, or knew. */
export type LiveWorker = {
  id: WorkerId;
  address: string;
  status: WorkerStatus;
  /** ISO-8601 of the last change of status. */
  since: string;
  /** Milliseconds; when it connected. */
  connectedAt: number;
  metrics: SchedulerWorker | null;
  reclaimAt: string | null;
};

export type LinkState = 'none' | 'opening' | 'up' | 'lost';

export class ClusterState {
  constructor(record: ClusterRecord, jobs: Iterable<JobRecord> = []) {
    this.record = record;
    for (const job of jobs) {
      this.jobs.set(job.id, job);
    }
  }

  get id(): ClusterId {
    return this.record.id;
  }

  record: ClusterRecord;
  readonly jobs = new Map<JobId, JobRecord>();
  /** Changes of what is desired that are being written down: no pass acts meanwhile. */
  unwritten = 0;

  link: SchedulerLink | null = null;
  linkState: LinkState = 'none';
  /** When `terminate` was sent in this stop (milliseconds); null: not yet. */
  terminatedAt: number | null = null;

  readonly workers = new Map<WorkerId, LiveWorker>();
  readonly addresses = new Map<string, WorkerId>();
  /** Jobs whose workers are being drained. */
  readonly draining = new Set<JobId>();
  /** Jobs that refused to retire, until when (milliseconds) they are left alone. */
  readonly pinned = new Map<JobId, number>();
  /** Milliseconds of the last release asked for. */
  readonly releasedAt = new Map<JobId, number>();
  /** Jobs ended for their own fault: what their end is called, whatever exit code our ending makes. */
  readonly givenUp = new Map<JobId, { outcome: JobOutcome; message: string }>();
  /** Jobs whose sockets were looked at. */
  readonly checked = new Set<JobId>();
  /** Jobs missing in complete listings: how often in a row, since when (milliseconds). */
  readonly missing = new Map<JobId, { looks: number; since: number }>();
  /** Milliseconds; jobs that ended before do not count for the breaker. */
  readonly resumedAt = new Map<string, number>();
  adaptive: AdaptiveMemory = [];
  load: LoadView | null = null;
  clients = 0;
  /** Milliseconds; null while it works or nothing is known. */
  idleSince: number | null = null;
  /** Its jobs were seen (or their backend asked) since the bridge started. */
  observed = false;
  /** Someone looks at its worker rows. */
  watchers = 0;
  /** Reasons of the moment, by code; those of the record outlive the bridge. */
  readonly reasons = new Map<HealthCode, HealthReason>();
  /** The keeper of the last life was closed; the next life needs a new one. */
  keeperSpent = false;
  /** `performance.now()` before which the backend is not asked for more: it said so. */
  retryAfter = 0;
  /** A shrink is asking the scheduler for its ranking. */
  shrinking = false;

  /** The job of the scheduler that has not ended, if any. */
  get schedulerJob(): JobRecord | null {
    for (const job of this.current) {
      if (job.group === null && job.phase !== 'ended') {
        return job;
      }
    }
    return null;
  }

  /** Set or take back a reason of the moment; returns whether anything changed. */
  setReason(
    code: HealthCode,
    reason: { message: string; hint?: string } | null,
    now: string
  ): boolean {
    const old = this.reasons.get(code);
    if (reason === null) {
      return this.reasons.delete(code);
    }
    if (old?.message === reason.message) {
      return false;
    }
    this.reasons.set(code, { code, since: old?.since ?? now, ...reason });
    return true;
  }

  /** The worker of this name, if it belongs to a job of this cluster. */
  workerOf(name: string): { id: WorkerId; job: JobRecord } | null {
    const parsed = parseWorkerId(name);
    const job = parsed === null ? undefined : this.jobs.get(parsed.job);
    if (parsed === null || job === undefined || parsed.index >= job.workers) {
      return null;
    }
    return { id: workerId(parsed.job, parsed.index), job };
  }

  /** The jobs of this life; those of earlier lives are history. */
  get current(): JobRecord[] {
    return [...this.jobs.values()].filter(job => job.life === this.record.life);
  }

  planJobs(): PlanJob[] {
    return this.current.map((job): PlanJob => ({
      id: job.id,
      group: job.group,
      phase: job.phase,
      hasHandle: job.handle !== null,
      createdAt: Date.parse(job.createdAt),
      startedAt: job.startedAt === null ? null : Date.parse(job.startedAt),
      workers: this.planWorkers(job),
      draining: this.draining.has(job.id),
      endedByUs: job.endedByUs,
      goneSince: this._goneSince(job),
      releasedAt: this.releasedAt.get(job.id) ?? null
    }));
  }

  private _goneSince(job: JobRecord): number | null {
    const workers = this.planWorkers(job);
    if (workers.length === 0 || workers.some(one => one.state !== 'gone')) {
      return null;
    }
    return Math.max(
      ...workers.map(one =>
        Date.parse(this.workers.get(one.id)?.since ?? job.createdAt)
      )
    );
  }

  planWorkers(job: JobRecord): PlanWorker[] {
    return Array.from({ length: job.workers }, (_, index) => {
      const id = workerId(job.id, index);
      const live = this.workers.get(id);
      const state =
        live === undefined
          ? // Once connected and not seen now: gone only if the link is up to say so.
            job.connected.includes(index) && this.linkState === 'up'
            ? ('gone' as const)
            : job.connected.includes(index)
              ? ('connected' as const)
              : ('expected' as const)
          : live.status === 'lost'
            ? ('gone' as const)
            : ('connected' as const);
      return { id, state };
    });
  }

  /** Forget what was seen of the last life: a restart begins anew under the same id. */
  reset(): void {
    this.link = null;
    this.linkState = 'none';
    this.terminatedAt = null;
    this.workers.clear();
    this.addresses.clear();
    this.draining.clear();
    this.pinned.clear();
    this.releasedAt.clear();
    this.missing.clear();
    this.givenUp.clear();
    this.checked.clear();
    this.resumedAt.clear();
    this.adaptive = [];
    this.load = null;
    this.clients = 0;
    this.idleSince = null;
    this.reasons.clear();
    this.shrinking = false;
    this.retryAfter = 0;
  }
}
