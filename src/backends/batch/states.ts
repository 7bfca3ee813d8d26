/**
 * States, result codes and reason classes of batch jobs: one shared vocabulary with stable string
 * values (specs/batch-systems.md §6 and §8). The values are stored and sent; never rename one.
 */

/** Where a batch job is. A requeue may lead from RUNNING back to PENDING. */
export const JOB_STATES = [
  'SUBMITTING',
  'PENDING',
  'HELD',
  'STARTING',
  'RUNNING',
  'SUSPENDED',
  'STOPPING',
  'COMPLETED',
  'FAILED',
  'TIMEOUT',
  'OUT_OF_MEMORY',
  'NODE_FAIL',
  'PREEMPTED',
  'CANCELLED',
  'LOST',
  'UNKNOWN'
] as const;

/**
 * `UNKNOWN`: the answer names the job but not a state we can read (a code we do not know, a host
 * that does not answer): keep the last state, count the job as live.
 */
export type JobState = (typeof JOB_STATES)[number];

const FINAL: ReadonlySet<JobState> = new Set([
  'COMPLETED',
  'FAILED',
  'TIMEOUT',
  'OUT_OF_MEMORY',
  'NODE_FAIL',
  'PREEMPTED',
  'CANCELLED',
  'LOST'
]);

/** Is nothing more to come of a job in this state? */
export function isFinal(state: JobState): boolean {
  return FINAL.has(state);
}

export const SUBMIT_CODES = ['OK', 'REJECTED', 'RETRY', 'UNCERTAIN'] as const;
/**
 * `RETRY`: nothing was stored, the same submit may be sent again later. `UNCERTAIN`: it may or may
 * not have been stored; look it up by token before anything else.
 */
export type SubmitCode = (typeof SUBMIT_CODES)[number];

export const QUERY_CODES = [
  'OK',
  'EMPTY',
  'PARTIAL',
  'UNREACHABLE',
  'UNSUPPORTED'
] as const;
/**
 * `EMPTY`: a good answer without a row. `PARTIAL`: rows, and besides them something that failed or
 * is missing. `UNREACHABLE`: no answer, every state stays. `UNSUPPORTED`: this system or site
 * cannot answer this question (no accounting, no history, unknown option): do not ask it again.
 */
export type QueryCode = (typeof QUERY_CODES)[number];

export const CANCEL_CODES = [
  'OK',
  'GONE',
  'DENIED',
  'UNCERTAIN',
  'ERROR'
] as const;
/** Per id, of cancel and of every other order to a job. `GONE` counts as success of a cancel. */
export type CancelCode = (typeof CANCEL_CODES)[number];

export const REJECT_REASONS = [
  'account',
  'limit',
  'partition',
  'resources',
  'quota',
  'syntax',
  'permission',
  'environment',
  'other'
] as const;
/** Why a submit was refused; `quota` and `limit` make a pool wait, the others stop it. */
export type RejectReason = (typeof REJECT_REASONS)[number];

export const PENDING_REASONS = [
  'resources',
  'priority',
  'dependency',
  'held',
  'begin',
  'limit',
  'partition',
  'time',
  'node',
  'license',
  'reservation',
  'requeued',
  'error',
  'other'
] as const;
/** Why a job waits, in our words. */
export type PendingReason = (typeof PENDING_REASONS)[number];

/** Signal number → name, as Linux on x86 and ARM numbers them. */
export const SIGNALS: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  5: 'SIGTRAP',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  10: 'SIGUSR1',
  11: 'SIGSEGV',
  12: 'SIGUSR2',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
  17: 'SIGCHLD',
  18: 'SIGCONT',
  19: 'SIGSTOP',
  20: 'SIGTSTP',
  23: 'SIGURG',
  24: 'SIGXCPU',
  25: 'SIGXFSZ'
};

/** `9` → `SIGKILL`; a number without a name → `SIG53`. */
export function signalName(number: number): string {
  return SIGNALS[number] ?? `SIG${number}`;
}

/** `USR1`, `SIGUSR1` → 10; null where the name is not one. */
export function signalNumber(name: string): number | null {
  const full = name.startsWith('SIG') ? name : `SIG${name}`;
  const found = Object.entries(SIGNALS).find(([, known]) => known === full);
  return found === undefined ? null : Number(found[0]);
}

/** Makes a `switch` over a closed set exhaustive at compile time. */
export function unreachable(value: never): never {
  throw new RangeError(`not one of the closed set: ${String(value)}`);
}
