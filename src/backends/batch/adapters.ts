/** The few things about a job no table can say. Named by a specification's `adapters`. */
import type { TextRecord } from './readers/read.js';
import type { JobInfo } from './results.js';
import type { SystemFacts } from './specification.js';
import { signalName } from './states.js';
import { readNativeDuration } from './walltime.js';

export type Adapter = (job: JobInfo, record: TextRecord) => JobInfo;

/**
 * A job ended by TERM or KILL whose walltime was used up ran out of it; the same exit before is a
 * deletion. Compared with the job's own limit, never with a fraction of it.
 */
const walltimeUsedUp: Adapter = job =>
  job.state === 'CANCELLED' &&
  job.endedBy === undefined &&
  typeof job.limitSeconds === 'number' &&
  job.usedSeconds !== null &&
  job.usedSeconds >= job.limitSeconds
    ? { ...job, state: 'TIMEOUT' }
    : job;

/**
 * Grid Engine's accounting says "assumedly after job" for every kill. Where the request names a
 * time limit, hard or soft, and the run reached it, the limit was the reason.
 */
const sgeLimits: Adapter = (job, record) => {
  const limits = [
    ...(record['category'] ?? '').matchAll(/\b[hs]_rt=(\S+?)(?:,|\s|$)/g)
  ]
    .map(one => readNativeDuration('sge', one[1] ?? ''))
    .filter(one => typeof one === 'number');
  const killed =
    job.exit !== null &&
    ['SIGKILL', 'SIGUSR1', 'SIGXCPU'].includes(job.exit.signal ?? '');
  return job.state === 'FAILED' &&
    killed &&
    job.usedSeconds !== null &&
    limits.length > 0 &&
    job.usedSeconds >= Math.min(...limits)
    ? { ...job, state: 'TIMEOUT' }
    : job;
};

/**
 * HTCondor: the exit of a job counts only once it has completed (an evicted or held one carries
 * that of an earlier run), and a start of the program older than the slot's is of an earlier run.
 */
const condor: Adapter = (job, record) => {
  const code = Number(record['ExitCode'] ?? Number.NaN);
  const signal = Number(record['ExitSignal'] ?? Number.NaN);
  const exit =
    job.nativeState !== '4'
      ? null
      : record['ExitBySignal'] === 'true' && Number.isInteger(signal)
        ? { code: null, signal: signalName(signal) }
        : Number.isInteger(code)
          ? { code, signal: null }
          : null;
  const program = Number(record['JobCurrentStartExecutingDate'] ?? 0);
  const slot = Number(record['ShadowBday'] ?? 0);
  const stale =
    program < slot && record['AllowedExecuteDuration'] !== undefined;
  return { ...job, exit, ...(stale ? { endsAt: null } : {}) };
};

/**
 * Slurm's JSON keeps exit code and signal apart, each perhaps unset, under names that changed
 * (23.02 `signal_id`, later `id`).
 */
const slurmExit: Adapter = (job, record) => {
  const number = (...keys: string[]): number => {
    const text = keys.map(key => record[key]).find(one => one !== undefined);
    return text !== undefined && /^\d+$/.test(text) ? Number(text) : Number.NaN;
  };
  const signal = number(
    'exit_code.signal.id',
    'exit_code.signal.signal_id',
    'exit_code.signal.id.number'
  );
  const code = number('exit_code.return_code.number');
  if (!job.final || (Number.isNaN(signal) && Number.isNaN(code))) {
    return job;
  }
  return {
    ...job,
    exit:
      signal > 0 && signal < 65
        ? { code: null, signal: signalName(signal) }
        : Number.isNaN(code)
          ? null
          : { code, signal: null }
  };
};

const ADAPTERS: Readonly<Record<string, Adapter>> = {
  condor,
  'sge-limits': sgeLimits,
  'slurm-exit': slurmExit,
  'walltime-used-up': walltimeUsedUp
};

/** @throws RangeError where a specification names an adapter that does not exist. */
export function adapt(
  facts: SystemFacts,
  job: JobInfo,
  record: TextRecord
): JobInfo {
  return facts.adapters.reduce((made, name) => {
    const adapter = Object.hasOwn(ADAPTERS, name) ? ADAPTERS[name] : undefined;
    if (adapter === undefined) {
      throw new RangeError(`there is no adapter '${name}'`);
    }
    return adapter(made, record);
  }, job);
}
