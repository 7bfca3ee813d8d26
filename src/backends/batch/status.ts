/**
 * Answers of status and history commands as jobs. A job's state comes from its own row, never from
 * the exit code of the command, and never from absence (specs/batch-systems.md §6, §8, §10).
 */
import { belongsTo, readId, sameJob } from './identity.js';
import { message } from './readers/lines.js';
import { read } from './readers/read.js';
import type { CommandOutput, JobInfo, QueryResult } from './results.js';
import type { StatusForm, SystemFacts } from './specification.js';
import { type QueryCode } from './states.js';
import { jobsOf, type QueryContext } from './job-record.js';

export type { QueryContext } from './job-record.js';

export function parseStatus(
  facts: SystemFacts,
  output: CommandOutput,
  context: QueryContext = {}
): QueryResult {
  return parseQuery(facts, facts.status.forms, output, context);
}

export function parseHistory(
  facts: SystemFacts,
  output: CommandOutput,
  context: QueryContext = {}
): QueryResult {
  if (facts.history === undefined) {
    return {
      code: 'UNSUPPORTED',
      asOf: context.asOf ?? new Date().toISOString(),
      jobs: new Map(),
      missing: [],
      errors: [`${facts.title} keeps no history that can be asked`]
    };
  }
  return parseQuery(facts, facts.history.forms, output, context);
}

function parseQuery(
  facts: SystemFacts,
  forms: readonly StatusForm[],
  output: CommandOutput,
  context: QueryContext
): QueryResult {
  const asOf = context.asOf ?? new Date().toISOString();
  const text = output.stdout.replaceAll('\r\n', '\n');
  const said = words(output);
  const errors: string[] = said === '' ? [] : [said];
  const jobs = new Map<string, JobInfo>();
  const form = chooseForm(forms, text, context.argv);
  const records = form === null ? null : read(form.reader, text, context.argv);
  const asked = askedIds(facts, context.asked ?? []);
  const found = new Set<string>();
  let cut = false;
  let unread = 0;
  if (form !== null && records !== null) {
    for (const record of records) {
      const made = jobsOf(facts, form, record, asOf, context);
      unread += made.jobs.length === 0 && made.ignored !== true ? 1 : 0;
      cut ||= made.cut;
      for (const job of made.jobs) {
        const near = asked.near(job);
        const meant = near.filter(id => covers(facts, job, id));
        if (asked.none || meant.length > 0) {
          keep(facts, jobs, job, near);
          meant.forEach(id => found.add(id));
        }
      }
    }
  }
  const verdict = judge(facts, output, said, {
    rows: jobs.size,
    understood: (records !== null && unread === 0) || text.trim() === ''
  });
  if ((records === null || unread > 0) && text.trim() !== '') {
    errors.push(`not understood: ${text.trim().slice(0, 200)}`);
  }
  if (cut) {
    errors.push('the listing was cut; what is not in it may still exist');
  }
  const good = verdict === 'OK' || verdict === 'EMPTY' || verdict === 'PARTIAL';
  const missing =
    good && !cut ? (context.asked ?? []).filter(id => !found.has(id)) : [];
  const code =
    verdict === 'OK' && (cut || missing.length > 0) ? 'PARTIAL' : verdict;
  return { code, asOf, jobs, missing, errors };
}

/**
 * The ids that were asked for, by their sequence: listings have ten thousands of rows, and comparing
 * each with each would take minutes.
 */
function askedIds(
  facts: SystemFacts,
  ids: readonly string[]
): { none: boolean; near: (job: JobInfo) => string[] } {
  const keyOf = (id: string): string => readId(facts, id)?.seq ?? id;
  const byKey = new Map<string, string[]>();
  for (const id of ids) {
    const key = keyOf(id);
    const same = byKey.get(key) ?? [];
    same.push(id);
    byKey.set(key, same);
  }
  return {
    none: ids.length === 0,
    near: job => {
      const keys = new Set(
        [job.id, job.rawId, job.masterId ?? job.id].map(keyOf)
      );
      return ids.length === 0
        ? []
        : [...keys].flatMap(key => byKey.get(key) ?? []);
    }
  };
}

function covers(facts: SystemFacts, job: JobInfo, id: string): boolean {
  return (
    job.id === id ||
    sameJob(facts, job.rawId, id) ||
    belongsTo(facts, job.rawId, id) ||
    (job.masterId !== undefined && sameJob(facts, job.masterId, id))
  );
}

/** An element's own row outranks a collective one, a job's own id what was asked for. */
function keep(
  facts: SystemFacts,
  jobs: Map<string, JobInfo>,
  job: JobInfo,
  asked: readonly string[]
): void {
  const id = asked.find(one => sameJob(facts, one, job.rawId)) ?? job.id;
  const before = jobs.get(id);
  const own = job.rawId === job.id || before === undefined;
  if (before === undefined || own) {
    jobs.set(id, { ...job, id });
  }
}

/** Both streams' words, without what belongs to a good answer. */
function words(output: CommandOutput): string {
  return message(output.stderr.replaceAll('\r', '')).trim();
}

function matchesAny(patterns: readonly string[], text: string): boolean {
  return patterns.some(one => new RegExp(one, 'imu').test(text));
}

function judge(
  facts: SystemFacts,
  output: CommandOutput,
  said: string,
  seen: { rows: number; understood: boolean }
): QueryCode {
  const { answers } = facts;
  const all = message(`${said}\n${output.stdout}`);
  const failed = output.rc !== 0 || output.timedOut === true;
  if (output.timedOut === true) {
    return seen.rows > 0 ? 'PARTIAL' : 'UNREACHABLE';
  }
  if (seen.rows > 0) {
    const noise = matchesAny(answers.noise, said);
    return failed || (said !== '' && !noise) || !seen.understood
      ? 'PARTIAL'
      : 'OK';
  }
  if (
    matchesAny(answers.unreachable, said) ||
    (failed && matchesAny(answers.unreachable, all))
  ) {
    return 'UNREACHABLE';
  }
  if (failed || said !== '') {
    if (matchesAny(answers.unsupported, all)) {
      return 'UNSUPPORTED';
    }
    if (matchesAny(answers.missing, all) || matchesAny(answers.empty, all)) {
      return 'EMPTY';
    }
  }
  if (failed || !seen.understood) {
    return 'UNREACHABLE';
  }
  if (
    facts.status.stderrIsFailure &&
    said !== '' &&
    !matchesAny(answers.noise, said)
  ) {
    return 'UNREACHABLE';
  }
  return 'EMPTY';
}

/** By the command line where it is known, else by the look of the text. */
export function chooseForm<
  T extends { argv?: string[] | undefined; text?: string | undefined }
>(
  forms: readonly T[],
  text: string,
  argv: readonly string[] | undefined
): T | null {
  const looks = (form: T): boolean =>
    form.text === undefined || new RegExp(form.text, 'mu').test(text);
  if (argv !== undefined) {
    const words = argv.flatMap(word => [word, word.replace(/=.*$/s, '')]);
    const told = forms.find(
      form =>
        form.argv !== undefined &&
        form.argv.every(word => words.includes(word)) &&
        looks(form)
    );
    if (told !== undefined) {
      return told;
    }
  }
  return (
    forms.find(form => form.text !== undefined && looks(form)) ??
    forms.find(form => form.text === undefined && form.argv === undefined) ??
    null
  );
}
