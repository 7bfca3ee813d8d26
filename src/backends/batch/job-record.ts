/** One record of a listing as the jobs it stands for: identity, state, times and hosts. Pure. */
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
import { elementId, expandCollective, readId } from './identity.js';
import { type TextRecord } from './readers/read.js';
import type { JobInfo } from './results.js';
import type { StatusField, StatusForm, SystemFacts } from './specification.js';
import { type JobState } from './states.js';
import { pendingOf, stateOf } from './native-state.js';

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

export type Made = { jobs: JobInfo[]; cut: boolean; ignored?: boolean };

export function jobsOf(
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
      part: own.component
        ? { masterId: own.seq }
        : { masterId: own.seq, arrayIndex: Number(own.index) }
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

/** null: beyond what a date can be, which no deadline is. */
function plus(from: string, seconds: number): string | null {
  const at = Date.parse(from) + Math.round(seconds) * 1000;
  return Math.abs(at) < 8.64e15
    ? new Date(at).toISOString().replace(/\.\d{3}Z$/, 'Z')
    : null;
}
