/**
 * Host lists (specs/launchers-and-allocations.md §5). Read strictly: scontrol prints nonsense for
 * malformed text and ends well, so it is not asked, and a text that is not a list is refused.
 */
import { Inconsistent } from './allocation.js';

/** More hosts than this in one range are refused. */
const MOST_IN_A_RANGE = 65_536;
/** More hosts than this in one list are refused: several brackets multiply. */
const MOST = 1_048_576;

/** Texts that mean "no nodes" in one listing or another. */
const NOTHING = new Set(['', 'none assigned', '(null)', 'n/a']);

const LITERAL = /^[\p{L}\p{N}_.-]*$/u;

/** Flux expands only the first bracket of an item. */
export type HostListDialect = 'slurm' | 'flux';

/**
 * `n[001-003,007]` → n001 n002 n003 n007; order and duplicates are kept.
 * @throws Inconsistent where the text is not a host list.
 */
export function expandHostList(
  text: string,
  dialect: HostListDialect = 'slurm'
): string[] {
  const compact = text.trim();
  if (NOTHING.has(compact.toLowerCase())) {
    return [];
  }
  const hosts: string[] = [];
  for (const item of splitItems(compact)) {
    hosts.push(...expandItem(item, dialect, compact));
    if (hosts.length > MOST) {
      throw new Inconsistent(`the host list '${shown(text)}' is too long`);
    }
  }
  return hosts;
}

/** Plain host name as it may stand in a node file or a host list. */
export function isHostName(text: string): boolean {
  return text !== '' && LITERAL.test(text) && !text.startsWith('-');
}

function splitItems(text: string): string[] {
  const items: string[] = [];
  let inside = false;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '[' || character === ']') {
      if (inside === (character === '[')) {
        throw malformed(text);
      }
      inside = character === '[';
    } else if (character === ',' && !inside) {
      items.push(text.slice(from, at));
      from = at + 1;
    }
  }
  if (inside) {
    throw malformed(text);
  }
  items.push(text.slice(from));
  return items;
}

function expandItem(
  item: string,
  dialect: HostListDialect,
  whole: string
): string[] {
  const parts = item.split(/[[\]]/u);
  let names = [''];
  for (const [at, part] of parts.entries()) {
    const bracket = at % 2 === 1;
    if (bracket && dialect === 'flux' && at > 1) {
      names = names.map(name => `${name}[${part}]`);
      continue;
    }
    if (!bracket && !LITERAL.test(part)) {
      throw malformed(whole);
    }
    const choices = bracket ? expandRanges(part, whole) : [part];
    if (names.length * choices.length > MOST) {
      throw new Inconsistent(`the host list '${shown(whole)}' is too long`);
    }
    names = names.flatMap(name => choices.map(choice => name + choice));
  }
  if (names.some(name => !/^[^-]/u.test(name))) {
    throw malformed(whole);
  }
  return names;
}

function expandRanges(text: string, whole: string): string[] {
  return text.split(',').flatMap(range => {
    const bounds = /^(\d{1,15})(?:-(\d{1,15}))?$/u.exec(range);
    if (bounds === null) {
      throw malformed(whole);
    }
    const [, low = '', high = low] = bounds;
    const count = Number(high) - Number(low) + 1;
    if (count < 1) {
      throw malformed(whole);
    }
    if (count > MOST_IN_A_RANGE) {
      throw new Inconsistent(
        `a range of ${count} hosts in '${shown(whole)}' is too long`
      );
    }
    return Array.from({ length: count }, (_, at) =>
      String(Number(low) + at).padStart(low.length, '0')
    );
  });
}

function malformed(text: string): Inconsistent {
  return new Inconsistent(`'${shown(text)}' is not a host list`);
}

/** A foreign text short enough for a message. */
export function shown(text: string): string {
  const line = text.replace(/\s+/gu, ' ');
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}

/**
 * The shortest list our reader and scontrol agree on: runs of hosts that differ only in the number
 * before their last text become one bracket. Text after the bracket is never written, because
 * scontrol 22.05 calls it invalid.
 */
export function compressHostList(hosts: readonly string[]): string {
  const items: string[] = [];
  let run: { head: string; width: number; ranges: [number, number][] } | null =
    null;
  const close = (): void => {
    if (run !== null) {
      const { head, width, ranges } = run;
      const two = (value: number): string => String(value).padStart(width, '0');
      const [first] = ranges;
      items.push(
        ranges.length === 1 && first !== undefined && first[0] === first[1]
          ? `${head}${two(first[0])}`
          : `${head}[${ranges
              .map(([low, high]) =>
                low === high ? two(low) : `${two(low)}-${two(high)}`
              )
              .join(',')}]`
      );
      run = null;
    }
  };
  for (const host of hosts) {
    const split = /^(.*?)(\d{1,9})$/u.exec(host);
    const [, head = '', digits = ''] = split ?? [];
    if (split === null || head === '') {
      close();
      items.push(host);
      continue;
    }
    const value = Number(digits);
    // Width counts only where there are leading zeros: n9 and n10 are one run, n09 and n10 another.
    const padded = digits.startsWith('0') && digits.length > 1;
    if (
      run !== null &&
      run.head === head &&
      (run.width === digits.length ||
        (!padded && run.width < digits.length && !startsPadded(run)))
    ) {
      const last: [number, number] | undefined = run.ranges.at(-1);
      if (
        last !== undefined &&
        value === last[1] + 1 &&
        value - last[0] < MOST_IN_A_RANGE
      ) {
        last[1] = value;
      } else {
        run.ranges.push([value, value]);
      }
      // A shorter low end pads nothing, so the width of the run stays that of its first host.
    } else {
      close();
      run = { head, width: digits.length, ranges: [[value, value]] };
    }
  }
  close();
  return items.join(',');
}

function startsPadded(run: {
  width: number;
  ranges: [number, number][];
}): boolean {
  const first = run.ranges[0];
  return first !== undefined && String(first[0]).length < run.width;
}
