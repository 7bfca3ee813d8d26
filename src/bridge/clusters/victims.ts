/**
 * Whom to let go: the scheduler ranks (it knows data and load), the bridge cuts the ranking to
 * whole jobs without those that must stay. PURE. (specs/resource-manager.md §9)
 */
import type { JobId, WorkerId } from '../../protocol/index.js';

export type Candidate = {
  job: JobId;
  /** Its workers that are connected. */
  workers: readonly WorkerId[];
  /** Refused to retire a moment ago, or asked to stay. */
  pinned: boolean;
  /** Milliseconds since its first worker connected. */
  ageMs: number;
};

/**
 * @param ranking worker ids in the order the scheduler would lose them.
 * @param count jobs that are too many.
 * @returns at most `count` jobs, cheapest first; fewer when too few may go. A job goes only if all
 *   its workers are in the ranking; its rank is that of its dearest worker.
 */
export function chooseVictims(options: {
  ranking: readonly WorkerId[];
  candidates: readonly Candidate[];
  count: number;
  minimumAgeMs: number;
}): JobId[] {
  const rank = new Map(options.ranking.map((worker, index) => [worker, index]));
  const ranked: { job: JobId; rank: number }[] = [];
  for (const candidate of options.candidates) {
    if (
      candidate.pinned ||
      candidate.ageMs < options.minimumAgeMs ||
      candidate.workers.length === 0
    ) {
      continue;
    }
    const ranks = candidate.workers.map(worker => rank.get(worker));
    if (ranks.some(one => one === undefined)) {
      continue;
    }
    ranked.push({
      job: candidate.job,
      rank: Math.max(...ranks.map(one => one ?? 0))
    });
  }
  ranked.sort((a, b) => a.rank - b.rank);
  return ranked.slice(0, options.count).map(one => one.job);
}
