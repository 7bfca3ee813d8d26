/** A token bucket. Pure but for its own count; the clock is passed in. */
export class RateLimit {
  /**
   * @param perSecond what flows in
   * @param burst what may be taken at once
   */
  constructor(
    private readonly perSecond: number,
    private readonly burst: number
  ) {
    this.tokens = burst;
  }

  /** @param now milliseconds of a monotonic clock. */
  take(now: number): boolean {
    const passed = this.last === null ? 0 : Math.max(0, now - this.last);
    this.last = now;
    this.tokens = Math.min(
      this.burst,
      this.tokens + (passed / 1000) * this.perSecond
    );
    if (this.tokens < 1) {
      return false;
    }
    this.tokens -= 1;
    return true;
  }

  private tokens: number;
  private last: number | null = null;
}
