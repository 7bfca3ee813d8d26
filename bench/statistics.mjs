/** Medians, percentiles and bootstrap intervals; the random numbers come from the run's seed. */

/** mulberry32: small, repeatable, good enough for resampling. */
export function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The p-th percentile (0 … 100) by linear interpolation; NaN of nothing. */
export function percentile(values, p) {
  if (values.length === 0) {
    return NaN;
  }
  const sorted = [...values].sort((a, b) => a - b);
  const at = ((sorted.length - 1) * p) / 100;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

export const median = values => percentile(values, 50);

/**
 * Ratio of medians `ours / theirs` with a bootstrap 95 % confidence interval. Rounds are resampled
 * per side, not paired: the sides share the machine, not their noise.
 */
export function ratioOf(ours, theirs, random, draws = 2000) {
  const pick = values =>
    values.map(() => values[Math.floor(random() * values.length)]);
  const ratios = Array.from(
    { length: draws },
    () => median(pick(ours)) / median(pick(theirs))
  );
  const low = percentile(ratios, 2.5);
  const high = percentile(ratios, 97.5);
  return {
    ratio: median(ours) / median(theirs),
    low,
    high,
    // Honesty rule 3: an interval that crosses 1 is no difference.
    verdict: low <= 1 && high >= 1 ? 'no difference' : 'different'
  };
}
