/**
 * One pass of the controller: what is desired, what is observed, now → what to do. PURE.
 * Level-triggered: it may be called at any time, twice, or after any event was missed.
 */
import type {
  ClusterPhase,
  JobId,
  JobPhase,
  WorkerId
} from '../../protocol/index.js';
import { isOver, isPending } from './lifecycle.js';

export type PlanWorker = {
  id: WorkerId;
  state: 'expected' | 'connected' | 'gone';
};

export type PlanJob = {
  id: JobId;
  /** null: the scheduler's. */
  group: string | null;
  phase: JobPhase;
  hasHandle: boolean;
  /** Milliseconds. */
  createdAt: number;
  /** When it was granted; null: not yet. */
  startedAt: number | null;
  workers: readonly PlanWorker[];
  draining: boolean;
  endedByUs: boolean;
  /** Since when every worker of it is gone (milliseconds); null: some are there or may come. */
  goneSince: number | null;
  /** When its release was last asked for; null: never. */
  releasedAt: number | null;
};

export type PlanGroup = {
  name: string;
  workersPerJob: number;
  /** Workers wanted. */
  target: number;
  /** The breaker's word: nothing more before this (milliseconds); Infinity: until resumed. */
  notBefore: number;
};

export type PlanInput = {
  now: number;
  phase: ClusterPhase;
  force: boolean;
  /** The scheduler's address is known and it has not ended. */
  schedulerAddress: boolean;
  linkUp: boolean;
  /** When `terminate` was sent in this stop (milliseconds); null: not yet. */
  terminatedAt: number | null;
  groups: readonly PlanGroup[];
  jobs: readonly PlanJob[];
  limits: PlanLimits;
};

export type PlanLimits = {
  /** Requests for a scheduler in one life, counting those that never began. */
  schedulerAttempts: number;
  /** A scheduler must have written its address this long after it was granted. */
  schedulerStartMs: number;
  /** A worker must have connected this long after its job was granted. */
  workerStartMs: number;
  /** The backend has this long to say why a lost worker went, before its job is ended. */
  explanationMs: number;
  /** What was told to leave has this long to exit by itself, before a signal. */
  leaveMs: number;
  /** A release is asked for again after this long. */
  releaseRetryMs: number;
  /** A job younger than this is not withdrawn for a dip of an adaptive target. */
  jobsPerPass: number;
};

export const DEFAULT_LIMITS: PlanLimits = {
  schedulerAttempts: 20,
  schedulerStartMs: 120_000,
  workerStartMs: 300_000,
  explanationMs: 1_500,
  leaveMs: 1_500,
  releaseRetryMs: 5_000,
  jobsPerPass: 1_000
};

export type PlanAction =
  | { type: 'start-scheduler' }
  | { type: 'request'; group: string; jobs: number }
  /** Not needed, never of use: end without a drain. Newest first. */
  | { type: 'withdraw'; jobs: JobId[] }
  /** Too many of them work: let the scheduler rank, drain that many. */
  | { type: 'shrink'; group: string; jobs: number }
  /** Ask the backend to end these: they are to go, drained or not worth it. */
  | { type: 'release'; jobs: JobId[] }
  | {
      type: 'give-up';
      jobs: JobId[];
      reason: 'never-connected' | 'workers-lost';
    }
  | { type: 'fail'; reason: string }
  | { type: 'terminate-scheduler' }
  /** Everything has ended (or was given up): close the books. */
  | { type: 'finish' };

export type Plan = { actions: PlanAction[]; recheckInMs: number | null };

export function plan(input: PlanInput): Plan {
  if (isOver(input.phase)) {
    return { actions: [], recheckInMs: null };
  }
  return input.phase === 'stopping' ? planStop(input) : planRun(input);
}

function planRun(input: PlanInput): Plan {
  const actions: PlanAction[] = [];
  const checks: number[] = [];
  const schedulers = input.jobs.filter(job => job.group === null);
  const scheduler = schedulers.find(job => job.phase !== 'ended');
  if (scheduler === undefined) {
    // One scheduler a life: once it ended, the cluster is over (whoever ended it says why). One the
    // backend never had, because the bridge ended between intent and answer, is asked for again (R4).
    const begun = schedulers.some(job => job.hasHandle);
    if (!begun && schedulers.length < input.limits.schedulerAttempts) {
      return { actions: [{ type: 'start-scheduler' }], recheckInMs: null };
    }
    const reason = begun
      ? 'the scheduler ended'
      : `the scheduler was asked for ${schedulers.length} times and never began`;
    return { actions: [{ type: 'fail', reason }], recheckInMs: null };
  }
  if (!input.schedulerAddress) {
    if (scheduler.startedAt !== null) {
      const left =
        scheduler.startedAt + input.limits.schedulerStartMs - input.now;
      if (left <= 0) {
        const seconds = Math.round(input.limits.schedulerStartMs / 1000);
        return {
          actions: [
            {
              type: 'fail',
              reason: `the scheduler did not tell its address within ${seconds} s`
            }
          ],
          recheckInMs: null
        };
      }
      checks.push(left);
    }
    return { actions, recheckInMs: least(checks) };
  }
  const release = input.jobs.filter(
    job =>
      job.group !== null &&
      job.phase !== 'ended' &&
      job.endedByUs &&
      releaseDue(job, input, checks)
  );
  if (release.length > 0) {
    actions.push({ type: 'release', jobs: release.map(job => job.id) });
  }
  const lost = input.jobs.filter(job => workersLost(job, input, checks));
  if (lost.length > 0) {
    actions.push({
      type: 'give-up',
      jobs: lost.map(job => job.id),
      reason: 'workers-lost'
    });
  }
  const silent = input.jobs.filter(job => neverConnected(job, input, checks));
  if (silent.length > 0) {
    actions.push({
      type: 'give-up',
      jobs: silent.map(job => job.id),
      reason: 'never-connected'
    });
  }
  const given = new Set(silent.map(job => job.id));
  for (const group of input.groups) {
    actions.push(...planGroup(group, input, given, checks));
  }
  return { actions, recheckInMs: least(checks) };
}

function planGroup(
  group: PlanGroup,
  input: PlanInput,
  given: ReadonlySet<JobId>,
  checks: number[]
): PlanAction[] {
  const live = input.jobs.filter(
    job =>
      job.group === group.name &&
      job.phase !== 'ended' &&
      job.phase !== 'stopping' &&
      !job.draining &&
      !spent(job) &&
      !given.has(job.id)
  );
  const wanted = Math.ceil(group.target / group.workersPerJob);
  const missing = wanted - live.length;
  if (missing > 0) {
    if (group.notBefore > input.now) {
      if (Number.isFinite(group.notBefore)) {
        checks.push(group.notBefore - input.now);
      }
      return [];
    }
    return [
      {
        type: 'request',
        group: group.name,
        jobs: Math.min(missing, input.limits.jobsPerPass)
      }
    ];
  }
  if (missing === 0) {
    return [];
  }
  let surplus = -missing;
  const actions: PlanAction[] = [];
  const pending = live.filter(isIdle).sort(byWithdrawal).slice(0, surplus);
  if (pending.length > 0) {
    actions.push({ type: 'withdraw', jobs: pending.map(job => job.id) });
    surplus -= pending.length;
  }
  if (surplus > 0 && input.linkUp) {
    actions.push({ type: 'shrink', group: group.name, jobs: surplus });
  }
  return actions;
}

/** Nothing of it ever worked: it can go without a drain. */
function isIdle(job: PlanJob): boolean {
  return (
    isPending(job.phase) ||
    job.workers.every(worker => worker.state === 'expected')
  );
}

/** Uncertain and unsubmitted first, then held, queued, granted; among equals the newest first. */
function byWithdrawal(a: PlanJob, b: PlanJob): number {
  const order: readonly JobPhase[] = [
    'uncertain',
    'submitting',
    'held',
    'queued',
    'starting',
    'suspended',
    'running'
  ];
  return (
    order.indexOf(a.phase) - order.indexOf(b.phase) || b.createdAt - a.createdAt
  );
}

/** Asked to end, or all its workers are gone: it holds room for nothing, a replacement may come. */
function spent(job: PlanJob): boolean {
  return job.endedByUs || (!job.draining && job.goneSince !== null);
}

/** Its workers went, nobody asked for it, and its end has not been reported since. */
function workersLost(
  job: PlanJob,
  input: PlanInput,
  checks: number[]
): boolean {
  if (
    job.phase === 'ended' ||
    job.endedByUs ||
    job.draining ||
    job.goneSince === null
  ) {
    return false;
  }
  const left = job.goneSince + input.limits.explanationMs - input.now;
  if (left > 0) {
    checks.push(left);
    return false;
  }
  return true;
}

function releaseDue(job: PlanJob, input: PlanInput, checks: number[]): boolean {
  if (!job.hasHandle || job.draining) {
    return false;
  }
  if (job.releasedAt === null) {
    return true;
  }
  const left = job.releasedAt + input.limits.releaseRetryMs - input.now;
  if (left > 0) {
    checks.push(left);
    return false;
  }
  return true;
}

function neverConnected(
  job: PlanJob,
  input: PlanInput,
  checks: number[]
): boolean {
  if (
    job.group === null ||
    job.startedAt === null ||
    job.endedByUs ||
    (job.phase !== 'running' && job.phase !== 'starting') ||
    !job.workers.every(worker => worker.state === 'expected')
  ) {
    return false;
  }
  const left = job.startedAt + input.limits.workerStartMs - input.now;
  if (left > 0) {
    checks.push(left);
    return false;
  }
  return true;
}

function planStop(input: PlanInput): Plan {
  const actions: PlanAction[] = [];
  const checks: number[] = [];
  const live = input.jobs.filter(job => job.phase !== 'ended');
  if (live.length === 0 || input.force) {
    const last = live.filter(job => job.hasHandle && job.releasedAt === null);
    return {
      actions: [
        ...(last.length > 0
          ? [{ type: 'release' as const, jobs: last.map(job => job.id) }]
          : []),
        { type: 'finish' }
      ],
      recheckInMs: null
    };
  }
  if (input.linkUp && input.terminatedAt === null) {
    return { actions: [{ type: 'terminate-scheduler' }], recheckInMs: null };
  }
  // A worker that is closing by itself hangs when a signal interrupts it.
  const leaving =
    (input.terminatedAt ?? -Infinity) + input.limits.leaveMs - input.now;
  if (leaving > 0) {
    return { actions: [], recheckInMs: leaving };
  }
  const release = live.filter(job =>
    releaseDue({ ...job, draining: false }, input, checks)
  );
  if (release.length > 0) {
    actions.push({ type: 'release', jobs: release.map(job => job.id) });
  }
  checks.push(input.limits.releaseRetryMs);
  return { actions, recheckInMs: least(checks) };
}

function least(checks: readonly number[]): number | null {
  return checks.length === 0 ? null : Math.max(1, Math.min(...checks));
}
