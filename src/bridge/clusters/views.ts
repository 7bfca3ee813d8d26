/** What the API shows of a cluster, made from its state. PURE. */
import type {
  ClusterView,
  GroupCounts,
  GroupView,
  HealthReason,
  JobView,
  WorkerGroup,
  WorkerView
} from '../../protocol/index.js';
import { rangeOf, workerId } from '../../protocol/index.js';
import type { JobRecord } from '../store/records.js';
import type { ClusterState } from './cluster-state.js';
import { isOver } from './lifecycle.js';

export type Owner = { bridge: string; host: string; epoch: number };

/** Workers wanted of a group now. */
export function targetOf(state: ClusterState, group: WorkerGroup): number {
  const range = rangeOf(group);
  if (group.scale.type === 'fixed') {
    return range.minimum;
  }
  const target = state.record.targets[group.name] ?? range.minimum;
  return Math.min(Math.max(target, range.minimum), range.maximum);
}

export function clusterView(state: ClusterState, owner: Owner): ClusterView {
  const { record } = state;
  // A warning that is always there does not stand before what has just happened.
  const reasons = [...record.reasons, ...state.reasons.values()].sort(
    (a, b) => Number(a.code === 'tls-off') - Number(b.code === 'tls-off')
  );
  const schedulerJob =
    [...state.jobs.values()].filter(job => job.group === null).at(-1) ?? null;
  const over = isOver(record.phase);
  return {
    id: record.id,
    name: record.spec.name,
    backend: record.spec.backend,
    spec: record.spec,
    phase: record.phase,
    health: healthOf(reasons, over),
    reasons,
    createdAt: record.createdAt,
    startedAt: record.startedAt,
    stoppedAt: record.stoppedAt,
    owner,
    scheduler: {
      phase: schedulerJob?.phase ?? (over ? 'ended' : 'submitting'),
      address: over ? null : (record.scheduler?.address ?? null),
      host: schedulerJob?.host ?? null,
      job: schedulerJob?.id ?? null,
      version: record.scheduler?.version ?? null,
      dashboard:
        over || record.scheduler?.dashboardPort == null
          ? null
          : `dashboards/${record.id}/status`,
      clients: over ? 0 : state.clients
    },
    groups: record.spec.groups.map(group => groupView(state, group)),
    load: over ? null : state.load,
    revision: record.revision
  };
}

function healthOf(
  reasons: readonly HealthReason[],
  over: boolean
): ClusterView['health'] {
  if (
    !over &&
    reasons.some(
      reason =>
        reason.code === 'scheduler-unreachable' ||
        reason.code === 'backend-unreachable'
    )
  ) {
    return 'unreachable';
  }
  // A cluster without TLS is as the user wanted it: warned of, not ill.
  return reasons.some(reason => reason.code !== 'tls-off') ? 'degraded' : 'ok';
}

export function groupView(state: ClusterState, group: WorkerGroup): GroupView {
  const counts: GroupCounts = {
    requested: 0,
    queued: 0,
    starting: 0,
    connected: 0,
    retiring: 0,
    suspended: 0,
    uncertain: 0
  };
  const waiting = new Map<
    string,
    { reason: string; jobs: number; estimatedStart?: string }
  >();
  for (const job of state.jobs.values()) {
    if (job.group === group.name && job.phase !== 'ended') {
      countJob(state, job, counts, waiting);
    }
  }
  return {
    name: group.name,
    scale: group.scale,
    target:
      isOver(state.record.phase) || state.record.phase === 'stopping'
        ? 0
        : targetOf(state, group),
    counts,
    connected: {
      workers: counts.connected,
      cores: counts.connected * group.worker.cores,
      memory: counts.connected * (group.worker.memory ?? 0),
      gpus: counts.connected * group.worker.gpus
    },
    pendingReasons: [...waiting.values()]
  };
}

function countJob(
  state: ClusterState,
  job: JobRecord,
  counts: GroupCounts,
  waiting: Map<
    string,
    { reason: string; jobs: number; estimatedStart?: string }
  >
): void {
  switch (job.phase) {
    case 'submitting':
      counts.requested += job.workers;
      return;
    case 'uncertain':
      counts.uncertain += job.workers;
      return;
    case 'queued':
    case 'held': {
      counts.queued += job.workers;
      const reason = job.reason ?? (job.phase === 'held' ? 'held' : 'waiting');
      const entry = waiting.get(reason) ?? { reason, jobs: 0 };
      waiting.set(reason, { ...entry, jobs: entry.jobs + 1 });
      return;
    }
    case 'suspended':
      counts.suspended += job.workers;
      return;
    case 'starting':
    case 'running':
    case 'stopping':
      for (const worker of state.planWorkers(job)) {
        if (worker.state === 'expected') {
          counts.starting += job.phase === 'stopping' || job.endedByUs ? 0 : 1;
        } else if (worker.state === 'connected') {
          const retiring =
            state.draining.has(job.id) ||
            job.endedByUs ||
            state.workers.get(worker.id)?.status === 'retiring';
          counts[retiring ? 'retiring' : 'connected'] += 1;
        }
      }
      return;
    case 'ended':
      return;
    default:
      job.phase satisfies never;
  }
}

export function jobView(job: JobRecord): JobView {
  return {
    id: job.id,
    group: job.group,
    handle:
      job.handle === null
        ? null
        : {
            nativeId: job.handle.nativeId,
            ...(job.handle.nativeCluster === undefined
              ? {}
              : { cluster: job.handle.nativeCluster }),
            incarnation: job.handle.incarnation
          },
    phase: job.phase,
    ...(job.outcome === null ? {} : { outcome: job.outcome }),
    nativeState: job.nativeState,
    reason: job.reason,
    exit: job.exit,
    host: job.host,
    submittedAt: job.submittedAt,
    startedAt: job.startedAt,
    endedAt: job.endedAt,
    ...(job.deadline === null ? {} : { deadline: job.deadline }),
    workers: Array.from({ length: job.workers }, (_, index) =>
      workerId(job.id, index)
    ),
    logs: job.handle !== null
  };
}

/** The workers of jobs that have not ended, known before they connect. */
export function workerViews(state: ClusterState): WorkerView[] {
  const shapes = new Map(
    state.record.spec.groups.map(group => [group.name, group.worker])
  );
  const rows: WorkerView[] = [];
  for (const job of state.jobs.values()) {
    const shape = job.group === null ? undefined : shapes.get(job.group);
    if (job.group === null || job.phase === 'ended' || shape === undefined) {
      continue;
    }
    for (const { id, state: stage } of state.planWorkers(job)) {
      const live = state.workers.get(id);
      const metrics = live?.metrics ?? null;
      rows.push({
        id,
        ...(live === undefined ? {} : { address: live.address }),
        group: job.group,
        job: job.id,
        host: metrics?.host ?? job.host,
        status:
          state.draining.has(job.id) && stage === 'connected'
            ? 'retiring'
            : (live?.status ??
              (stage === 'connected'
                ? 'running'
                : stage === 'gone'
                  ? 'lost'
                  : 'starting')),
        cores: metrics?.nthreads ?? shape.cores,
        memoryLimit: metrics?.memoryLimit ?? shape.memory,
        memoryUsed: metrics?.memory ?? null,
        cpu: metrics?.cpu == null ? null : metrics.cpu / 100,
        gpus: shape.gpus,
        resources: metrics?.resources ?? shape.resources,
        tasks: {
          executing: metrics?.executing ?? 0,
          ready: metrics?.ready ?? 0,
          inMemory: metrics?.inMemory ?? 0
        },
        since: live?.since ?? job.startedAt ?? job.createdAt,
        ...(live?.reclaimAt == null ? {} : { reclaimAt: live.reclaimAt })
      });
    }
  }
  return rows;
}
