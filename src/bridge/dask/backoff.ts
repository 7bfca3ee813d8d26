/** Full jitter (R12): uniform between zero and a bound that doubles per failure up to a cap. */
export type BackoffOptions = {
  baseMs: number;
  capMs: number;
  /** Uniform in [0, 1). */
  random?: () => number;
};

/** @param failures so far; 0 for the first wait. */
export function fullJitterMs(
  failures: number,
  options: BackoffOptions
): number {
  const bound = Math.min(
    options.capMs,
    options.baseMs * 2 ** Math.min(failures, 30)
  );
  return (options.random ?? Math.random)() * bound;
}
