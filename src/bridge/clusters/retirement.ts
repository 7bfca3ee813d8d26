/** "These are no longer needed", politely: the scheduler ranks, drains, and only then a job is ended. */
import type { JobId, WorkerGroup, WorkerId } from '../../protocol/index.js';
import { MusterError } from '../../protocol/index.js';
import type { DrainResult } from '../dask/scheduler-link.js';
import type { JobRecord } from '../store/records.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { backendOf, jobsById, now } from './context.js';
import { endOf, settle } from './settlement.js';
import type { Candidate } from './victims.js';
import { chooseVictims } from './victims.js';

/** Running tasks of a worker that is to go may finish within this. */
const DRAIN_MS = 60_000;
/** A job that refused to retire is left alone for this long. */
const PIN_MS = 20_000;
/** A worker lives at least this long before an adaptive cluster lets it go. */
const MINIMUM_AGE_MS = 3_000;
const DRAINED_GRACE_SECONDS = 10;
const WITHDRAWN_GRACE_SECONDS = 2;
/** The whole cluster goes: its scheduler has told the workers already. */
const STOP_GRACE_SECONDS = 3;

/** Too many of this group work: drain as many jobs as are too many, the cheapest ones. */
export async function shrink(
  context: Context,
  state: ClusterState,
  group: WorkerGroup,
  count: number
): Promise<void> {
  const link = state.link;
  if (link === null || state.shrinking) {
    return;
  }
  state.shrinking = true;
  try {
    const addresses = await link.workersToClose(
      Math.max(state.addresses.size, 1)
    );
    const ranking = addresses.flatMap(
      address => state.addresses.get(address) ?? []
    );
    const victims = chooseVictims({
      ranking: withUnranked(ranking, state),
      candidates: candidatesOf(state, group.name),
      count,
      minimumAgeMs: group.scale.type === 'adaptive' ? MINIMUM_AGE_MS : 0
    });
    if (victims.length > 0) {
      await beginDrain(context, state, jobsById(state, victims));
    }
    if (victims.length < count) {
      context.enqueue(state.id, 1_000);
    }
  } finally {
    state.shrinking = false;
  }
}

/** The scheduler leaves out workers it would rather keep; they come last, they are not forbidden. */
function withUnranked(
  ranking: readonly WorkerId[],
  state: ClusterState
): WorkerId[] {
  const ranked = new Set(ranking);
  return [
    ...ranking,
    ...[...state.workers.keys()].filter(id => !ranked.has(id))
  ];
}

function candidatesOf(state: ClusterState, group: string): Candidate[] {
  const nowMs = Date.now();
  return state.current.flatMap((job): Candidate[] => {
    if (
      job.group !== group ||
      job.phase === 'ended' ||
      job.endedByUs ||
      state.draining.has(job.id)
    ) {
      return [];
    }
    const workers = state
      .planWorkers(job)
      .filter(worker => worker.state === 'connected');
    const connectedAt = workers.map(
      worker => state.workers.get(worker.id)?.connectedAt ?? nowMs
    );
    return [
      {
        job: job.id,
        workers: workers.map(worker => worker.id),
        pinned: (state.pinned.get(job.id) ?? 0) > nowMs,
        ageMs: workers.length === 0 ? 0 : nowMs - Math.min(...connectedAt)
      }
    ];
  });
}

/** Cordon, wait, remove; then end the jobs. Runs on in the background: a pass never waits for it. */
export async function beginDrain(
  context: Context,
  state: ClusterState,
  jobs: readonly JobRecord[],
  deadlineMs = DRAIN_MS
): Promise<void> {
  const link = state.link;
  if (link === null) {
    throw new MusterError({
      code: 'conflict',
      message: `the scheduler of ${state.record.spec.name} is not reachable, so its workers cannot be retired politely`,
      hint: 'wait until it answers, or stop the cluster'
    });
  }
  const workers = jobs.flatMap(job =>
    state.planWorkers(job).flatMap(worker => {
      const live = state.workers.get(worker.id);
      return worker.state === 'connected' && live !== undefined
        ? [{ job, id: worker.id, address: live.address }]
        : [];
    })
  );
  for (const job of jobs) {
    state.draining.add(job.id);
  }
  await context.books.commit(state, {
    events: workers.map(worker =>
      context.books.event(
        state,
        'worker-retiring',
        'Retiring: no longer needed',
        { job: worker.job.id, worker: worker.id }
      )
    )
  });
  void link
    .drain(
      workers.map(worker => worker.address),
      { deadlineMs }
    )
    .then(results => afterDrain(context, state, workers, results))
    .catch((error: unknown) => {
      // Nothing is known of what became of them: back under the pass, which looks again.
      context.log.warn({ err: error, cluster: state.id }, 'drain failed');
      for (const job of jobs) {
        state.draining.delete(job.id);
        state.pinned.set(job.id, Date.now() + 2_000);
      }
    })
    .finally(() => {
      context.enqueue(state.id);
    });
}

async function afterDrain(
  context: Context,
  state: ClusterState,
  workers: readonly { job: JobRecord; id: WorkerId; address: string }[],
  results: ReadonlyMap<string, DrainResult>
): Promise<void> {
  const { books } = context;
  const refusals = new Map<JobId, string>();
  const events = workers.map(({ job, id, address }) => {
    const result = results.get(address) ?? {
      type: 'refused' as const,
      message: 'the scheduler did not answer for it'
    };
    switch (result.type) {
      case 'retired':
        return books.event(
          state,
          'worker-retired',
          'Retired: data moved, nothing lost',
          { job: job.id, worker: id }
        );
      case 'refused':
        refusals.set(job.id, result.message);
        return books.event(
          state,
          'retire-refused',
          `Not retired: ${result.message}`,
          {
            severity: 'warning',
            job: job.id,
            worker: id
          }
        );
      case 'lost':
      case 'forced':
        return books.event(
          state,
          'worker-retired',
          `Retired, not cleanly: ${result.message}`,
          {
            severity: 'warning',
            job: job.id,
            worker: id,
            data: {
              lostTasks: result.type === 'lost' ? result.lostTasks : null
            }
          }
        );
      default:
        return result satisfies never;
    }
  });
  const changed = new Set<JobRecord>();
  for (const { job } of workers) {
    state.draining.delete(job.id);
    if (refusals.has(job.id)) {
      state.pinned.set(job.id, Date.now() + PIN_MS);
    } else if (job.phase !== 'ended') {
      job.endedByUs = true;
      job.phase = 'stopping';
      // It exits by itself; a signal while it closes would make it hang. Later it is asked for.
      state.releasedAt.set(job.id, Date.now());
      changed.add(job);
    }
  }
  const [refusal] = refusals.values();
  state.setReason(
    'retire-refused',
    refusal === undefined
      ? null
      : {
          message: `A worker could not be retired: ${refusal}`,
          hint: 'Add a worker, release the data, or stop the cluster.'
        },
    now()
  );
  await books.commit(state, { jobs: [...changed], events });
}

/** Ask the backend to end exactly these. Safe to repeat. */
export async function release(
  context: Context,
  state: ClusterState,
  jobs: readonly JobRecord[]
): Promise<void> {
  const held = jobs.filter(job => job.handle !== null && job.phase !== 'ended');
  if (held.length === 0) {
    return;
  }
  await context.mayAct();
  const nowMs = Date.now();
  const changed = held.filter(
    job => !job.endedByUs || job.phase !== 'stopping'
  );
  for (const job of held) {
    state.releasedAt.set(job.id, nowMs);
    job.endedByUs = true;
    job.phase = 'stopping';
  }
  if (changed.length > 0) {
    await context.books.commit(state, { jobs: changed });
  }
  const results = await backendOf(context, state).release(
    held.flatMap(job => (job.handle === null ? [] : [job.handle])),
    { graceSeconds: graceOf(state, held) }
  );
  const gone: JobRecord[] = [];
  const troubles: {
    code: 'needs-attention' | 'backend-unreachable';
    message: string;
  }[] = [];
  held.forEach((job, index) => {
    const result = results[index] ?? {
      type: 'uncertain' as const,
      message: 'no answer'
    };
    switch (result.type) {
      case 'gone':
      case 'already-gone':
        gone.push(job);
        break;
      case 'denied':
        troubles.push({
          code: 'needs-attention',
          message: `${job.id} could not be ended: ${result.message}`
        });
        break;
      case 'unreachable':
        troubles.push({ code: 'backend-unreachable', message: result.message });
        break;
      case 'uncertain':
        context.observeSoon(job.backend);
        break;
      default:
        result satisfies never;
    }
  });
  state.setReason('needs-attention', null, '');
  const [trouble] = troubles;
  if (trouble !== undefined) {
    state.setReason(trouble.code, { message: trouble.message }, now());
  }
  const events = gone.flatMap(
    job => settle(state, job, endOf(), context.books) ?? []
  );
  if (gone.length > 0) {
    await context.books.commit(state, { jobs: gone, events });
  }
  context.enqueue(state.id);
}

function graceOf(state: ClusterState, jobs: readonly JobRecord[]): number {
  if (state.record.phase === 'stopping') {
    return STOP_GRACE_SECONDS;
  }
  return jobs.some(job => job.connected.length > 0)
    ? DRAINED_GRACE_SECONDS
    : WITHDRAWN_GRACE_SECONDS;
}

/** Queued or not yet of use, and not wanted any more. Those without a handle go as soon as they have one. */
export async function withdraw(
  context: Context,
  state: ClusterState,
  jobs: readonly JobRecord[]
): Promise<void> {
  for (const job of jobs) {
    job.endedByUs = true;
  }
  await context.books.commit(state, { jobs });
  await release(context, state, jobs);
}
