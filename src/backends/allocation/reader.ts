/** What the readers of the single systems are given and give back. */
import {
  Inconsistent,
  type AllocatedNode,
  type Allocation,
  type AllocationKind,
  type Answer,
  type Answers,
  type Environment,
  type ReadFile
} from './allocation.js';
import type { HostSlots } from './counts.js';

/** A file of `Name = value` lines. */
export type ReadAd = ReadonlyMap<string, string>;

export const MIB = 1024 * 1024;

export type Inside = {
  env: Environment;
  readFile: ReadFile;
  answers: Answers;
};

/** `ask`: only these commands know; their answers are looked up by `answered`. */
export type Reading = Allocation | { ask: string[][]; why: string };

export type SystemReader = {
  kind: AllocationKind;
  /** The job's id when its variable is there and well-formed. */
  jobId(env: Environment): string | null;
  /** @throws Inconsistent */
  read(id: string, inside: Inside): Reading;
};

export function answered(
  inside: Inside,
  argv: readonly string[]
): Answer | undefined {
  return inside.answers[argv.join(' ')];
}

/** A variable that is set and not empty. */
export function set(env: Environment, name: string): string | null {
  const value = env[name];
  return value === undefined || value.trim() === '' ? null : value.trim();
}

/** A variable that must be a whole number where it is set. @throws Inconsistent */
export function whole(env: Environment, name: string): number | null {
  const text = set(env, name);
  if (text === null) {
    return null;
  }
  if (!/^\d{1,15}$/u.test(text)) {
    throw new Inconsistent(`${name}='${text.slice(0, 80)}' is not a number`);
  }
  return Number(text);
}

export function node(
  host: string,
  known: Partial<Omit<AllocatedNode, 'host'>> = {}
): AllocatedNode {
  return {
    host,
    tasks: null,
    cpus: null,
    memBytes: null,
    gpus: null,
    ...known
  };
}

/** An allocation of one group; what is not said is unknown. */
export function allocationOf(
  known: Pick<Allocation, 'kind' | 'id' | 'nodes' | 'source'> &
    Partial<Allocation>
): Allocation {
  return {
    incarnation: null,
    array: null,
    groups: [{ id: known.id, nodes: known.nodes }],
    nodeFile: null,
    launchNode: null,
    warnings: [],
    ...known
  };
}

export function sum(entries: readonly HostSlots[]): number {
  return entries.reduce((total, one) => total + one.slots, 0);
}

/** Names of devices such as `0,1`, `0-3` or `GPU-3a6c`; also with a type: `a100:0-1`. */
export function deviceNames(text: string): string[] {
  return text
    .split(',')
    .map(part => part.trim().replace(/^.*:/u, ''))
    .filter(part => part !== '')
    .flatMap(part => {
      const range = /^(\d{1,4})-(\d{1,4})$/u.exec(part);
      const low = Number(range?.[1]);
      const high = Number(range?.[2]);
      return range === null || high < low
        ? [part]
        : Array.from({ length: high - low + 1 }, (_, at) => String(low + at));
    });
}

/** Is this the same host? Short names count only where one side has no domain. */
export function sameHost(one: string, other: string): boolean {
  if (one === other) {
    return true;
  }
  const [short = '', ...domain] = one.split('.');
  const [otherShort = '', ...otherDomain] = other.split('.');
  return (
    short === otherShort && (domain.length === 0 || otherDomain.length === 0)
  );
}
