/** What every part that acts on a cluster has at hand; made once by the cluster manager. */
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { ResourceManager } from '../../backends/resource-manager.js';
import type { ClusterId, HealthCode, JobId } from '../../protocol/index.js';
import { MusterError, idFromBytes } from '../../protocol/index.js';
import type { JobRecord } from '../store/records.js';
import type { Books } from './books.js';
import type { ClusterState } from './cluster-state.js';
import type { Collaborators } from './ports.js';

export type Context = Collaborators & {
  books: Books;
  log: Logger;
  /** Look at this cluster again, now or later. */
  enqueue: (id: ClusterId, delayMs?: number) => void;
  /** Look at this backend soon. */
  observeSoon: (backend: string) => void;
  /** Throws when this bridge must not act any more (lease, epoch). */
  mayAct: () => Promise<void>;
  /** The bridge is ending: background loops stop. */
  closed: () => boolean;
};

export function newId(): string {
  return idFromBytes(randomBytes(16));
}

export function now(): string {
  return new Date().toISOString();
}

export function backendOf(
  context: Context,
  state: ClusterState
): ResourceManager {
  const backend = context.backends.get(state.record.spec.backend);
  if (backend === undefined) {
    throw new MusterError({
      code: 'backend-unavailable',
      message: `the backend '${state.record.spec.backend}' of ${state.record.spec.name} is not part of this installation`
    });
  }
  return backend;
}

/** Live jobs of this life. */
export function liveJobs(state: ClusterState): JobRecord[] {
  return state.current.filter(job => job.phase !== 'ended');
}

export function jobsById(
  state: ClusterState,
  ids: readonly JobId[]
): JobRecord[] {
  return ids.flatMap(id => state.jobs.get(id) ?? []);
}

/**
 * Write down a change of what is desired that memory already shows. No pass acts on it before it is
 * durable (R2); what the store refuses is taken back, as if it had never been asked (R11).
 */
export async function commitDesire(
  context: Context,
  state: ClusterState,
  takeBack: () => void,
  change: Parameters<Books['commit']>[1]
): Promise<void> {
  state.unwritten += 1;
  try {
    await context.books.commit(state, change);
  } catch (error) {
    takeBack();
    throw error;
  } finally {
    state.unwritten -= 1;
    context.enqueue(state.id);
  }
}

/**
 * The cluster begins to end: every live job is to go. Nothing is started after this is written.
 * @param cause for the row of the ended cluster; null: the user asked.
 */
export async function beginStop(
  context: Context,
  state: ClusterState,
  how: {
    then: 'stopped' | 'failed' | 'restart';
    force: boolean;
    cause: { code: HealthCode; message: string; hint?: string } | null;
  }
): Promise<void> {
  const { record } = state;
  const { phase, then, force, cause, reasons } = record;
  record.phase = 'stopping';
  record.then = how.then;
  record.force = record.force || how.force;
  record.cause = how.cause?.message ?? null;
  if (how.then === 'failed' && how.cause !== null) {
    record.reasons = [{ since: now(), ...how.cause }];
  }
  const jobs = liveJobs(state);
  const told = jobs.filter(job => !job.endedByUs);
  for (const job of jobs) {
    job.endedByUs = true;
  }
  const takeBack = (): void => {
    Object.assign(state.record, { phase, then, force, cause, reasons });
    for (const job of told) {
      job.endedByUs = false;
    }
  };
  const message =
    how.cause === null
      ? 'Stopping, as asked'
      : `Stopping: ${how.cause.message}`;
  await commitDesire(context, state, takeBack, {
    jobs,
    events: [
      context.books.event(state, 'stopping', message, {
        severity: how.then === 'failed' ? 'error' : 'info',
        data: { then: how.then, force: how.force }
      })
    ]
  });
}
