/** From a scale, said in workers, cores or memory, to whole workers and whole jobs. Pure. */
import type { Amount, Scale, WorkerGroup, WorkerShape } from './spec.js';
import { MAXIMUM_WORKERS } from './spec.js';

export type WorkerRange = { minimum: number; maximum: number };

/**
 * Workers of this shape that make up the amount. Fixed sizes and minima round up, maxima down: a
 * maximum is never exceeded.
 * @returns null where the amount is in memory and the shape has none (it cannot be converted).
 */
export function workersFor(
  amount: Amount,
  shape: WorkerShape,
  round: 'up' | 'down'
): number | null {
  const exact =
    'workers' in amount
      ? amount.workers
      : 'cores' in amount
        ? amount.cores / shape.cores
        : shape.memory === null
          ? null
          : amount.memory / shape.memory;
  return exact === null
    ? null
    : round === 'up'
      ? Math.ceil(exact)
      : Math.floor(exact);
}

/** n workers as whole jobs: the unit of scaling is the job. */
export function jobsFor(
  workers: number,
  workersPerJob: number,
  round: 'up' | 'down'
): number {
  return round === 'up'
    ? Math.ceil(workers / workersPerJob)
    : Math.floor(workers / workersPerJob);
}

/** The range of whole workers (a multiple of workersPerJob) a group may have. Fixed: both equal. */
export function rangeOf(
  group: Pick<WorkerGroup, 'worker' | 'workersPerJob' | 'scale'>
): WorkerRange {
  const { scale, worker, workersPerJob } = group;
  if (scale.type === 'fixed') {
    const jobs = jobsFor(
      workersFor(scale, worker, 'up') ?? 0,
      workersPerJob,
      'up'
    );
    return { minimum: jobs * workersPerJob, maximum: jobs * workersPerJob };
  }
  const maximum =
    jobsFor(
      workersFor(scale.maximum, worker, 'down') ?? 0,
      workersPerJob,
      'down'
    ) * workersPerJob;
  const minimum =
    jobsFor(workersFor(scale.minimum, worker, 'up') ?? 0, workersPerJob, 'up') *
    workersPerJob;
  return { minimum, maximum };
}

export type ScaleProblem = { path: string; message: string };

/** What cannot be true of this scale for workers of this shape, by field under `scale`. */
export function scaleProblem(
  group: Pick<WorkerGroup, 'worker' | 'workersPerJob' | 'scale'>
): ScaleProblem | null {
  const { scale, worker } = group;
  const amounts: [string, Amount][] =
    scale.type === 'fixed'
      ? [['', scale]]
      : [
          ['minimum', scale.minimum],
          ['maximum', scale.maximum]
        ];
  for (const [path, amount] of amounts) {
    if ('memory' in amount && worker.memory === null) {
      const at = path === '' ? 'memory' : `${path}.memory`;
      return {
        path: at,
        message:
          'workers of this group have no memory size; say workers or cores'
      };
    }
  }
  const range = rangeOf(group);
  if (range.minimum > range.maximum) {
    return {
      path: 'minimum',
      message: `the minimum is ${range.minimum} workers, above the maximum of ${range.maximum}`
    };
  }
  if (range.maximum > MAXIMUM_WORKERS) {
    return {
      path: scale.type === 'fixed' ? '' : 'maximum',
      message: `comes to ${range.maximum} workers; at most ${MAXIMUM_WORKERS} a group`
    };
  }
  return null;
}

/** `{type:'adaptive', minimum:{workers:0}, maximum:{memory:1e12}}` → `0…1 TB`-like text parts. */
export function describeScale(
  scale: Scale,
  bytes: (n: number) => string
): string {
  const text = (amount: Amount): string =>
    'workers' in amount
      ? `${amount.workers}`
      : 'cores' in amount
        ? `${amount.cores} cores`
        : bytes(amount.memory);
  return scale.type === 'fixed'
    ? text(scale)
    : `${text(scale.minimum)}…${text(scale.maximum)}`;
}
