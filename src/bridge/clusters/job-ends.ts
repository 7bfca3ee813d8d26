/** What follows from the end of a job: its last words, and the end of the cluster if it was the scheduler's. */
import { workerId } from '../../protocol/index.js';
import type { JobRecord } from '../store/records.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { backendOf, beginStop } from './context.js';
import { isOver } from './lifecycle.js';
import { exitSentence } from './settlement.js';

const TAIL_LINES = 20;
const TAIL_BYTES = 8_192;

export async function afterEnds(
  context: Context,
  state: ClusterState,
  ended: readonly JobRecord[]
): Promise<void> {
  for (const job of ended) {
    await fetchTail(context, state, job);
  }
  const scheduler = ended.find(job => job.group === null && !job.endedByUs);
  if (
    scheduler === undefined ||
    state.record.phase === 'stopping' ||
    isOver(state.record.phase)
  ) {
    return;
  }
  // Exit 0 of a scheduler that was up: client.shutdown(), its own idle limit, or a polite signal.
  const clean = scheduler.exit?.code === 0 && state.record.scheduler !== null;
  await beginStop(context, state, {
    then: clean ? 'stopped' : 'failed',
    force: false,
    cause: clean
      ? {
          code: 'scheduler-died',
          message:
            'the scheduler was shut down from outside, or had been idle for its own limit'
        }
      : {
          code: 'scheduler-died',
          message: `the scheduler ended unexpectedly (${exitSentence(scheduler.exit)})${lastLine(scheduler.logTail)}`,
          hint: 'See the log of the scheduler.'
        }
  });
}

/** The last lines of a job whose end was learned from a listing, which does not carry them. */
async function fetchTail(
  context: Context,
  state: ClusterState,
  job: JobRecord
): Promise<void> {
  if (
    job.logTail !== null ||
    job.handle === null ||
    job.endedByUs ||
    job.outcome === 'completed'
  ) {
    return;
  }
  try {
    const chunk = await backendOf(context, state).logs({
      handle: job.handle,
      launch: job.group === null ? job.id : workerId(job.id, 0),
      folder: state.record.folder,
      stream: 'stderr',
      offset: -TAIL_BYTES,
      limit: TAIL_BYTES
    });
    job.logTail = chunk.text
      .trimEnd()
      .split('\n')
      .slice(-TAIL_LINES)
      .join('\n');
    await context.books.commit(state, { jobs: [job] });
  } catch (error) {
    context.log.debug({ err: error, job: job.id }, 'no log tail');
  }
}

/** The last line that says what went wrong; a log's ordinary last line would only mislead. */
function lastLine(tail: string | null): string {
  const line = (tail ?? '')
    .trim()
    .split('\n')
    .findLast(one =>
      /error|exception|cannot|refused|denied|killed|no such/i.test(one)
    )
    ?.trim();
  return line === undefined ? '' : `: ${line.slice(0, 300)}`;
}
