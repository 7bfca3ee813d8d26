/**
 * Memory at the edge (specs/batch-systems.md §4). Inside everything is bytes. A size is written in
 * the largest unit that fits exactly, else rounded up in the finest one; base 1024.
 */

/** Suffix and bytes of one unit, largest first. */
export type SizeUnit = readonly [suffix: string, bytes: number];

/** `1500e6` with [['M', 2 ** 20]] → `1431M`. */
export function formatSize(bytes: number, units: readonly SizeUnit[]): string {
  const exact = units.find(([, unit]) => bytes >= unit && bytes % unit === 0);
  const finest = units[units.length - 1];
  const [suffix, unit] = exact ?? finest ?? ['', 1];
  return `${Math.max(1, Math.ceil(bytes / unit))}${suffix}`;
}

const POWERS: Readonly<Record<string, number>> = {
  k: 1,
  m: 2,
  g: 3,
  t: 4,
  p: 5
};

/**
 * A system's own text of a size, base 1024: `500M`, `100mb`, `204800kb`, `16000M`, `1.5G`.
 * @param bareUnit bytes that a bare number counts.
 * @returns bytes, `unlimited`, or null.
 */
export function readNativeSize(
  text: string,
  bareUnit: number
): number | 'unlimited' | null {
  const compact = text.trim();
  if (/^(unlimited|infinity|inf)$/i.test(compact)) {
    return 'unlimited';
  }
  const match = /^(\d+(?:\.\d+)?)([kmgtp])?(i?b)?$/i.exec(compact);
  if (match === null) {
    return null;
  }
  const letter = match[2]?.toLowerCase();
  const unit =
    letter !== undefined
      ? 1024 ** (POWERS[letter] ?? 0)
      : match[3] === undefined
        ? bareUnit
        : 1;
  return Math.round(Number(match[1]) * unit);
}
