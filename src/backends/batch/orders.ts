/** Answers to orders about jobs: cancel, hold, release, signal … (specs/batch-systems.md §2, §8). */
import { belongsTo, sameJob } from './identity.js';
import { linesOf, message } from './readers/lines.js';
import type { CancelResult, CommandOutput } from './results.js';
import type { SystemFacts } from './specification.js';
import type { CancelCode } from './states.js';

type Answer = { code: CancelCode; text: string };

/**
 * One code per id that was given. The exit code never decides about a single id: lines that name an
 * id do, lines that name none concern the ids no line names.
 */
export function parseCancel(
  facts: SystemFacts,
  output: CommandOutput,
  context: { ids: readonly string[]; silent?: 'OK' | 'UNCERTAIN' }
): CancelResult {
  const { ids } = context;
  const named = new Map<string, Answer>();
  let general = null as Answer | null;
  const text = message(
    `${output.stdout}\n${output.stderr}`.replaceAll('\r', '')
  );
  for (const line of linesOf(text)) {
    const answer = readLine(facts, line);
    if (answer === null) {
      continue;
    }
    if (answer.id === null) {
      general ??= { code: answer.code, text: line.trim() };
      continue;
    }
    for (const id of ids.filter(one => concerns(facts, one, answer.id ?? ''))) {
      // "Deleting … REGISTERED" and a later refusal of the same id: the worse word counts.
      const before = named.get(id);
      if (before === undefined || before.code === 'OK') {
        named.set(id, { code: answer.code, text: line.trim() });
      }
    }
  }
  const rest = others(facts, output, {
    general,
    named: named.size > 0,
    text,
    silent: context.silent ?? facts.cancel.silent
  });
  // A command that did not end may have said what it was going to do (scancel -v), not what it did.
  // "DONE." on stdout and "ssh: connect to host …" on stderr: the good word cannot be trusted.
  const doubt = stopped(output)
    ? rest
    : general?.code === 'UNCERTAIN'
      ? general
      : null;
  return new Map(
    ids.map(id => {
      const own = named.get(id);
      return [id, own?.code === 'OK' && doubt !== null ? doubt : (own ?? rest)];
    })
  );
}

function readLine(
  facts: SystemFacts,
  line: string
): { id: string | null; code: CancelCode } | null {
  for (const { pattern, code } of facts.cancel.answers) {
    const hit = new RegExp(pattern, 'iu').exec(line);
    if (hit !== null) {
      return { id: hit.groups?.['id'] ?? null, code };
    }
  }
  return null;
}

function concerns(facts: SystemFacts, asked: string, told: string): boolean {
  return (
    asked === told ||
    sameJob(facts, asked, told) ||
    belongsTo(facts, asked, told)
  );
}

function stopped({ rc, timedOut }: CommandOutput): boolean {
  return timedOut === true || rc === null || rc === 124 || rc < 0;
}

type Rest = {
  general: Answer | null;
  named: boolean;
  text: string;
  silent: 'OK' | 'UNCERTAIN';
};

/** What is right for the ids nobody spoke of. */
function others(facts: SystemFacts, output: CommandOutput, rest: Rest): Answer {
  const words = rest.text.trim();
  const unreachable = facts.answers.unreachable.some(one =>
    new RegExp(one, 'imu').test(rest.text)
  );
  if (stopped(output)) {
    return {
      code: 'UNCERTAIN',
      text: words === '' ? 'the command did not return' : words
    };
  }
  if (unreachable && output.rc !== 0) {
    return { code: 'UNCERTAIN', text: words };
  }
  if (rest.general !== null) {
    return rest.general;
  }
  if (output.rc === 0) {
    return { code: rest.silent, text: words };
  }
  return { code: rest.named ? facts.cancel.partial : 'ERROR', text: words };
}

/** Of hold, release, signal …: the same words as of a cancel, but silence is success. */
export function parseOrder(
  facts: SystemFacts,
  output: CommandOutput,
  context: { ids: readonly string[]; order: keyof SystemFacts['orders'] }
): CancelResult {
  return parseCancel(facts, output, {
    ids: context.ids,
    silent: facts.orders[context.order]?.silent ?? 'OK'
  });
}
