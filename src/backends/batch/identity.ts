/**
 * One job, many spellings (specs/batch-systems.md §11): with or without the server's name, with the
 * `ƒ` or the `f`, an element of an array or the array. Ids are compared by their parts.
 */
import { readIndices } from './array-indices.js';
import type { SystemFacts } from './specification.js';

export type IdParts = {
  seq: string;
  index: string | null;
  server: string | null;
  /** `index` is that of a component of a heterogeneous job, not of an array's element. */
  component: boolean;
  /** The id stands for a whole array. */
  whole: boolean;
};

/** null: this is not an id of that system; it must never reach a command. */
export function readId(facts: SystemFacts, text: string): IdParts | null {
  const groups = new RegExp(facts.id.pattern, 'u').exec(text)?.groups;
  if (groups?.['seq'] === undefined) {
    return null;
  }
  const index = groups['index'] ?? groups['component'];
  return {
    seq: canonicalSequence(groups['seq']),
    index: index === undefined || index === '' ? null : String(Number(index)),
    server: groups['server'] ?? null,
    component: groups['component'] !== undefined,
    whole: index === ''
  };
}

/** `ƒ2x` and `f2x` and their decimal are one number; other sequences lose leading zeros. */
function canonicalSequence(seq: string): string {
  if (/^[fƒ]/.test(seq)) {
    return String(f58ToDecimal(seq) ?? seq);
  }
  return /^\d+$/.test(seq) ? seq.replace(/^0+(?=\d)/, '') : seq;
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Flux's F58 (`ƒMpcMzi3`) as a decimal; null where it is none. */
export function f58ToDecimal(text: string): bigint | null {
  const digits = text.replace(/^[fƒ]/, '');
  let value = 0n;
  for (const digit of digits) {
    const at = BASE58.indexOf(digit);
    if (at < 0) {
      return null;
    }
    value = value * 58n + BigInt(at);
  }
  return digits === '' || digits === text ? null : value;
}

export function decimalToF58(value: bigint): string {
  let rest = value;
  let text = '';
  do {
    text = BASE58.charAt(Number(rest % 58n)) + text;
    rest /= 58n;
  } while (rest > 0n);
  return `ƒ${text}`;
}

/** Do two texts name the same job? A server's name counts only as a prefix, either way. */
export function sameJob(
  facts: SystemFacts,
  one: string,
  other: string
): boolean {
  const a = readId(facts, one);
  const b = readId(facts, other);
  if (a === null || b === null) {
    return one === other;
  }
  return (
    a.seq === b.seq && a.index === b.index && sameServer(a.server, b.server)
  );
}

/** Is `element` an element of the array (or the same job) `whole` names? */
export function belongsTo(
  facts: SystemFacts,
  element: string,
  whole: string
): boolean {
  const a = readId(facts, element);
  const b = readId(facts, whole);
  return (
    a !== null &&
    b !== null &&
    a.seq === b.seq &&
    (b.index === null || a.index === b.index) &&
    sameServer(a.server, b.server)
  );
}

function sameServer(one: string | null, other: string | null): boolean {
  return (
    one === null ||
    other === null ||
    one.startsWith(other) ||
    other.startsWith(one)
  );
}

/** `105_[1-3%1]` → its master and the elements it stands for; null: not such a row. */
export function expandCollective(
  facts: SystemFacts,
  text: string
): { master: string; indices: number[]; cut: boolean } | null {
  if (facts.id.collective === undefined) {
    return null;
  }
  const groups = new RegExp(facts.id.collective, 'u').exec(text)?.groups;
  const master = groups?.['master'];
  const ranges = groups?.['ranges'];
  return master === undefined || ranges === undefined
    ? null
    : { master, ...readIndices(ranges) };
}

export function elementId(
  facts: SystemFacts,
  master: string,
  index: number
): string {
  const bare = master.replace(/\[\](?=\.|$)/, '');
  const [, head = bare, tail = ''] = /^([^.]*)(\..*)?$/.exec(bare) ?? [];
  return facts.id.element
    .replace('{master}', bare)
    .replace('{head}', head)
    .replace('{tail}', tail)
    .replace('{index}', String(index));
}
