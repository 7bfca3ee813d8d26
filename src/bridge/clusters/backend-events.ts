/** The signals a backend sends by itself: reclaiming, withdrawn, ended, changed. */
import type { BackendEvent } from '../../backends/resource-manager.js';
import type { JobRecord } from '../store/records.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { now } from './context.js';
import { afterEnds } from './job-ends.js';
import { beginDrain } from './retirement.js';
import { settle } from './settlement.js';

/** Kept between the end of a drain and the moment the manager takes the job. */
const RECLAIM_MARGIN_MS = 2_000;

/** Apply one event to the job it is about. */
export async function applyBackendEvent(
  context: Context,
  state: ClusterState,
  job: JobRecord,
  event: Exclude<BackendEvent, { type: 'changed' }>
): Promise<void> {
  switch (event.type) {
    case 'ended': {
      const wasLive = job.phase !== 'ended';
      const events = settle(
        state,
        job,
        { ...event, endedAt: now() },
        context.books
      );
      if (events !== null) {
        await context.books.commit(state, { jobs: [job], events });
      }
      if (wasLive) {
        await afterEnds(context, state, [job]);
      }
      context.enqueue(state.id);
      return;
    }
    case 'reclaiming':
      return reclaim(context, state, job, event);
    case 'reclaiming-withdrawn':
      setReclaim(state, job, null);
      job.deadline = null;
      await context.books.commit(state, { jobs: [job] });
      return;
    default:
      event satisfies never;
  }
}

async function reclaim(
  context: Context,
  state: ClusterState,
  job: JobRecord,
  event: Extract<BackendEvent, { type: 'reclaiming' }>
): Promise<void> {
  const { books } = context;
  const leftMs = Date.parse(event.deadline) - Date.now();
  if (job.deadline !== event.deadline) {
    job.deadline = event.deadline;
    await books.commit(state, {
      jobs: [job],
      events: [
        books.event(
          state,
          'worker-reclaiming',
          `Will be taken back at ${event.deadline} (${event.reason})`,
          {
            severity: 'warning',
            job: job.id,
            data: {
              deadline: event.deadline,
              leftMs,
              reason: event.reason,
              hostAlso: event.hostAlso,
              certainty: event.certainty
            }
          }
        )
      ]
    });
  }
  setReclaim(state, job, event.deadline);
  if (
    event.certainty === 'firm' &&
    state.link !== null &&
    !state.draining.has(job.id)
  ) {
    await beginDrain(
      context,
      state,
      [job],
      Math.max(1_000, leftMs - RECLAIM_MARGIN_MS)
    );
  }
  context.enqueue(state.id);
}

function setReclaim(
  state: ClusterState,
  job: JobRecord,
  deadline: string | null
): void {
  for (const worker of state.planWorkers(job)) {
    const live = state.workers.get(worker.id);
    if (live !== undefined) {
      live.reclaimAt = deadline;
    }
  }
}
