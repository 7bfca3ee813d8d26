/**
 * How long the job around this process may still run (specs/launchers-and-allocations.md §4). Every
 * manager around it is asked and the least counts; "no limit" of one only means "none of its own".
 */
import type { Answer, Answers, Environment, ReadFile } from './allocation.js';
import {
  readEnds,
  timeQueries,
  type TimeQuery,
  type Told
} from './time-sources.js';

export type TimeLeft = {
  /** null: no deadline. 0 is said only where the time is over. */
  seconds: number | null | 'unknown';
  source: string;
  /** When this was true, ISO-8601. The deadline is asOf + seconds; ask again to follow it. */
  asOf: string;
  /** `likely`: prolog, grace and extensions still move it. `firm`: it is over. */
  certainty: 'likely' | 'firm' | 'none';
  /** Past its limit, and still allowed to run for a little. */
  inGrace: boolean;
};

/** What `timeLeft` needs of a CommandRunner. */
export type Asks = {
  run(command: {
    argv: readonly [string, ...string[]];
    timeoutMs: number;
  }): Promise<Answer>;
};

/** One command may take this long. */
const TIMEOUT_MS = 15_000;

/** The least of what the managers answer. Pure: the answers are given. */
export function timeLeftFrom(
  env: Environment,
  given: { readFile: ReadFile; answers: Answers; nowMs: number }
): TimeLeft {
  const asOf = new Date(given.nowMs).toISOString();
  const told = [
    ...timeQueries(env).map(query => ({
      source: query.argv.join(' '),
      told: read(query, given.answers[query.argv.join(' ')], given.nowMs)
    })),
    ...readEnds(env, given)
  ];
  const known = told.filter(one => typeof one.told.seconds === 'number');
  const least = known.reduce<(typeof known)[number] | null>(
    (best, one) =>
      best === null || Number(one.told.seconds) < Number(best.told.seconds)
        ? one
        : best,
    null
  );
  if (least !== null) {
    const seconds = Number(least.told.seconds);
    return {
      seconds,
      source: least.source,
      asOf,
      certainty: seconds === 0 ? 'firm' : 'likely',
      inGrace: least.told.inGrace === true
    };
  }
  const none = told.filter(one => one.told.seconds === null);
  const all = none.length > 0 && none.length === told.length;
  return {
    seconds: all ? null : 'unknown',
    source: (all ? none : told).map(one => one.source).join('; '),
    asOf,
    certainty: all ? 'likely' : 'none',
    inGrace: false
  };
}

/** Asks every manager around this process. Never throws for what a command does. */
export async function timeLeft(
  env: Environment,
  given: { readFile: ReadFile; runner: Asks; now: () => number }
): Promise<TimeLeft> {
  const answers: Record<string, Answer> = {};
  for (const { argv } of timeQueries(env)) {
    const [program = '', ...rest] = argv;
    answers[argv.join(' ')] = await given.runner.run({
      argv: [program, ...rest],
      timeoutMs: TIMEOUT_MS
    });
  }
  return timeLeftFrom(env, {
    readFile: given.readFile,
    answers,
    nowMs: given.now()
  });
}

/** Did the deadline move by more than clocks and rounding explain? Seconds, later is positive. */
export function deadlineChanged(
  before: TimeLeft,
  after: TimeLeft
): number | null {
  if (typeof before.seconds !== 'number' || typeof after.seconds !== 'number') {
    return null;
  }
  const deadline = (one: TimeLeft): number =>
    Date.parse(one.asOf) / 1000 + Number(one.seconds);
  const moved = deadline(after) - deadline(before);
  return Math.abs(moved) > 30 ? moved : null;
}

function read(
  query: TimeQuery,
  answer: Answer | undefined,
  nowMs: number
): Told {
  return answer === undefined
    ? { seconds: 'unknown' }
    : query.read(answer, nowMs);
}
