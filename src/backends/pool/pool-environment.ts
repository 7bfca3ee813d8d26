/**
 * Which variables a pool must be started with, and which pool a launch therefore needs.
 *
 * Some variables are read once: by the interpreter (hash seed), by libraries while they are loaded
 * (BLAS threads), by Dask while it is imported. A forked child cannot change them any more. So they
 * are part of a pool's identity: a launch whose read-once variables differ goes to another pool.
 * All others are set per child and do not matter.
 */
import { createHash } from 'node:crypto';

/**
 * What a Dask nanny would set before its worker starts, and pyarrow's background thread switched
 * off, without which no process has the single thread that safe forking needs
 * (specs/dask-wire-protocol.md 6.2, 6.3). 6640 is Dask's own hash seed (distributed PR #8400).
 */
export const READ_ONCE_DEFAULTS: Readonly<Record<string, string>> = {
  OMP_NUM_THREADS: '1',
  MKL_NUM_THREADS: '1',
  OPENBLAS_NUM_THREADS: '1',
  MALLOC_TRIM_THRESHOLD_: '65536',
  PYTHONHASHSEED: '6640',
  JE_ARROW_MALLOC_CONF: 'background_thread:false'
};

const READ_ONCE =
  /^(OMP_|MKL_|OPENBLAS_|GOTO_|BLIS_|VECLIB_|NUMEXPR_|NUMBA_|KMP_|GOMP_|NPY_|MALLOC_|GLIBC_|JE_|MIMALLOC_|ARROW_|PYTHON|LD_|DYLD_|LC_|LANG$|LANGUAGE$|TZ$|HOME$|DASK_)/;

/**
 * Dask reads these when a scheduler or worker begins, not when it is imported; a cluster has its own
 * values, and its scheduler others than its workers. All other configuration counts as read once:
 * some of it is frozen in constants at import (comm sizes, log-pdb, data sizes, dashboard).
 */
const READ_LATE =
  /^DASK_(SCHEDULER_ADDRESS$|TEMPORARY_DIRECTORY$|DISTRIBUTED__(COMM__(TLS__|REQUIRE_ENCRYPTION$)|SCHEDULER__(?!DEFAULT_DATA_SIZE$|HTTP__)))/;

/** The environment of a process: ours, then the launch's; a hash seed of 0 counts as unset, as in Dask. */
export function launchEnvironment(
  clean: Readonly<Record<string, string>>,
  launch: Readonly<Record<string, string>>
): Record<string, string> {
  const environment = { ...READ_ONCE_DEFAULTS, ...clean, ...launch };
  if (['', '0'].includes(environment['PYTHONHASHSEED'] ?? '')) {
    environment['PYTHONHASHSEED'] = READ_ONCE_DEFAULTS['PYTHONHASHSEED'] ?? '';
  }
  return environment;
}

/**
 * Those of a process's variables that its pool must have had from the start.
 * @param folder the cluster's; a Dask variable pointing into it is the cluster's own and read late.
 */
export function readOnceVariables(
  environment: Readonly<Record<string, string>>,
  folder: string | null
): Record<string, string> {
  const names = Object.keys(environment)
    .filter(name => READ_ONCE.test(name) && !READ_LATE.test(name))
    .filter(
      name =>
        !name.startsWith('DASK_') ||
        folder === null ||
        !(environment[name] ?? '').includes(folder)
    )
    .sort();
  return Object.fromEntries(names.map(name => [name, environment[name] ?? '']));
}

export type PoolIdentity = {
  host: string;
  python: string;
  /** Of `readOnceVariables`. */
  variables: Readonly<Record<string, string>>;
  /** Pools of different program texts do not mix. */
  program: string;
  forceExec: boolean;
};

/** A short name of a pool's folder: equal identities, equal names. */
export function poolKey(identity: PoolIdentity): string {
  return createHash('sha256')
    .update(
      JSON.stringify([
        identity.host,
        identity.python,
        Object.entries(identity.variables).sort(([a], [b]) =>
          a < b ? -1 : a > b ? 1 : 0
        ),
        identity.program,
        identity.forceExec
      ])
    )
    .digest('hex')
    .slice(0, 10);
}
