/**
 * What the backend says of a job, written into its record, and the events that follow: granted,
 * running, ended and why. Unknown and missing change nothing here.
 */
import type { Exit, JobObservation } from '../../backends/resource-manager.js';
import type { ClusterEvent, JobOutcome } from '../../protocol/index.js';
import { workerId } from '../../protocol/index.js';
import type { JobRecord } from '../store/records.js';
import type { Books } from './books.js';
import type { ClusterState } from './cluster-state.js';
import { isDeath, outcomeOf } from './lifecycle.js';

export type EndReport = {
  outcome: JobOutcome | null;
  exit: Exit | null;
  message: string | null;
  logTail: string | null;
  endedAt: string;
};

/** An end of which only this is known, now. */
export function endOf(known: Partial<EndReport> = {}): EndReport {
  return {
    outcome: null,
    exit: null,
    message: null,
    logTail: null,
    endedAt: new Date().toISOString(),
    ...known
  };
}

/** Write the facts into the record. Returns the events, or null when nothing changed. */
export function applyObservation(
  state: ClusterState,
  job: JobRecord,
  seen: JobObservation,
  books: Books
): ClusterEvent[] | null {
  if (job.phase === 'ended') {
    return null;
  }
  if (seen.phase === 'ended') {
    return settle(
      state,
      job,
      {
        outcome: seen.outcome ?? null,
        exit: seen.exit,
        message: seen.reason,
        logTail: null,
        endedAt: seen.endedAt ?? new Date().toISOString()
      },
      books
    );
  }
  const before = JSON.stringify(job);
  const events: ClusterEvent[] = [];
  if (job.phase !== seen.phase) {
    if (seen.phase === 'queued') {
      events.push(
        books.event(state, 'queued', `Queued: ${seen.reason ?? 'waiting'}`, {
          job: job.id
        })
      );
    } else if (
      seen.phase === 'running' &&
      job.group !== null &&
      job.connected.length === 0 &&
      job.phase !== 'starting'
    ) {
      events.push(
        books.event(
          state,
          'starting',
          `Started on ${seen.host ?? 'its host'}`,
          { job: job.id }
        )
      );
    }
  }
  job.handle = seen.handle;
  job.phase =
    job.endedByUs && seen.phase === 'running' ? 'stopping' : seen.phase;
  job.nativeState = seen.nativeState;
  job.reason = seen.reason;
  job.host = seen.host;
  job.startedAt = seen.startedAt ?? job.startedAt;
  job.deadline = seen.deadline;
  return JSON.stringify(job) === before ? null : events;
}

/** The job has ended: a positive fact. Idempotent; a better reason that comes later explains the loss. */
export function settle(
  state: ClusterState,
  job: JobRecord,
  report: EndReport,
  books: Books
): ClusterEvent[] | null {
  if (job.phase === 'ended') {
    return explain(state, job, report, books);
  }
  const everConnected = job.connected.length > 0;
  const given = state.givenUp.get(job.id);
  if (given !== undefined) {
    report = { ...report, ...given };
    state.givenUp.delete(job.id);
  }
  const outcome = outcomeOf({
    outcome: report.outcome,
    endedByUs: job.endedByUs,
    everConnected,
    scheduler: job.group === null
  });
  const reason = report.message ?? job.reason;
  job.phase = 'ended';
  job.nativeState = 'ended';
  job.outcome = outcome;
  job.exit = report.exit;
  job.reason = reason;
  job.endedAt = report.endedAt;
  job.logTail = report.logTail;
  state.draining.delete(job.id);
  state.pinned.delete(job.id);
  state.releasedAt.delete(job.id);
  state.missing.delete(job.id);
  const events: ClusterEvent[] = [];
  const death = isDeath(outcome, job.endedByUs);
  for (let index = 0; index < job.workers; index += 1) {
    const id = workerId(job.id, index);
    const live = state.workers.get(id);
    if (live !== undefined) {
      state.workers.delete(id);
      state.addresses.delete(live.address);
    }
    if (death) {
      events.push(
        books.event(
          state,
          'worker-died',
          deathSentence(outcome, report, everConnected),
          {
            severity: 'error',
            job: job.id,
            worker: id,
            data: {
              reason: deathReason(outcome),
              outcome,
              exit: report.exit,
              expected: false,
              retryable: outcome !== 'never-connected',
              neverConnected: !job.connected.includes(index),
              ...(report.message === null ? {} : { message: report.message }),
              logTail: report.logTail ?? ''
            }
          }
        )
      );
    }
  }
  if (!death && job.group !== null) {
    events.push(
      books.event(state, 'released', 'Ended as asked', {
        job: job.id,
        data: { outcome, exit: report.exit }
      })
    );
  }
  return events;
}

function explain(
  state: ClusterState,
  job: JobRecord,
  report: EndReport,
  books: Books
): ClusterEvent[] | null {
  const better =
    (job.outcome === 'lost' &&
      report.outcome !== null &&
      report.outcome !== 'lost') ||
    (job.exit === null && report.exit !== null) ||
    (job.logTail === null && report.logTail !== null && report.logTail !== '');
  if (!better) {
    return null;
  }
  const wasLost = job.outcome === 'lost' || job.exit === null;
  job.outcome =
    job.outcome === 'lost' ? (report.outcome ?? job.outcome) : job.outcome;
  job.exit = job.exit ?? report.exit;
  job.reason = report.message ?? job.reason;
  job.logTail = job.logTail ?? report.logTail;
  if (!wasLost || job.endedByUs || job.group === null) {
    return [];
  }
  return [
    books.event(
      state,
      'loss-explained',
      deathSentence(job.outcome ?? 'lost', report, job.connected.length > 0),
      {
        severity: 'warning',
        job: job.id,
        data: {
          reason: deathReason(job.outcome ?? 'lost'),
          exit: report.exit,
          logTail: report.logTail ?? ''
        }
      }
    )
  ];
}

/** Reasons of worker-died, names of specs/resource-manager.md §8. */
function deathReason(outcome: JobOutcome): string {
  switch (outcome) {
    case 'out-of-memory':
      return 'oom';
    case 'timeout':
      return 'timeout';
    case 'node-failure':
      return 'nodeFail';
    case 'preempted':
      return 'preempted';
    case 'cancelled':
      return 'cancelledByOther';
    case 'lost':
      return 'vanished';
    case 'never-connected':
      return 'neverConnected';
    case 'completed':
    case 'failed':
      return 'exitedByApp';
    default:
      return outcome satisfies never;
  }
}

export function exitSentence(exit: Exit | null): string {
  if (exit === null) {
    return 'its exit code is not known';
  }
  return exit.signal === null
    ? `exit code ${exit.code ?? 'unknown'}`
    : `killed by ${exit.signal}`;
}

function deathSentence(
  outcome: JobOutcome,
  report: EndReport,
  everConnected: boolean
): string {
  const exit = exitSentence(report.exit);
  const words =
    report.message === null || report.message === exit
      ? ''
      : `: ${report.message}`;
  switch (outcome) {
    case 'out-of-memory':
      return `A worker passed its memory limit and was ended${words}`;
    case 'never-connected':
      return `A worker ended before it connected (${exit})${words}`;
    case 'node-failure':
      return `A worker was lost with its host${words}`;
    case 'lost':
      return `A worker vanished${words}`;
    case 'timeout':
      return `A worker reached its time limit${words}`;
    case 'preempted':
      return `A worker was preempted${words}`;
    case 'cancelled':
      return `A worker was cancelled by somebody else${words}`;
    case 'completed':
    case 'failed':
      return `A worker died ${everConnected ? '' : 'before it connected '}(${exit})${words}`;
    default:
      return outcome satisfies never;
  }
}
