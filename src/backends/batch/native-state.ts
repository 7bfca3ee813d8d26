/** A system's own words for a state, and for why a job waits, as ours. Pure. */
import type { JobInfo } from './results.js';
import type { StatusField, StatusForm, SystemFacts } from './specification.js';
import { isFinal, type JobState } from './states.js';

export type Verdict = {
  state: JobState;
  container: boolean;
  final: boolean;
  pending?: { reason: NonNullable<JobInfo['reasonClass']>; stuck: boolean };
};

export function stateOf(
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

export function pendingOf(
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
