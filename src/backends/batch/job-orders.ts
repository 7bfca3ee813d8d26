/** Telling a batch system what to do with jobs it has. One answer per id, whatever happens. */
import type { CommandRunner } from '../commands/command-runner.js';
import { ask, QUERY_ENVIRONMENT, type Answer } from './conversation.js';
import { parseCancel } from './orders.js';
import { NO_PROFILE, type BatchProfile } from './profile.js';
import type { CancelResult } from './results.js';
import type { Order, Scheduling } from './scheduling.js';
import type { CancelCode } from './states.js';

export type CancelStep = 'soft' | 'normal' | 'force';

/**
 * Cancels exactly these, each once. Nothing to cancel: no command is run. OK means that the order
 * was taken; that a job has ended is for a query to tell.
 * @throws SpecError where a word is not an id of this system, ToolMissing, PermissionDenied.
 */
export async function cancelJobs(
  system: Scheduling,
  ids: readonly string[],
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE,
  how: { step?: CancelStep } = {}
): Promise<CancelResult> {
  return carryOut(
    ids,
    part => system.cancelArgv(part, how, profile),
    (answer, part) => cancelled(system, answer, part),
    { runner, profile }
  );
}

export async function cancelJob(
  system: Scheduling,
  id: string,
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE,
  how: { step?: CancelStep } = {}
): Promise<CancelResult> {
  return cancelJobs(system, [id], runner, profile, how);
}

/** Hold, release, suspend, resume, requeue, signal, extend. UNSUPPORTED ones are ERROR per id. */
export async function orderJobs(
  system: Scheduling,
  order: Order,
  ids: readonly string[],
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE,
  how: { signal?: string; walltimeSeconds?: number } = {}
): Promise<CancelResult> {
  if (system.facts.orders[order] === undefined) {
    const text = `${system.facts.title} has no command to ${order} a job`;
    return new Map(ids.map(id => [id, { code: 'ERROR', text }]));
  }
  return carryOut(
    ids,
    part => system.orderArgv(order, part, how, profile) ?? [],
    (answer, part) =>
      answer.neverRan === null
        ? system.parseOrder(answer.output, { ids: part, order })
        : neverStarted(answer.neverRan, part),
    { runner, profile }
  );
}

async function carryOut(
  ids: readonly string[],
  commands: (ids: readonly string[]) => string[][],
  read: (answer: Answer, ids: readonly string[]) => CancelResult,
  { runner, profile }: { runner: CommandRunner; profile: BatchProfile }
): Promise<CancelResult> {
  const result = new Map<string, { code: CancelCode; text: string }>();
  const unique = [...new Set(ids)];
  if (unique.length === 0) {
    return result;
  }
  for (const argv of commands(unique)) {
    const words = argv.flatMap(word => [word, ...word.split(',')]);
    const part = unique.filter(id => words.includes(id));
    const answer = await ask(runner, argv, profile, {
      environment: QUERY_ENVIRONMENT
    });
    for (const [id, one] of read(answer, part)) {
      result.set(id, one);
    }
  }
  return new Map(
    unique.map(id => [
      id,
      result.get(id) ?? { code: 'UNCERTAIN', text: 'no answer' }
    ])
  );
}

function cancelled(
  system: Scheduling,
  answer: Answer,
  ids: readonly string[]
): CancelResult {
  if (answer.neverRan !== null) {
    return neverStarted(answer.neverRan, ids);
  }
  return parseCancel(system.facts, answer.output, {
    ids,
    // What was dropped may have held a refusal: silence about an id proves nothing.
    ...(answer.cut ? { silent: 'UNCERTAIN' as const } : {})
  });
}

function neverStarted(errno: string, ids: readonly string[]): CancelResult {
  return new Map(
    ids.map(id => [
      id,
      { code: 'ERROR', text: `the command could not be started (${errno})` }
    ])
  );
}
