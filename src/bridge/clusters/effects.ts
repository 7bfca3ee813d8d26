/** Carries the actions of a plan out, each recorded before it is done. */
import { rm } from 'node:fs/promises';
import type { JobId } from '../../protocol/index.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { backendOf, beginStop, jobsById, liveJobs, now } from './context.js';
import { afterEnds } from './job-ends.js';
import type { LinkKeeper } from './link-keeper.js';
import { withDeadline } from './observer.js';
import type { PlanAction } from './reconcile.js';
import { requestJobs, schedulerFileOf, startScheduler } from './requests.js';
import { release, shrink, withdraw } from './retirement.js';
import { endOf, settle } from './settlement.js';

const TERMINATE_MS = 3_000;

export async function carryOut(
  context: Context,
  state: ClusterState,
  keeper: LinkKeeper,
  actions: readonly PlanAction[]
): Promise<void> {
  for (const action of actions) {
    await carryOutOne(context, state, keeper, action);
  }
}

async function carryOutOne(
  context: Context,
  state: ClusterState,
  keeper: LinkKeeper,
  action: PlanAction
): Promise<void> {
  switch (action.type) {
    case 'start-scheduler':
      return startScheduler(context, state);
    case 'request': {
      const group = state.record.spec.groups.find(
        one => one.name === action.group
      );
      return group === undefined
        ? undefined
        : requestJobs(context, state, group, action.jobs);
    }
    case 'withdraw':
      return withdraw(context, state, jobsById(state, action.jobs));
    case 'shrink': {
      const group = state.record.spec.groups.find(
        one => one.name === action.group
      );
      return group === undefined
        ? undefined
        : shrink(context, state, group, action.jobs);
    }
    case 'release':
      return release(context, state, jobsById(state, action.jobs));
    case 'give-up':
      return giveUp(context, state, action.jobs, action.reason);
    case 'fail':
      return beginStop(context, state, {
        then: 'failed',
        force: false,
        cause: {
          code: 'scheduler-died',
          message: action.reason,
          hint: 'See the log of the scheduler.'
        }
      });
    case 'terminate-scheduler':
      return terminate(context, state);
    case 'finish':
      return finish(context, state, keeper);
    default:
      return action satisfies never;
  }
}

const FAULTS = {
  'never-connected': {
    outcome: 'never-connected',
    message:
      'it ran, but did not connect in time; likely an import error, a wrong interface or a blocked port'
  },
  'workers-lost': {
    outcome: 'lost',
    message: 'the scheduler lost it, and its process had to be ended'
  }
} as const;

/** Running, but of no use: said, ended, counted by the breaker as its own fault. */
async function giveUp(
  context: Context,
  state: ClusterState,
  ids: readonly JobId[],
  reason: keyof typeof FAULTS
): Promise<void> {
  const jobs = jobsById(state, ids).filter(job => job.phase !== 'ended');
  for (const job of jobs) {
    state.givenUp.set(job.id, FAULTS[reason]);
  }
  const held = jobs.filter(job => job.handle !== null);
  await context.mayAct();
  const results = await backendOf(context, state).release(
    held.flatMap(job => (job.handle === null ? [] : [job.handle])),
    { graceSeconds: 2 }
  );
  const gone = held.filter((job, index) => {
    const type = results[index]?.type;
    return (
      job.phase !== 'ended' && (type === 'gone' || type === 'already-gone')
    );
  });
  const events = gone.flatMap(
    job => settle(state, job, endOf(), context.books) ?? []
  );
  await context.books.commit(state, { jobs: gone, events });
  await afterEnds(context, state, gone);
  if (gone.length < jobs.length) {
    context.enqueue(state.id, 1_000);
  }
}

async function terminate(context: Context, state: ClusterState): Promise<void> {
  state.terminatedAt = Date.now();
  const link = state.link;
  if (link === null) {
    return;
  }
  try {
    await withDeadline(link.terminate(), TERMINATE_MS);
  } catch (error) {
    context.log.warn(
      { err: error, cluster: state.id },
      'the scheduler did not end politely'
    );
  }
  context.enqueue(state.id);
}

/** Everything has ended, or was given up with force: close the books of this life. */
async function finish(
  context: Context,
  state: ClusterState,
  keeper: LinkKeeper
): Promise<void> {
  const { record } = state;
  await keeper.close();
  state.keeperSpent = true;
  const left = liveJobs(state);
  const events = left.flatMap(
    job =>
      settle(
        state,
        job,
        endOf({
          outcome: 'lost',
          message: 'given up by a forced stop; it may still run'
        }),
        context.books
      ) ?? []
  );
  const backend = backendOf(context, state);
  await backend
    .retireCluster(state.id, record.folder)
    .catch((error: unknown) => {
      context.log.warn(
        { err: error, cluster: state.id },
        'the backend could not put away what it kept'
      );
    });
  await context.certificates.remove(record.folder);
  await rm(schedulerFileOf(state), { force: true });
  record.scheduler = null;
  record.force = false;
  const remains =
    left.length === 0
      ? ''
      : `; may still run: ${left.map(job => job.handle?.nativeId ?? job.token).join(', ')}`;
  if (record.then === 'restart') {
    state.reset();
    record.phase = 'creating';
    record.life += 1;
    record.then = 'stopped';
    record.startedAt = null;
    record.stoppedAt = null;
    record.cause = null;
    record.reasons = [];
    record.failingGroups = {};
    record.targets = {};
    events.push(
      context.books.event(state, 'restarted', 'Restarting under the same name')
    );
  } else {
    record.phase = record.then;
    record.stoppedAt = now();
    const why = record.cause === null ? '' : `: ${record.cause}`;
    const failed = record.then === 'failed';
    events.push(
      context.books.event(
        state,
        failed ? 'failed' : 'stopped',
        `${failed ? 'Failed' : 'Stopped'}${why}${remains}`,
        {
          severity: failed ? 'error' : left.length === 0 ? 'info' : 'warning'
        }
      )
    );
    state.reset();
  }
  await context.books.commit(state, { jobs: left, events });
  context.enqueue(state.id);
}
