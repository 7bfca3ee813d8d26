import { describe, expect, it } from '@jest/globals';
import { environmentCases } from '../allocation/fixtures/cases.js';
import { judgeRanks, readRank } from './index.js';

describe('ranks', () => {
  it('the innermost launcher says which rank this is', () => {
    const batch = { SLURM_PROCID: '0', SLURM_LOCALID: '0', SLURM_NTASKS: '6' };
    expect(readRank({})).toBeNull();
    expect(readRank(batch)).toEqual({
      family: 'Slurm',
      rank: 0,
      localRank: 0,
      size: 6
    });
    expect(
      readRank({
        ...batch,
        OMPI_COMM_WORLD_RANK: '3',
        OMPI_COMM_WORLD_LOCAL_RANK: '1',
        OMPI_COMM_WORLD_SIZE: '4',
        PMIX_RANK: '3'
      })
    ).toMatchObject({ family: 'Open MPI', rank: 3, localRank: 1, size: 4 });
    expect(
      readRank({ ...batch, PMI_RANK: '2', MPI_LOCALRANKID: '0', PMI_SIZE: '4' })
    ).toMatchObject({ family: 'Hydra', rank: 2, size: 4 });
    const flux = environmentCases.find(one =>
      one.name.startsWith('with stale variables')
    );
    expect(readRank(flux?.env ?? {})).toMatchObject({ family: 'PALS' });
  });

  it('E3: every rank is rank 0 of 1 where launcher and library are of different kinds', () => {
    const alone = { rank: 0, size: 1 };
    expect(judgeRanks(3, [alone, alone, alone])).toContain('different kinds');
    expect(
      judgeRanks(
        2,
        [0, 1].map(rank => ({ rank, size: 2 }))
      )
    ).toBeNull();
    expect(
      judgeRanks(
        3,
        [0, 2].map(rank => ({ rank, size: 3 }))
      )
    ).toContain('missing: 1');
    expect(judgeRanks(1, [alone])).toBeNull();
  });
});
