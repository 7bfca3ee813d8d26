/** "More workers please": intents first, then the backend, then what it answered. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type {
  JobIntent,
  Launch,
  RequestResult
} from '../../backends/resource-manager.js';
import type { ClusterEvent, WorkerGroup } from '../../protocol/index.js';
import { tokenOf, workerId } from '../../protocol/index.js';
import type { JobId } from '../../protocol/index.js';
import type { JobRecord } from '../store/records.js';
import type { StoreOperation } from '../store/store.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { backendOf, beginStop, newId, now } from './context.js';
import type { CertificateFiles, KeyPair } from './ports.js';
import { endOf, settle } from './settlement.js';

const YEAR_MS = 365 * 86_400_000;
/** A scheduler ends by itself after a day of idleness, or what the user said if longer: a bridge that is gone for good leaks nothing. */
const IDLE_BACKSTOP_SECONDS = 86_400;

export function schedulerFileOf(state: ClusterState): string {
  return path.join(state.record.folder, 'scheduler.json');
}

export async function startScheduler(
  context: Context,
  state: ClusterState
): Promise<void> {
  const { record } = state;
  await mkdir(record.folder, { recursive: true, mode: 0o700 });
  const job = newJob(state, null, 0);
  // The intent and the keys do not depend on each other; both are there before the first act.
  const [tls] = await Promise.all([
    record.spec.security.tls
      ? context.certificates.create({
          folder: record.folder,
          clusterId: state.id,
          notAfter: new Date(Date.now() + YEAR_MS)
        })
      : null,
    rm(schedulerFileOf(state), { force: true })
  ]);
  state.jobs.set(job.id, job);
  await context.books.commit(state, {
    jobs: [job],
    events: [
      context.books.event(state, 'requested', 'Scheduler requested', {
        job: job.id
      })
    ]
  });
  await send(context, state, [
    {
      job,
      intent: intentOf(state, job, [schedulerLaunch(context, state, job, tls)])
    }
  ]);
}

export async function requestJobs(
  context: Context,
  state: ClusterState,
  group: WorkerGroup,
  count: number
): Promise<void> {
  const { record } = state;
  const tls = record.spec.security.tls
    ? context.certificates.files(record.folder)
    : null;
  const jobs = Array.from({ length: count }, () =>
    newJob(state, group.name, group.workersPerJob)
  );
  for (const job of jobs) {
    state.jobs.set(job.id, job);
  }
  const workers = count * group.workersPerJob;
  await context.books.commit(state, {
    jobs,
    events: [
      context.books.event(
        state,
        'requested',
        `${group.name}: ${workers} ${workers === 1 ? 'worker' : 'workers'} requested`,
        {
          data: { group: group.name, jobs: count, workers }
        }
      )
    ]
  });
  const limit = backendOf(context, state).describe().limits.jobsPerRequest;
  for (let start = 0; start < jobs.length; start += limit) {
    const chunk = jobs.slice(start, start + limit);
    await send(
      context,
      state,
      chunk.map(job => ({
        job,
        intent: intentOf(
          state,
          job,
          workerLaunches(context, state, job, group, tls)
        )
      }))
    );
  }
}

/** The intents of a spec without a cluster behind it, for the preview. */
export function previewIntents(
  context: Context,
  state: ClusterState,
  tls: CertificateFiles | null
): { group: string | null; count: number; intent: JobIntent }[] {
  const scheduler = newJob(state, null, 0);
  const intents: { group: string | null; count: number; intent: JobIntent }[] =
    [
      {
        group: null,
        count: 1,
        intent: intentOf(state, scheduler, [
          schedulerLaunch(context, state, scheduler, tls)
        ])
      }
    ];
  for (const group of state.record.spec.groups) {
    const job = newJob(state, group.name, group.workersPerJob);
    intents.push({
      group: group.name,
      count: 0,
      intent: intentOf(
        state,
        job,
        workerLaunches(context, state, job, group, tls)
      )
    });
  }
  return intents;
}

function newJob(
  state: ClusterState,
  group: string | null,
  workers: number
): JobRecord {
  const id = newId() as JobId;
  return {
    id,
    cluster: state.id,
    group,
    life: state.record.life,
    attempt: 1,
    token: tokenOf(state.id, id),
    backend: state.record.spec.backend,
    handle: null,
    phase: 'submitting',
    outcome: null,
    nativeState: null,
    reason: null,
    exit: null,
    host: null,
    createdAt: now(),
    submittedAt: null,
    startedAt: null,
    endedAt: null,
    deadline: null,
    workers,
    connected: [],
    endedByUs: false,
    logTail: null
  };
}

function intentOf(
  state: ClusterState,
  job: JobRecord,
  launches: readonly Launch[]
): JobIntent {
  const { spec, folder } = state.record;
  const group = spec.groups.find(one => one.name === job.group);
  return {
    cluster: state.id,
    jobId: job.id,
    attempt: job.attempt,
    token: job.token,
    group: job.group,
    resources:
      group === undefined
        ? {
            cores: spec.scheduler.resources.cores,
            memory: spec.scheduler.resources.memory,
            gpus: 0
          }
        : {
            cores: group.worker.cores * group.workersPerJob,
            memory:
              group.worker.memory === null
                ? null
                : group.worker.memory * group.workersPerJob,
            gpus: group.worker.gpus * group.workersPerJob
          },
    launches,
    folder,
    prologue: spec.environment.prologue,
    epilogue: spec.environment.epilogue,
    options: group?.options ?? spec.scheduler.options
  };
}

function tlsOf(
  tls: CertificateFiles | null,
  role: 'scheduler' | 'worker'
): ({ caFile: string } & KeyPair) | null {
  return tls === null ? null : { caFile: tls.caFile, ...tls[role] };
}

function schedulerLaunch(
  context: Context,
  state: ClusterState,
  job: JobRecord,
  tls: CertificateFiles | null
): Launch {
  const { spec, folder, hashSeed } = state.record;
  const { idleTimeout } = spec.lifetime;
  const command = context.commands.scheduler({
    python: spec.environment.python,
    tls: tlsOf(tls, 'scheduler'),
    schedulerFile: schedulerFileOf(state),
    idleTimeoutSeconds:
      idleTimeout === null
        ? null
        : Math.max(idleTimeout, IDLE_BACKSTOP_SECONDS),
    folder,
    hashSeed
  });
  return {
    id: job.id,
    argv: command.argv,
    environment: { ...command.environment, ...spec.environment.variables },
    memoryLimit: spec.scheduler.resources.memory
  };
}

function workerLaunches(
  context: Context,
  state: ClusterState,
  job: JobRecord,
  group: WorkerGroup,
  tls: CertificateFiles | null
): Launch[] {
  const { spec, folder, hashSeed, scheduler } = state.record;
  return Array.from({ length: job.workers }, (_, index) => {
    const id = workerId(job.id, index);
    const command = context.commands.worker({
      python: spec.environment.python,
      address:
        scheduler?.address ??
        `${spec.security.tls ? 'tls' : 'tcp'}://<scheduler>`,
      name: id,
      nthreads: group.worker.cores,
      memoryLimit: group.worker.memory,
      resources: group.worker.resources,
      folder,
      tls: tlsOf(tls, 'worker'),
      hashSeed
    });
    return {
      id,
      argv: command.argv,
      environment: { ...command.environment, ...spec.environment.variables },
      memoryLimit: group.worker.memory
    };
  });
}

async function send(
  context: Context,
  state: ClusterState,
  pairs: readonly { job: JobRecord; intent: JobIntent }[]
): Promise<void> {
  await context.mayAct();
  const backend = backendOf(context, state);
  let results: RequestResult[];
  try {
    results = await backend.request(pairs.map(pair => pair.intent));
  } catch (error) {
    // The call itself failed: nothing is known about any of them.
    const message = error instanceof Error ? error.message : String(error);
    context.log.error({ err: error, cluster: state.id }, 'request failed');
    results = pairs.map(() => ({ type: 'uncertain', message }));
  }
  const events: ClusterEvent[] = [];
  const operations: StoreOperation[] = [];
  const kept: JobRecord[] = [];
  const refusals: Refusal[] = [];
  pairs.forEach(({ job }, index) => {
    const result = results[index] ?? {
      type: 'uncertain',
      message: 'the backend did not answer for this job'
    };
    switch (result.type) {
      case 'accepted':
        accept(context, state, job, result.handle, events);
        break;
      case 'rejected':
        refusals.push(result);
        events.push(
          ...(
            settle(
              state,
              job,
              endOf({ outcome: 'failed', message: result.message }),
              context.books
            ) ?? []
          ).filter(event => event.kind !== 'worker-died')
        );
        break;
      case 'uncertain':
        job.phase = 'uncertain';
        job.reason = result.message;
        break;
      case 'unavailable':
        state.jobs.delete(job.id);
        operations.push({ type: 'delete-job', id: job.id });
        state.setReason(
          'backend-unreachable',
          { message: result.message },
          now()
        );
        // Of its own: a listing that works meanwhile does not mean that starting does.
        state.setReason(
          'submit-failed',
          {
            message: `Nothing could be started: ${result.message}`,
            hint: 'It is tried again by itself.'
          },
          now()
        );
        context.enqueue(state.id, result.retryAfterMs);
        state.retryAfter = performance.now() + result.retryAfterMs;
        return;
      default:
        result satisfies never;
    }
    kept.push(job);
  });
  const first = pairs[0]?.job ?? null;
  const [refused] = refusals;
  if (refused !== undefined) {
    events.push(...refuse(context, state, first, refused));
  }
  await context.books.commit(state, { jobs: kept, events, operations });
  if (refused !== undefined) {
    await afterRefusal(context, state, first, refused);
  }
  context.observeSoon(state.record.spec.backend);
  context.enqueue(state.id);
}

type Refusal = { message: string; hint?: string; field?: string };

function accept(
  context: Context,
  state: ClusterState,
  job: JobRecord,
  handle: NonNullable<JobRecord['handle']>,
  events: ClusterEvent[]
): void {
  job.handle = handle;
  job.submittedAt = now();
  if (job.phase === 'submitting' || job.phase === 'uncertain') {
    // On this host, and where waiting is not shown, accepted is started; the others say when.
    const { pending, hostBound } = backendOf(context, state).describe()
      .capabilities;
    const immediate = hostBound || pending === 'hidden';
    job.phase = immediate ? (job.endedByUs ? 'stopping' : 'running') : 'queued';
    job.startedAt = immediate ? now() : null;
  }
  state.setReason('backend-unreachable', null, '');
  state.setReason('submit-failed', null, '');
  events.push(
    context.books.event(
      state,
      'submitted',
      job.group === null ? 'Scheduler submitted' : `${job.group}: submitted`,
      {
        job: job.id,
        data: { nativeId: handle.nativeId }
      }
    )
  );
}

function refuse(
  context: Context,
  state: ClusterState,
  job: JobRecord | null,
  refused: Refusal
): ClusterEvent[] {
  if (job?.group != null) {
    state.record.failingGroups = {
      ...state.record.failingGroups,
      [job.group]: refused.message
    };
  }
  return [
    context.books.event(state, 'submit-failed', refused.message, {
      severity: 'error',
      ...(job === null ? {} : { job: job.id }),
      data: {
        ...(refused.field === undefined ? {} : { field: refused.field }),
        ...(refused.hint === undefined ? {} : { hint: refused.hint })
      }
    })
  ];
}

/** A scheduler that is refused ends the cluster; refused workers stop their group. */
async function afterRefusal(
  context: Context,
  state: ClusterState,
  job: JobRecord | null,
  refused: Refusal
): Promise<void> {
  if (job?.group === null && state.record.phase !== 'stopping') {
    await beginStop(context, state, {
      then: 'failed',
      force: false,
      cause: {
        code: 'submit-failed',
        message: refused.message,
        ...(refused.hint === undefined ? {} : { hint: refused.hint })
      }
    });
  }
}
