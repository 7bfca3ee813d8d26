/** Watching another's lease: only by one's own clock, only by seeing it change (R7). */
import {
  EXPIRY_MS,
  type LeaseSight,
  type MonotonicClock,
  monotonic,
  readLease
} from './lease-record.js';

export type Observation = {
  sight: LeaseSight;
  /** For how long this observer has seen exactly this. */
  unchangedMs: number;
  /** Nobody renewed it for EXPIRY_MS of this observer's clock, or it was given back. */
  expired: boolean;
};

/** Watches another's lease. Its first look starts the clock: an old file is not an expired one. */
export class LeaseObserver {
  constructor(
    private readonly folder: string,
    private readonly options: {
      clock?: MonotonicClock;
      expiryMs?: number;
    } = {}
  ) {}

  #seen: { text: string; since: number } | null = null;

  async look(): Promise<Observation> {
    const now = (this.options.clock ?? monotonic)();
    const sight = await readLease(this.folder);
    if (sight.type === 'absent') {
      this.#seen = null;
      return { sight, unchangedMs: 0, expired: true };
    }
    if (this.#seen?.text !== sight.text) {
      this.#seen = { text: sight.text, since: now };
    }
    const unchangedMs = now - this.#seen.since;
    return {
      sight,
      unchangedMs,
      expired:
        (sight.type === 'held' && sight.record.released) ||
        unchangedMs >= (this.options.expiryMs ?? EXPIRY_MS)
    };
  }
}
