/** Index lists of job arrays as systems write them. */

/** `[0, 1, 2, 5]` → `0-2,5`; with a step where one fits all: `[1, 3, 5]` → `1-5:2`. */
export function indexList(indices: readonly number[]): string {
  const sorted = [...indices].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length;) {
    let end = at;
    while (
      end + 1 < sorted.length &&
      (sorted[end + 1] ?? 0) === (sorted[end] ?? 0) + 1
    ) {
      end += 1;
    }
    const first = String(sorted[at]);
    parts.push(end === at ? first : `${first}-${String(sorted[end])}`);
    at = end + 1;
  }
  return parts.join(',');
}

export type IndexRange = { first: number; last: number; step: number };

/** The one range with a step the indices are, or null. */
export function oneRange(indices: readonly number[]): IndexRange | null {
  const sorted = [...indices].sort((a, b) => a - b);
  const [first = 0] = sorted;
  const last = sorted[sorted.length - 1] ?? first;
  const step = sorted.length < 2 ? 1 : (sorted[1] ?? 0) - first;
  return step > 0 && sorted.every((value, at) => value === first + at * step)
    ? { first, last, step }
    : null;
}

/** Groups each of which is one range: what a system without lists needs, as several arrays. */
export function splitRanges(indices: readonly number[]): number[][] {
  const sorted = [...indices].sort((a, b) => a - b);
  const whole = oneRange(sorted);
  if (whole !== null) {
    return [sorted];
  }
  const groups: number[][] = [];
  for (const index of sorted) {
    const group = groups[groups.length - 1];
    if (group !== undefined && group[group.length - 1] === index - 1) {
      group.push(index);
    } else {
      groups.push([index]);
    }
  }
  return groups;
}

/**
 * `1-5,8`, `0-9:2`, `1-10%4` → the indices; text that was cut (`…149,156...`) gives what stands
 * there and `cut`. Never more than a million.
 */
export function readIndices(text: string): { indices: number[]; cut: boolean } {
  const cut = /\.\.\.\s*$/.test(text);
  const indices = new Set<number>();
  const body = text.replace(/%\d+\s*$/, '').replace(/,?\.\.\.\s*$/, '');
  const parts = body.split(',');
  for (const part of parts) {
    const match = /^\s*(\d{1,9})(?:-(\d{1,9}))?(?:[:](\d{1,9}))?\s*$/.exec(
      part
    );
    if (match === null) {
      continue;
    }
    const first = Number(match[1]);
    const last = Number(match[2] ?? first);
    const step = Math.max(1, Number(match[3] ?? 1));
    for (
      let index = first;
      index <= last && indices.size < 1_000_000;
      index += step
    ) {
      indices.add(index);
    }
  }
  return { indices: [...indices], cut };
}
