/**
 * Answers of status and history commands as jobs. A job's state comes from its own row, never from
 * the exit code of the command, and never from absence (specs/batch-systems.md §6, §8, §10).
 */
import { adapt } from './adapters.js';
import {
  duration,
  exit,
  find,
  hosts,
  instant,
  wholeNumber,
  wordOrNull
} from './decode.js';
import {
  belongsTo,
  elementId,
  expandCollective,
  readId,
  sameJob
} from './identity.js';
import { read, type TextRecord } from './readers/read.js';
import type { CommandOutput, JobInfo, QueryResult } from './results.js';
import type { StatusField, StatusForm, SystemFacts } from './specification.js';
import { isFinal, type JobState, type QueryCode } from './states.js';

export type QueryContext = {
  /** The command line, where the caller has it: tells the layout of the answer. */
  argv?: readonly string[];
  /** Ids that were asked for. */
  asked?: readonly string[];
  /** ISO-8601; when the command was run. */
  asOf?: string;
  /** Of our own, to find it in names. */
  cluster?: string;
};

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
  let cut = false;
  let unread = 0;
  if (form !== null && records !== null) {
    for (const record of records) {
      const made = jobsOf(facts, form, record, asOf, context);
      unread += made.jobs.length === 0 && made.ignored !== true ? 1 : 0;
      cut ||= made.cut;
      const asked = context.asked ?? [];
      for (const job of made.jobs.filter(
        one => asked.length === 0 || asked.some(id => covers(facts, one, id))
      )) {
        keep(facts, jobs, job, context.asked ?? []);
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
    good && !cut
      ? (context.asked ?? []).filter(
          id => ![...jobs.values()].some(job => covers(facts, job, id))
        )
      : [];
  const code =
    verdict === 'OK' && (cut || missing.length > 0) ? 'PARTIAL' : verdict;
  return { code, asOf, jobs, missing, errors };
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
  return output.stderr.replaceAll('\r', '').trim();
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
  const all = `${said}\n${output.stdout}`;
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

type Made = { jobs: JobInfo[]; cut: boolean; ignored?: boolean };

function jobsOf(
  facts: SystemFacts,
  form: StatusForm,
  record: TextRecord,
  asOf: string,
  context: QueryContext
): Made {
  const get = (field: StatusField) => find(record, form.fields[field]);
  const texts = fieldTexts(form, record);
  for (const [field, pattern] of Object.entries(form.ignore ?? {})) {
    if (new RegExp(pattern, 'iu').test(texts[field as StatusField] ?? '')) {
      return { jobs: [], cut: false, ignored: true };
    }
  }
  const written = get('id')?.text.trim();
  const base =
    written === undefined
      ? null
      : assemble(facts, form, record, texts, written, asOf, context);
  if (base === null || written === undefined) {
    return { jobs: [], cut: false };
  }
  const named = identityOf(facts, written, get);
  if (named === null) {
    return { jobs: [], cut: false };
  }
  if (named.indices === null) {
    const job = { ...base, id: named.id, rawId: named.id, ...named.part };
    return { jobs: [adapt(facts, job, record)], cut: false };
  }
  const jobs = named.indices.map(index => ({
    ...base,
    id: elementId(facts, named.master, index),
    rawId: named.raw,
    masterId: named.master,
    arrayIndex: index
  }));
  return { jobs: jobs.map(job => adapt(facts, job, record)), cut: named.cut };
}

type Named =
  | {
      indices: null;
      id: string;
      part: { masterId?: string; arrayIndex?: number };
    }
  | { indices: number[]; master: string; raw: string; cut: boolean };

/** The id as the system writes it elsewhere, put together from the columns that hold its parts. */
function identityOf(
  facts: SystemFacts,
  written: string,
  get: (field: StatusField) => ReturnType<typeof find>
): Named | null {
  const collective = expandCollective(facts, written);
  if (collective !== null) {
    return { ...collective, raw: written };
  }
  const own = readId(facts, written);
  if (own?.index !== undefined && own.index !== null) {
    return {
      indices: null,
      id: written,
      part: { masterId: own.seq, arrayIndex: Number(own.index) }
    };
  }
  const master = wordOrNull(get('master'));
  const tasks = wordOrNull(get('tasks'))?.replace(/%\d+$/, '') ?? null;
  const index = wholeNumber(get('index'));
  const component = wholeNumber(get('component'));
  if (tasks !== null && /\d[-,]/.test(tasks)) {
    const expanded =
      expandCollective(facts, `${master ?? written}_[${tasks}]`) ??
      expandCollective(facts, `${master ?? written}.${tasks}`);
    if (expanded !== null) {
      return { ...expanded, raw: `${master ?? written}.${tasks}` };
    }
  }
  const element =
    index ?? (tasks !== null && /^\d+$/.test(tasks) ? Number(tasks) : null);
  const arrayMaster = master !== null && master !== '0' ? master : null;
  if (element !== null && (arrayMaster !== null || tasks !== null)) {
    const of = arrayMaster ?? written;
    return {
      indices: null,
      id: elementId(facts, of, element),
      part: { masterId: of, arrayIndex: element }
    };
  }
  if (component !== null && arrayMaster !== null) {
    return {
      indices: null,
      id: `${arrayMaster}+${component}`,
      part: { masterId: arrayMaster }
    };
  }
  return own === null ? null : { indices: null, id: written, part: {} };
}

function fieldTexts(
  form: StatusForm,
  record: TextRecord
): Partial<Record<StatusField, string>> {
  return Object.fromEntries(
    (Object.keys(form.fields) as StatusField[]).map(field => [
      field,
      find(record, form.fields[field])?.text.trim() ?? ''
    ])
  );
}

function assemble(
  facts: SystemFacts,
  form: StatusForm,
  record: TextRecord,
  texts: Partial<Record<StatusField, string>>,
  written: string,
  asOf: string,
  context: QueryContext
): JobInfo | null {
  const get = (field: StatusField) => find(record, form.fields[field]);
  // A layout without a state column still proves that the job is known.
  const native =
    texts.state === undefined || texts.state === ''
      ? (form.assumeState ?? '')
      : texts.state;
  const ended = exit(get('exit'));
  const verdict = stateOf(facts, form, native, texts);
  const limit = duration(get('limit'));
  const start = instant(get('start'));
  const { final } = verdict;
  const waiting = verdict.state === 'PENDING' || verdict.state === 'HELD';
  const reason = wordOrNull(get('reason')) ?? wordOrNull(get('comment'));
  const pending = waiting ? pendingOf(facts, reason, verdict) : null;
  const by =
    wordOrNull(get('endedBy')) ??
    (/\bby (\S+)/i.exec(native) ??
      /\bterminated by (\S+)/i.exec(reason ?? ''))?.[1];
  const cluster = wordOrNull(get('cluster')) ?? context.cluster;
  const resubmitted = wordOrNull(get('resubmitted'));
  return {
    id: written,
    rawId: written,
    ...(cluster === undefined ? {} : { cluster }),
    name: get('name')?.text.trim() ?? null,
    user: wordOrNull(get('user')),
    token: wordOrNull(get('token')),
    state: verdict.state,
    final,
    nativeState: native,
    nativeReason: reason,
    reasonClass: pending?.reason ?? null,
    stuck: pending?.stuck ?? false,
    container: verdict.container || readId(facts, written)?.whole === true,
    submitTime: instant(get('submit')),
    startTime: waiting ? null : start,
    endTime: final ? instant(get('end')) : null,
    estimatedStart: waiting ? (instant(get('estimated')) ?? start) : null,
    endsAt:
      waiting || final
        ? null
        : deadline(get, start, limit, asOf, verdict.state),
    limitSeconds: limit,
    usedSeconds: numberOf(duration(get('used'))),
    nodes: waiting ? [] : hosts(get('nodes')),
    exit: final || verdict.state === 'STOPPING' ? ended : null,
    incarnation: wholeNumber(get('restarts')),
    ...(resubmitted === null ? {} : { resubmittedAs: resubmitted }),
    ...(by === undefined || !final ? {} : { endedBy: by }),
    observation: 'fresh',
    asOf
  };
}

function numberOf(value: number | 'unlimited' | null): number | null {
  return typeof value === 'number' ? value : null;
}

/** A suspended job's clock stands still: no deadline is told for it. */
function deadline(
  get: (field: StatusField) => ReturnType<typeof find>,
  start: string | null,
  limit: number | 'unlimited' | null,
  asOf: string,
  state: JobState
): string | null {
  if (state === 'SUSPENDED') {
    return null;
  }
  // Slurm prints an end a year ahead for a job without a limit.
  const told = limit === 'unlimited' ? null : instant(get('deadline'));
  if (told !== null) {
    return told;
  }
  if (start !== null && typeof limit === 'number') {
    return plus(start, limit);
  }
  const left = duration(get('left'));
  if (typeof left === 'number' && left > 0) {
    return plus(asOf, left);
  }
  const used = duration(get('used'));
  return typeof used === 'number' && typeof limit === 'number'
    ? plus(asOf, limit - used)
    : null;
}

function plus(from: string, seconds: number): string {
  return new Date(Date.parse(from) + Math.round(seconds) * 1000)
    .toISOString()
    .replace(/\.\d{3}Z$/, 'Z');
}

type Verdict = {
  state: JobState;
  container: boolean;
  final: boolean;
  pending?: { reason: NonNullable<JobInfo['reasonClass']>; stuck: boolean };
};

function stateOf(
  facts: SystemFacts,
  form: StatusForm,
  native: string,
  texts: Partial<Record<StatusField, string>>
): Verdict {
  const code = cleanCode(native);
  const here = form.states === undefined ? undefined : own(form.states, code);
  if (here !== undefined) {
    return { state: here, container: false, final: isFinal(here) };
  }
  for (const rule of facts.rules) {
    const fits = Object.entries(rule.if).every(([field, pattern]) => {
      const text = field === 'state' ? code : texts[field as StatusField];
      // A field the layout does not have matches nothing, not even "empty".
      return text !== undefined && new RegExp(pattern, 'u').test(text);
    });
    if (fits) {
      return {
        state: rule.then,
        container: rule.container ?? false,
        final: rule.final ?? isFinal(rule.then),
        ...(rule.pending === undefined
          ? {}
          : { pending: { reason: rule.pending, stuck: rule.stuck ?? false } })
      };
    }
  }
  const state = lookUp(facts, code, native);
  return { state, container: false, final: isFinal(state) };
}

/** `CANCELLED by 1001` → `CANCELLED`, `OUT_OF_ME+` → `OUT_OF_ME`. */
function cleanCode(native: string): string {
  return native
    .trim()
    .replace(/ by \S+.*$/i, '')
    .replace(/\+$/, '');
}

function lookUp(facts: SystemFacts, code: string, native: string): JobState {
  const exact = own(facts.states, code);
  if (exact !== undefined) {
    return exact;
  }
  const upper = code.toUpperCase();
  const entries = Object.entries(facts.states);
  const same = entries.filter(([known]) => known.toUpperCase() === upper);
  if (same.length > 0) {
    return agreed(same);
  }
  if (native.trim().endsWith('+') && code.length >= 4) {
    return agreed(
      entries.filter(([known]) => known.toUpperCase().startsWith(upper))
    );
  }
  return 'UNKNOWN';
}

function own(
  states: Readonly<Record<string, JobState>>,
  code: string
): JobState | undefined {
  return Object.hasOwn(states, code) ? states[code] : undefined;
}

function agreed(entries: readonly [string, JobState][]): JobState {
  const states = new Set(entries.map(([, state]) => state));
  const [only] = states;
  return states.size === 1 && only !== undefined ? only : 'UNKNOWN';
}

function pendingOf(
  facts: SystemFacts,
  reason: string | null,
  verdict: Verdict
): { reason: NonNullable<JobInfo['reasonClass']>; stuck: boolean } | null {
  const known =
    reason === null
      ? undefined
      : facts.pending.find(one => new RegExp(one.pattern, 'iu').test(reason));
  // A held job's text may tell what it asks for rather than what holds it.
  const idle = verdict.state === 'HELD' && verdict.pending === undefined;
  if (known !== undefined && !(idle && known.reason === 'resources')) {
    return known;
  }
  return (
    verdict.pending ??
    (verdict.state === 'HELD'
      ? { reason: 'held', stuck: true }
      : reason === null
        ? null
        : { reason: 'other', stuck: false })
  );
}
