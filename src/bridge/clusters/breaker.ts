/**
 * When to stop asking for more of the same: a group whose jobs die before they are of use. PURE.
 * (specs/resource-manager.md §9, "Breaker")
 */
import type { JobOutcome } from '../../protocol/index.js';
import { isDeath } from './lifecycle.js';

export type PastJob = {
  endedAt: number;
  outcome: JobOutcome;
  endedByUs: boolean;
  everConnected: boolean;
};

export type Verdict =
  | { type: 'go' }
  /** Wait before the next request; the delay grows with the deaths of the last minutes. */
  | { type: 'wait'; until: number }
  | { type: 'failing'; reason: string };

const WINDOW = 5;
const NEVER_CONNECTED_OF_WINDOW = 3;
const DEATH_WINDOW_MS = 300_000;
const DEATHS_IN_WINDOW = 12;
const BASE_MS = 250;
const CAP_MS = 60_000;

/**
 * @param past ended jobs of the group since the last resume, any order.
 * @param jitter 0 … 1, random: the delay is `min(60 s, 250 ms · 2^n)` of which the upper half is jittered.
 */
export function breaker(
  past: readonly PastJob[],
  now: number,
  jitter: number
): Verdict {
  const own = past
    .filter(job => isDeath(job.outcome, job.endedByUs))
    .sort((a, b) => b.endedAt - a.endedAt);
  const all = past
    .filter(job => !job.endedByUs)
    .sort((a, b) => b.endedAt - a.endedAt);
  const neverConnected = all
    .slice(0, WINDOW)
    .filter(job => !job.everConnected).length;
  if (neverConnected >= NEVER_CONNECTED_OF_WINDOW) {
    return {
      type: 'failing',
      reason: `${neverConnected} of the last ${Math.min(all.length, WINDOW)} workers ended before they connected`
    };
  }
  const deaths = own.filter(job => now - job.endedAt < DEATH_WINDOW_MS);
  if (deaths.length >= DEATHS_IN_WINDOW) {
    return {
      type: 'failing',
      reason: `${deaths.length} workers died within ${DEATH_WINDOW_MS / 60_000} minutes (${deaths[0]?.outcome ?? 'failed'})`
    };
  }
  const recent = deaths.filter(job => now - job.endedAt < 60_000).length;
  const newest = deaths[0]?.endedAt;
  // The first loss is replaced at once; a series is answered more and more slowly.
  if (newest === undefined || recent <= 1) {
    return { type: 'go' };
  }
  const full = Math.min(CAP_MS, BASE_MS * 2 ** (recent - 1));
  const until = newest + full / 2 + (full / 2) * jitter;
  return until > now ? { type: 'wait', until } : { type: 'go' };
}
