/** Counts and node lists of the batch systems (specs/launchers-and-allocations.md §5). */
import { Inconsistent } from './allocation.js';
import { isHostName, shown } from './hostlist.js';

/** A node and how many slots it has, in order of first sight. */
export type HostSlots = { host: string; slots: number };

const MOST_SLOTS = 1_048_576;

/** `72(x2),36` → 72 72 36. @throws Inconsistent */
export function expandCounts(text: string): number[] {
  const counts: number[] = [];
  for (const item of text.trim().split(',')) {
    const match = /^(\d{1,9})(?:\(x(\d{1,7})\))?$/u.exec(item);
    if (match === null) {
      throw new Inconsistent(`'${shown(text)}' is not a list of counts`);
    }
    const times = Number(match[2] ?? 1);
    if (times < 1 || counts.length + times > MOST_SLOTS) {
      throw new Inconsistent(`'${shown(text)}' is not a list of counts`);
    }
    counts.push(...Array.from({ length: times }, () => Number(match[1])));
  }
  return counts;
}

/** Lines of a node file: a host is a node, its lines are its slots. @throws Inconsistent */
export function readNodeFile(text: string, name: string): HostSlots[] {
  const lines = text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
  if (lines.length === 0) {
    throw new Inconsistent(`the file of ${name} is empty`);
  }
  for (const line of lines) {
    if (!isHostName(line)) {
      throw new Inconsistent(
        `the file of ${name} has the line '${shown(line)}', which is not a host`
      );
    }
  }
  return gathered(lines.map(host => ({ host, slots: 1 })));
}

/** One entry per host, slots added, in order of first sight. */
export function gathered(entries: readonly HostSlots[]): HostSlots[] {
  const slots = new Map<string, number>();
  for (const one of entries) {
    slots.set(one.host, (slots.get(one.host) ?? 0) + one.slots);
  }
  return [...slots].map(([host, count]) => ({ host, slots: count }));
}

/**
 * Where a PBS job runs: `host/0*8+host2` (OpenPBS: task number and cpus), `head/0-1+c1/0`
 * (Torque: slots), also with several indices `n1/0,2+n2/1`. @throws Inconsistent
 */
export function readExecHost(text: string): HostSlots[] {
  return gathered(
    text
      .trim()
      .split('+')
      .map(item => {
        const match =
          /^([^/*\s]+)(?:\/(\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?)*))?(?:\*(\d{1,6}))?$/u.exec(
            item
          );
        const host = match?.[1] ?? '';
        if (match === null || !isHostName(host)) {
          throw new Inconsistent(`'${shown(text)}' is not a list of PBS hosts`);
        }
        const times = Number(match[3] ?? 1);
        const slots = countIndices(match[2] ?? '0', text) * times;
        if (slots < 1) {
          throw new Inconsistent(`'${shown(text)}' is not a list of PBS hosts`);
        }
        return { host, slots };
      })
  );
}

function countIndices(text: string, whole: string): number {
  return text.split(',').reduce((sum, range) => {
    const [low = '', high = low] = range.split('-');
    const count = Number(high) - Number(low) + 1;
    if (count < 1) {
      throw new Inconsistent(`'${shown(whole)}' is not a list of PBS hosts`);
    }
    return sum + count;
  }, 0);
}

/** Indices such as `0-3,7`: how many. @throws Inconsistent */
export function expandIndices(text: string): number[] {
  const indices: number[] = [];
  for (const range of text.trim().split(',')) {
    const match = /^(\d{1,9})(?:-(\d{1,9}))?$/u.exec(range);
    const low = Number(match?.[1] ?? 0);
    const high = Number(match?.[2] ?? low);
    if (match === null || high < low || high - low > MOST_SLOTS) {
      throw new Inconsistent(`'${shown(text)}' is not a list of numbers`);
    }
    for (let value = low; value <= high; value += 1) {
      indices.push(value);
    }
  }
  return indices;
}

/** LSF: `host1:host1`, `2*host1`, `h1 h1 h2`; both forms mean slots. @throws Inconsistent */
export function readLsfHosts(text: string): HostSlots[] {
  return gathered(
    text
      .trim()
      .split(/[:\s]+/u)
      .map(item => {
        const match = /^(?:(\d{1,6})\*)?(\S+)$/u.exec(item);
        const host = match?.[2] ?? '';
        const slots = Number(match?.[1] ?? 1);
        if (match === null || !isHostName(host) || slots < 1) {
          throw new Inconsistent(`'${shown(text)}' is not a list of LSF hosts`);
        }
        return { host, slots };
      })
  );
}

/** LSB_MCPU_HOSTS: `h1 4 h2 4`. @throws Inconsistent */
export function readLsfCounts(text: string): HostSlots[] {
  const words = text.trim().split(/\s+/u);
  const entries: HostSlots[] = [];
  for (let at = 0; at < words.length; at += 2) {
    const host = words[at] ?? '';
    const slots = words[at + 1] ?? '';
    if (!isHostName(host) || !/^[1-9]\d{0,6}$/u.test(slots)) {
      throw new Inconsistent(
        `LSB_MCPU_HOSTS='${shown(text)}' is not a list of hosts and slots`
      );
    }
    entries.push({ host, slots: Number(slots) });
  }
  return gathered(entries);
}

/** A PBS size such as `102400kb`; PBS counts in powers of two, words (`w`) are not used here. */
export function readPbsSize(text: string): number | null {
  const match = /^(\d{1,15})(b|kb|mb|gb|tb|pb)?$/iu.exec(text.trim());
  if (match === null) {
    return null;
  }
  const unit = ['b', 'kb', 'mb', 'gb', 'tb', 'pb'].indexOf(
    (match[2] ?? 'b').toLowerCase()
  );
  const bytes = Number(match[1]) * 1024 ** unit;
  return Number.isSafeInteger(bytes) ? bytes : null;
}
