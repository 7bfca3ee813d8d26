/** Which process a log reference means: `scheduler`, a job id or a worker id. PURE. */
import type { JobId, WorkerId } from '../../protocol/index.js';
import { parseWorkerId, workerId } from '../../protocol/index.js';
import type { JobRecord } from '../store/records.js';
import type { ClusterState } from './cluster-state.js';

export function jobOfReference(
  state: ClusterState,
  what: string
): { job: JobRecord; launch: WorkerId | JobId } | null {
  if (what === 'scheduler') {
    const job = state.current.findLast(one => one.group === null);
    return job === undefined ? null : { job, launch: job.id };
  }
  const worker = parseWorkerId(what);
  const job = state.jobs.get((worker?.job ?? what) as JobId);
  if (job === undefined) {
    return null;
  }
  if (worker !== null) {
    return worker.index < job.workers
      ? { job, launch: workerId(job.id, worker.index) }
      : null;
  }
  return { job, launch: job.group === null ? job.id : workerId(job.id, 0) };
}
