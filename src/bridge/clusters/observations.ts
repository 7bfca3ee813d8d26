/** What a look at a backend means for the clusters on it. Absence proves nothing by itself (R5). */
import type { Observation } from '../../backends/resource-manager.js';
import { parseToken } from '../../protocol/index.js';
import type { ClusterEvent } from '../../protocol/index.js';
import type { JobRecord } from '../store/records.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { backendOf, liveJobs, now } from './context.js';
import { applyObservation, endOf, settle } from './settlement.js';

/** Ended by absence: this many good looks without it … */
const MISSING_LOOKS = 3;
/** … spanning at least this. */
const MISSING_SPAN_MS = 30_000;
/** A submit without an answer is searched for at least this long before it counts as never begun. */
const UNCERTAIN_MS = 60_000;
/** The same on this host, where a complete look sees every process. */
const UNCERTAIN_HERE_MS = 3_000;

/** Apply one observation to one cluster. Returns the jobs that ended by it. */
export async function applyToCluster(
  context: Context,
  state: ClusterState,
  observation: Observation
): Promise<JobRecord[]> {
  if (!observation.complete && nothingSeen(state, observation)) {
    // Not an answer about this cluster: nothing is concluded, not even that it was looked at.
    state.setReason(
      'backend-unreachable',
      { message: 'The last listing was not complete' },
      now()
    );
    context.books.changed(state);
    return [];
  }
  const changed = new Set<JobRecord>();
  const events: ClusterEvent[] = [];
  const ended: JobRecord[] = [];
  for (const job of liveJobs(state)) {
    if (job.handle === null) {
      lookForUncertain(context, state, job, observation, changed, events);
      continue;
    }
    const seen = observation.jobs.get(job.handle.nativeId);
    if (seen !== undefined) {
      state.missing.delete(job.id);
    }
    const made =
      seen === undefined
        ? missing(context, state, job, observation)
        : applyObservation(state, job, seen, context.books);
    if (made !== null) {
      changed.add(job);
      events.push(...made);
    }
    // `ended` is what applyObservation wrote, not what the loop saw before.
    if ((job.phase as string) === 'ended') {
      ended.push(job);
    }
  }
  const first = !state.observed;
  state.observed = true;
  state.setReason('not-observed', null, '');
  state.setReason('backend-unreachable', null, '');
  suspectReason(state);
  if (changed.size > 0 || events.length > 0) {
    await context.books.commit(state, { jobs: [...changed], events });
  } else if (first) {
    context.books.changed(state);
  }
  await buryLatecomers(context, state, observation);
  return ended;
}

function nothingSeen(state: ClusterState, observation: Observation): boolean {
  const handles = liveJobs(state).flatMap(job => job.handle ?? []);
  return (
    handles.length > 0 &&
    handles.every(handle => !observation.jobs.has(handle.nativeId))
  );
}

function missing(
  context: Context,
  state: ClusterState,
  job: JobRecord,
  observation: Observation
): ClusterEvent[] | null {
  if (!observation.complete) {
    return null;
  }
  const nowMs = Date.now();
  const entry = state.missing.get(job.id) ?? { looks: 0, since: nowMs };
  entry.looks += 1;
  state.missing.set(job.id, entry);
  if (entry.looks < MISSING_LOOKS || nowMs - entry.since < MISSING_SPAN_MS) {
    return null;
  }
  state.missing.delete(job.id);
  const message = `not seen in ${entry.looks} looks over ${Math.round((nowMs - entry.since) / 1000)} s`;
  return settle(state, job, endOf({ outcome: 'lost', message }), context.books);
}

function suspectReason(state: ClusterState): void {
  const suspects = state.missing.size;
  state.setReason(
    'job-suspect',
    suspects === 0
      ? null
      : {
          message: `${suspects} ${suspects === 1 ? 'job is' : 'jobs are'} missing in the last listing; looking again`
        },
    now()
  );
}

/** Submitted, answer unknown: adopt what carries the token, or learn that it never began. */
function lookForUncertain(
  context: Context,
  state: ClusterState,
  job: JobRecord,
  observation: Observation,
  changed: Set<JobRecord>,
  events: ClusterEvent[]
): void {
  if (job.phase !== 'uncertain') {
    return;
  }
  const match = observation.foreign.find(one => one.token === job.token);
  if (match !== undefined) {
    job.handle = match.handle;
    job.phase = match.phase === 'ended' ? 'running' : match.phase;
    job.submittedAt = job.submittedAt ?? now();
    job.startedAt = job.startedAt ?? now();
    changed.add(job);
    events.push(
      context.books.event(
        state,
        'adopted',
        'Found again: it was submitted although no answer came',
        {
          job: job.id,
          data: { nativeId: match.handle.nativeId }
        }
      )
    );
    context.observeSoon(job.backend);
    return;
  }
  const { hostBound } = backendOf(context, state).describe().capabilities;
  const age = Date.now() - Date.parse(job.createdAt);
  const patience = hostBound ? UNCERTAIN_HERE_MS : UNCERTAIN_MS;
  if (observation.complete && age > patience) {
    const ours = job.endedByUs;
    job.endedByUs = true;
    const made = settle(
      state,
      job,
      endOf({ outcome: 'cancelled', message: 'it never began' }),
      context.books
    );
    job.endedByUs = ours;
    changed.add(job);
    events.push(...(made ?? []));
  } else {
    context.observeSoon(job.backend);
  }
}

/** A job that was given up and turns up later is ended on sight, by its full identity. */
async function buryLatecomers(
  context: Context,
  state: ClusterState,
  observation: Observation
): Promise<void> {
  const late = observation.foreign.filter(one => {
    const parsed = parseToken(one.token);
    const job =
      parsed?.cluster === state.id ? state.jobs.get(parsed.job) : undefined;
    return job?.phase === 'ended' && one.phase !== 'ended';
  });
  if (late.length > 0) {
    await context.mayAct();
    context.log.warn(
      { cluster: state.id, tokens: late.map(one => one.token) },
      'ending late arrivals'
    );
    await backendOf(context, state).release(
      late.map(one => one.handle),
      { graceSeconds: 2 }
    );
  }
}
