/** The answer of a submit command (specs/batch-systems.md §1, §8). Pure. */
import { NO_PROFILE, type BatchProfile } from './profile.js';
import { linesOf, message as bounded } from './readers/lines.js';
import type { CommandOutput, SubmitResult } from './results.js';
import type { SystemFacts } from './specification.js';
import type { RejectReason } from './states.js';

/** The transport failed, whatever the system: the request may or may not have arrived. */
const LOST_ANSWER =
  /timed? ?out|time-?out|connection (reset|closed|lost|aborted)|broken pipe|end of file|transport endpoint|(receive|recv|read|communication|send) (failure|error)|no response|did not (answer|respond|return)|temporarily unavailable|try again/i;

export function parseSubmit(
  facts: SystemFacts,
  output: CommandOutput,
  profile: BatchProfile = NO_PROFILE
): SubmitResult {
  const { rc, stderr } = output;
  const stdout = uncoloured(output.stdout).replaceAll('\r', '');
  const streams = { rc, stdout: output.stdout, stderr };
  const found = findIds(facts, stdout, profile);
  const message = ownWords(stderr, stdout);
  const said = message === '' ? {} : { message };
  if (found !== null) {
    const refused = rc !== null && facts.submit.refusedDespiteId.includes(rc);
    if (refused) {
      return {
        code: 'REJECTED',
        ...classify(facts, bounded(`${stderr}\n${stdout}`)),
        ids: [],
        ...said,
        ...streams
      };
    }
    const sure = rc === 0 && output.timedOut !== true;
    return { code: sure ? 'OK' : 'UNCERTAIN', ...found, ...said, ...streams };
  }
  const all = bounded(`${stderr}\n${stdout}`);
  if (
    rc === 0 ||
    rc === null ||
    rc < 0 ||
    output.timedOut === true ||
    isStop(rc, all)
  ) {
    return { code: 'UNCERTAIN', ids: [], ...said, ...streams };
  }
  if (matches(facts.submit.retry, all)) {
    return { code: 'RETRY', retryAfter: 30, ids: [], ...said, ...streams };
  }
  if (matches(facts.submit.uncertain, all)) {
    return { code: 'UNCERTAIN', ids: [], ...said, ...streams };
  }
  const plain =
    facts.submit.plainArgv !== undefined &&
    !profile.plainSubmit &&
    refusesFlag(facts, all);
  const refusal = classify(facts, all);
  if (refusal.reason === 'other' && (message === '' || LOST_ANSWER.test(all))) {
    return { code: 'UNCERTAIN', ids: [], ...said, ...streams };
  }
  return {
    code: 'REJECTED',
    ...refusal,
    ...(plain ? { plainRepeat: true } : {}),
    ids: [],
    ...said,
    ...streams
  };
}

/** Wrappers of some sites colour what sbatch says, terminal or not. */
function uncoloured(text: string): string {
  // eslint-disable-next-line no-control-regex -- the escape character is what is looked for
  return text.replace(/\u001b\[[0-9;?]{0,32}[A-Za-z]/g, '');
}

/** Stopped from outside (128 + TERM or KILL, `timeout`): nothing is known. */
function isStop(rc: number, words: string): boolean {
  return rc === 124 || ((rc === 137 || rc === 143) && words.trim() === '');
}

type FoundIds = Pick<SubmitResult, 'ids'> &
  Partial<Pick<SubmitResult, 'id' | 'cluster' | 'tasks' | 'raw'>>;

/** From the last line upwards, each line as a whole; never "the first digits anywhere". */
function findIds(
  facts: SystemFacts,
  stdout: string,
  profile: BatchProfile
): FoundIds | null {
  const patterns = [...profile.idPatterns, ...facts.submit.ids].map(
    one => new RegExp(one, 'u')
  );
  const lines = linesOf(stdout).map(line => line.trim());
  const hits: { groups: Record<string, string | undefined>; raw: string }[] =
    [];
  for (const line of [...lines].reverse()) {
    const hit = patterns.map(one => one.exec(line)).find(one => one !== null);
    if (hit?.groups?.['id'] !== undefined) {
      hits.unshift({ groups: hit.groups, raw: line });
      if (!facts.submit.many) {
        break;
      }
    }
  }
  const first = hits[0];
  const id = first?.groups['id'];
  if (first === undefined || id === undefined) {
    return null;
  }
  const ids = hits.flatMap(hit => expand(hit.groups));
  const { cluster, tasks } = first.groups;
  return {
    id: ids[0] ?? id,
    ids: ids.length === 0 ? [id] : ids,
    ...(cluster === undefined ? {} : { cluster }),
    ...(tasks === undefined ? {} : { tasks }),
    raw: first.raw
  };
}

/** HTCondor's `123.0 - 123.4` and `5 job(s) submitted to cluster 8.` are ids of several jobs. */
function expand(groups: Record<string, string | undefined>): string[] {
  const { id = '', last, count } = groups;
  const from = /^(\d+)\.(\d+)$/.exec(id);
  const many = count !== undefined ? Number(count) : undefined;
  if (from !== null && last !== undefined) {
    return range(from[1] ?? '', Number(from[2]), Number(last));
  }
  return many === undefined || from !== null ? [id] : range(id, 0, many - 1);
}

function range(cluster: string, first: number, last: number): string[] {
  const size = Math.min(Math.max(0, last - first + 1), 1_000_000);
  return Array.from({ length: size }, (_, at) => `${cluster}.${first + at}`);
}

function matches(patterns: readonly string[], text: string): boolean {
  return patterns.some(one => new RegExp(one, 'imu').test(text));
}

/** A usage error that names the machine-readable flag, or one of a wrapper that names nothing. */
function refusesFlag(facts: SystemFacts, text: string): boolean {
  const flags = facts.submit.argv
    .flat()
    .filter(
      word =>
        /^--?[a-z]/.test(word) && !facts.submit.plainArgv?.flat().includes(word)
    );
  const named = flags.some(flag => text.includes(flag.replace(/^-+/, '')));
  return (
    named &&
    (matches(facts.submit.usage, text) ||
      /usage|unrecogni[sz]ed|unknown option|invalid option|illegal option/i.test(
        text
      ))
  );
}

/** Which kind of refusal, and which field of the JobSpec it points to. */
export function classify(
  facts: SystemFacts,
  text: string
): { reason: RejectReason; field?: string } {
  const rule = facts.submit.rejections.find(one =>
    new RegExp(one.pattern, 'imu').test(text)
  );
  if (rule !== undefined) {
    return {
      reason: rule.reason,
      ...(rule.field === undefined ? {} : { field: rule.field })
    };
  }
  return { reason: matches(facts.submit.usage, text) ? 'syntax' : 'other' };
}

/** The system's words without a usage text behind them. */
function ownWords(stderr: string, stdout: string): string {
  const text = stderr.trim() === '' ? stdout : stderr;
  const plain = text.replaceAll('\r', '');
  const words = plain.replace(/^[ \t]*usage:[\s\S]*$/imu, '').trim();
  return words === '' ? plain.trim() : words;
}
