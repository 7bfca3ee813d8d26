/**
 * Clean environments (specs/batch-systems.md §12). A bridge that itself runs inside a job must not
 * hand the outer job's variables to the inner one: `SLURM_CPUS_PER_TASK` of the outer job would
 * silently change the inner. Where the commands find their system (locators) stays.
 */

const DROPPED =
  /^(SLURM|SBATCH|SRUN|SALLOC|PMI|PMIX|PMI2|PALS|OMPI|OMPI_MCA|PRTE|PRTE_MCA|HYDRA|HYDI|I_MPI|MPI_LOCALRANKID|MPI_LOCALNRANKS|PBS|LSB|LS|OAR|FLUX|COBALT|SGE|PE|JOB|JSM|ALPS|APRUN)(_|$)/;

const EXACT: ReadonlySet<string> = new Set([
  'ENVIRONMENT',
  'LSFUSER',
  'NHOSTS',
  'NQUEUES',
  'NSLOTS',
  'QUEUE',
  'REQUEST',
  'RESTARTED',
  'NCPUS',
  'MPIRUN_RANK',
  'LSB_JOBID',
  'MUSTER_TOKEN',
  'MUSTER_JOB_ID',
  'MUSTER_ARRAY_INDEX'
]);

/** Where commands find their batch system; verified for Slurm and LSF, general knowledge beyond. */
const LOCATORS: ReadonlySet<string> = new Set([
  'SLURM_CONF',
  'PBS_CONF_FILE',
  'PBS_SERVER',
  'PBS_DEFAULT',
  'PBS_EXEC',
  'PBS_HOME',
  'LSF_ENVDIR',
  'LSF_SERVERDIR',
  'LSF_BINDIR',
  'LSF_LIBDIR',
  'SGE_ROOT',
  'SGE_CELL',
  'SGE_CLUSTER_NAME',
  'SGE_QMASTER_PORT',
  'SGE_EXECD_PORT',
  'OARCONFFILE'
]);

/**
 * The environment for a command of the batch system.
 * @param keep further names that stay (`FLUX_URI` when Flux is the target).
 */
export function scrubEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  keep: readonly string[] = []
): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) {
      continue;
    }
    const stays = LOCATORS.has(name) || keep.includes(name);
    if (stays || !(DROPPED.test(name) || EXACT.has(name))) {
      clean[name] = value;
    }
  }
  return clean;
}

/** Of a query or cancel: numbers, words and times in one form for all hosts. */
export function queryEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  keep: readonly string[] = []
): Record<string, string> {
  return { ...scrubEnvironment(environment, keep), LC_ALL: 'C', TZ: 'UTC' };
}

/** Prefixes of the variables a job script drops when they are not its own system's. */
export const FAMILIES: readonly string[] = [
  'SLURM_',
  'PBS_',
  'LSB_',
  'OAR_',
  'FLUX_',
  'PMI_',
  'PMIX_',
  'PALS_',
  'OMPI_'
];
