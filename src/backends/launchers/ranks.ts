/** Which rank a task is, and whether all the ranks that were asked for are there. */
import type { Environment } from '../allocation/allocation.js';

export type Rank = {
  family: string;
  rank: number;
  localRank: number | null;
  size: number | null;
};

/**
 * Innermost launcher first: a batch script of Slurm has SLURM_PROCID before anything is launched in
 * it, and Open MPI 5 sets PMIX_RANK too (specs/launchers-and-allocations.md §1).
 */
const FAMILIES: readonly {
  family: string;
  rank: string;
  local: readonly string[];
  size: readonly string[];
  /** Counts only where this is set, too. */
  only?: string;
}[] = [
  {
    family: 'Open MPI',
    rank: 'OMPI_COMM_WORLD_RANK',
    local: ['OMPI_COMM_WORLD_LOCAL_RANK'],
    size: ['OMPI_COMM_WORLD_SIZE']
  },
  {
    family: 'PALS',
    rank: 'PALS_RANKID',
    local: ['PALS_LOCAL_RANKID', 'PMI_LOCAL_RANK'],
    size: ['PMI_SIZE']
  },
  // Flux sets PMI_RANK too, but never the local rank of Hydra.
  {
    family: 'Hydra',
    rank: 'PMI_RANK',
    local: ['MPI_LOCALRANKID'],
    size: ['PMI_SIZE'],
    only: 'MPI_LOCALRANKID'
  },
  {
    family: 'Flux',
    rank: 'FLUX_TASK_RANK',
    local: ['FLUX_TASK_LOCAL_ID'],
    size: ['FLUX_JOB_SIZE']
  },
  { family: 'PMI', rank: 'PMI_RANK', local: [], size: ['PMI_SIZE'] },
  { family: 'ALPS', rank: 'ALPS_APP_PE', local: [], size: [] },
  { family: 'MPT', rank: 'MPI_RANK', local: [], size: [] },
  {
    family: 'Slurm',
    rank: 'SLURM_PROCID',
    local: ['SLURM_LOCALID'],
    size: ['SLURM_NTASKS']
  },
  { family: 'PMIx', rank: 'PMIX_RANK', local: [], size: [] }
];

/** null: no launcher started this process. */
export function readRank(env: Environment): Rank | null {
  const number = (name: string): number | null => {
    const text = env[name];
    return text !== undefined && /^\d{1,9}$/u.test(text) ? Number(text) : null;
  };
  for (const { family, rank, local, size, only } of FAMILIES) {
    const value = number(rank);
    if (value !== null && (only === undefined || number(only) !== null)) {
      const first = (names: readonly string[]): number | null =>
        names.map(number).find(one => one !== null) ?? null;
      return {
        family,
        rank: value,
        localRank: first(local),
        size: first(size)
      };
    }
  }
  return null;
}

/** Ranks seen against ranks asked for; null: all are there. A sentence for people otherwise. */
export function judgeRanks(
  asked: number,
  seen: readonly { rank: number; size: number | null }[]
): string | null {
  if (
    seen.length > 1 &&
    seen.every(one => one.rank === 0 && (one.size ?? 1) === 1)
  ) {
    return `every one of the ${seen.length} processes is rank 0 of 1: the launcher and the program's MPI library are of different kinds`;
  }
  const ranks = new Set(seen.map(one => one.rank));
  if (ranks.size !== seen.length) {
    return `${seen.length} processes have only ${ranks.size} different ranks`;
  }
  const missing = Array.from({ length: asked }, (_, at) => at).filter(
    rank => !ranks.has(rank)
  );
  if (missing.length > 0) {
    return `${asked} ranks were asked for; missing: ${missing.slice(0, 10).join(', ')}${missing.length > 10 ? ', …' : ''}`;
  }
  return seen.length === asked
    ? null
    : `${asked} ranks were asked for, ${seen.length} are there`;
}
