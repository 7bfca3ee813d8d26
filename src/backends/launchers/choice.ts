/**
 * Which launcher to use (specs/launchers-and-allocations.md §1, rule 2). PATH alone proves nothing:
 * a conda environment puts its own mpiexec in front.
 */
import type { AllocationKind } from '../allocation/allocation.js';
import { identify } from './registry.js';

export type Choice = {
  name: string;
  dialect: string | null;
  because: string;
};

/** explicit > site profile > kind of the allocation; mpirun of whichever MPI answers otherwise. */
export function chooseLauncher(known: {
  explicit?: string | undefined;
  site?: string | undefined;
  kind?: AllocationKind | undefined;
  /** Is jsrun installed? */
  jsrun?: boolean | undefined;
  /** What `mpiexec --version` or `mpirun --version` printed. */
  versionText?: string | undefined;
}): Choice {
  if (known.explicit !== undefined) {
    return { name: known.explicit, dialect: null, because: 'it was asked for' };
  }
  if (known.site !== undefined) {
    return { name: known.site, dialect: null, because: 'the profile names it' };
  }
  const installed =
    known.versionText === undefined ? null : identify(known.versionText);
  if (known.kind === 'flux') {
    return { name: 'flux-run', dialect: null, because: 'this is Flux' };
  }
  if (known.kind === 'lsf' && known.jsrun === true) {
    return { name: 'jsrun', dialect: null, because: 'this is LSF with jsrun' };
  }
  if (known.kind === 'pbs' && installed?.name === 'pals') {
    return { name: 'pals', dialect: null, because: 'this is PBS with PALS' };
  }
  if (known.kind === 'slurm') {
    return { name: 'srun', dialect: null, because: 'this is Slurm' };
  }
  if (installed !== null) {
    return {
      name: installed.name,
      dialect: installed.dialect,
      because: 'its version text says so'
    };
  }
  return {
    name: 'open-mpi',
    dialect: null,
    because: 'nothing says which launcher is installed'
  };
}
