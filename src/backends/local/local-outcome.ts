/** What a process's end means for its job. Pure. */
import type { JobOutcome } from '../../protocol/index.js';
import type { PoolCause } from '../pool/pool-messages.js';
import type { Exit } from '../resource-manager.js';

/** What is known of one process. */
export type ProcessFacts = {
  launch: string;
  state: 'running' | 'stopping' | 'ended';
  /** Of an ended one; null when nobody read its exit. */
  exit: Exit | null;
  cause: PoolCause | null;
  requested: boolean;
  started: string | null;
  ended: string | null;
  /** The machine or container it ran in has been restarted. */
  restarted: boolean;
};

export type ProcessEnd = {
  outcome: JobOutcome;
  exit: Exit | null;
  message: string | null;
};

const MIB = 1024 * 1024;

export function processEnd(facts: ProcessFacts): ProcessEnd {
  const { cause, exit } = facts;
  if (facts.restarted) {
    return {
      outcome: 'node-failure',
      exit: null,
      message: 'the machine or container was restarted'
    };
  }
  if (cause?.type === 'memory-limit') {
    return {
      outcome: 'out-of-memory',
      exit,
      message: `memory limit: ${Math.round(cause.rss / MIB)} MiB of ${Math.round(cause.limit / MIB)} MiB were in use (ended above 95 %)`
    };
  }
  if (cause?.type === 'kernel-out-of-memory') {
    return {
      outcome: 'out-of-memory',
      exit,
      message:
        'ended by the kernel: the machine or container had no memory left'
    };
  }
  if (facts.requested) {
    return { outcome: 'cancelled', exit, message: 'ended by Muster' };
  }
  if (exit === null) {
    return {
      outcome: 'lost',
      exit,
      message:
        'the process is gone; its worker pool was gone too, so its exit code is not known'
    };
  }
  if (exit.signal !== null) {
    return { outcome: 'failed', exit, message: `killed by ${exit.signal}` };
  }
  return exit.code === 0
    ? { outcome: 'completed', exit, message: null }
    : { outcome: 'failed', exit, message: `exit code ${exit.code ?? '?'}` };
}

const WORST: readonly JobOutcome[] = [
  'out-of-memory',
  'node-failure',
  'failed',
  'lost',
  'cancelled',
  'completed'
];

/** Of a job whose processes have all ended: the worst end, and whose it was. */
export function jobEnd(
  processes: readonly ProcessFacts[]
): ProcessEnd & { launch: string } {
  const ends = processes
    .map(facts => ({ ...processEnd(facts), launch: facts.launch }))
    .sort((a, b) => WORST.indexOf(a.outcome) - WORST.indexOf(b.outcome));
  const [worst] = ends;
  if (worst === undefined) {
    throw new RangeError('a job has at least one process');
  }
  return worst;
}
