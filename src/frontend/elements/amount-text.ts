/** How people write an amount of workers in one field: `8`, `64 cores`, `1 TB`. Pure. */
import type { Amount, WorkerShape } from '../../protocol/index.js';
import { formatBytes, parseBytes } from '../../protocol/index.js';

/**
 * A bare number means workers; a number with "cores" cores; anything that is a size, memory.
 * @returns null where the text is none of these. Bounds are the schema's business.
 */
export function parseAmount(text: string): Amount | null {
  const compact = text.trim().toLowerCase();
  const count = /^([+-]?\d+)\s*(w|workers?|c|cores?)?$/.exec(compact);
  if (count !== null) {
    const number = Number(count[1]);
    return count[2]?.startsWith('c') === true
      ? { cores: number }
      : { workers: number };
  }
  if (!/\d\s*[a-z]/.test(compact)) {
    // As Dask reads sizes, "GiB" is one of them and "3.5" three bytes; here both are half a word.
    return null;
  }
  const bytes = parseBytes(text);
  return bytes === null ? null : { memory: bytes };
}

/** What `parseAmount` reads back to the same amount. */
export function formatAmount(amount: Amount): string {
  if ('workers' in amount) {
    return String(amount.workers);
  }
  return 'cores' in amount
    ? `${amount.cores} cores`
    : formatSize(amount.memory);
}

/** `1e12` → `1 TB`, `8589934592` → `8 GiB`: the largest unit that says it exactly, else nearly. */
export function formatSize(bytes: number): string {
  for (const power of [5, 4, 3, 2, 1]) {
    for (const [base, suffix] of [
      [1024, 'iB'],
      [1000, 'B']
    ] as const) {
      const value = bytes / base ** power;
      const letter =
        ['', base === 1024 ? 'K' : 'k', 'M', 'G', 'T', 'P'][power] ?? '';
      const text = `${value} ${letter}${suffix}`;
      if (
        value >= 1 &&
        value < 10_000 &&
        Number(value.toFixed(2)) === value &&
        parseBytes(text) === bytes
      ) {
        return text;
      }
    }
  }
  return formatBytes(bytes);
}

/** `12 / 32 GiB`: both in the unit of the larger. */
export function formatUsed(used: number, limit: number): string {
  const whole = formatBytes(limit);
  const unit = whole.slice(whole.indexOf(' ') + 1);
  const power = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'].indexOf(unit);
  const value = used / 1024 ** Math.max(0, power);
  const digits = value >= 10 || value === 0 ? 0 : 1;
  return `${value.toFixed(digits)} / ${whole}`;
}

/** One job more or less, said in the amount's own unit. */
export function stepOf(
  amount: Amount,
  shape: WorkerShape,
  workersPerJob: number
): number {
  if ('workers' in amount) {
    return workersPerJob;
  }
  return 'cores' in amount
    ? shape.cores * workersPerJob
    : (shape.memory ?? 1024 ** 3) * workersPerJob;
}

export function addTo(amount: Amount, step: number): Amount {
  if ('workers' in amount) {
    return { workers: Math.max(0, amount.workers + step) };
  }
  return 'cores' in amount
    ? { cores: Math.max(0, amount.cores + step) }
    : { memory: Math.max(0, amount.memory + step) };
}
