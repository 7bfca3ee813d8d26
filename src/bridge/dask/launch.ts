/**
 * How a scheduler and its workers are started (§6): argument lists and environments, pure. Keys are
 * handed over as file paths in the environment alone, never on a command line (H15).
 */

import { isLoopback } from './wire/address.js';

/** Absolute paths of PEM files on the host where the process runs. */
export type TlsFiles = { caFile: string; certFile: string; keyFile: string };

export type Launch = {
  argv: string[];
  /** To be set besides what the process inherits, before Python starts. */
  environment: Record<string, string>;
};

export type SchedulerLaunchOptions = {
  /** Interpreter of the user's environment. */
  python: string;
  /** The one address it listens on; never left to Dask, whose default is all of them (H11). */
  host: string;
  /** Null: plain tcp, on loopback only. */
  tls: TlsFiles | null;
  /** Inside the cluster's 0700 folder; written by the scheduler once it listens. */
  schedulerFile: string;
  /** Ends by itself after so long without work, also when nobody is left to stop it; null: never. */
  idleTimeoutSeconds: number | null;
  /** Guess for tasks never seen before: Dask's 0.5 s starves long ones of workers. */
  unknownTaskDurationSeconds?: number;
  /** Losses of a worker a task survives; Dask's 3 is little where jobs end by walltime. */
  allowedFailures?: number;
  /** Null: no dashboard pages, half the start-up time; its HTTP port opens all the same. */
  dashboard?: boolean;
  preload?: readonly string[];
};

export type WorkerLaunchOptions = {
  python: string;
  scheduler: { address: string } | { file: string };
  /** The worker id: unique per attempt and non-numeric (H12). */
  name: string;
  nthreads: number;
  /** Bytes; null: no limit. */
  memoryLimitBytes: number | null;
  resources: Readonly<Record<string, number>>;
  /** One per host and cluster: the next worker there removes what a killed one left. */
  localDirectory: string;
  /** Ends when no scheduler is found for so long; without it a worker waits for ever (H13). */
  deathTimeoutSeconds: number;
  /**
   * Where it listens, for comms and for HTTP. An address of the host, or an interface of it where
   * the address is not known beforehand; comms then listen on that interface alone.
   */
  host: { address: string } | { interface: string };
  tls: TlsFiles | null;
  /** Of the cluster: the same in every worker on every host. */
  hashSeed: number;
  /** Retires itself after so long, below the walltime (H8); null: lives on. */
  lifetimeSeconds?: number | null;
  preload?: readonly string[];
};

/** A worker that never finds its scheduler ends by itself after this (reliability R18). */
export const DEATH_TIMEOUT_SECONDS = 300;
export const UNKNOWN_TASK_DURATION_SECONDS = 5;
export const ALLOWED_FAILURES = 10;

/** @throws RangeError for plain tcp beyond loopback. */
export function schedulerLaunch(options: SchedulerLaunchOptions): Launch {
  if (options.tls === null && !isLoopback(options.host)) {
    throw new RangeError(
      `A scheduler without encryption may listen on loopback only, not on ${options.host}`
    );
  }
  return {
    argv: [
      options.python,
      '-m',
      'distributed.cli.dask_scheduler',
      '--host',
      options.host,
      '--port',
      '0',
      '--protocol',
      options.tls === null ? 'tcp' : 'tls',
      '--scheduler-file',
      options.schedulerFile,
      options.dashboard === false ? '--no-dashboard' : '--dashboard',
      '--dashboard-address',
      '127.0.0.1:0',
      ...(options.idleTimeoutSeconds === null
        ? []
        : ['--idle-timeout', `${options.idleTimeoutSeconds} seconds`]),
      ...preloads(options.preload)
    ],
    environment: {
      ...securityEnvironment(['SCHEDULER'], options.tls),
      DASK_DISTRIBUTED__SCHEDULER__UNKNOWN_TASK_DURATION: `${
        options.unknownTaskDurationSeconds ?? UNKNOWN_TASK_DURATION_SECONDS
      }s`,
      DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES: String(
        options.allowedFailures ?? ALLOWED_FAILURES
      )
    }
  };
}

/** @throws RangeError for a name Dask would read as a number. */
export function workerLaunch(options: WorkerLaunchOptions): Launch {
  if (/^\s*[+-]?\d[\d_]*\s*$/.test(options.name)) {
    throw new RangeError(
      `A worker name must not be a number, as "${options.name}" is`
    );
  }
  const resources = Object.entries(options.resources);
  return {
    argv: [
      options.python,
      '-m',
      'distributed.cli.dask_worker',
      ...('address' in options.scheduler
        ? [options.scheduler.address]
        : ['--scheduler-file', options.scheduler.file]),
      '--name',
      options.name,
      '--nworkers',
      '1',
      '--nthreads',
      String(options.nthreads),
      '--memory-limit',
      String(options.memoryLimitBytes ?? 0),
      ...(resources.length === 0
        ? []
        : [
            '--resources',
            resources.map(([name, amount]) => `${name}=${amount}`).join(' ')
          ]),
      '--local-directory',
      options.localDirectory,
      '--death-timeout',
      String(options.deathTimeoutSeconds),
      // Memory limits are enforced by the pool or the job; a nanny costs an import and 60 MB.
      '--no-nanny',
      ...('address' in options.host
        ? ['--host', options.host.address]
        : ['--interface', options.host.interface]),
      '--no-dashboard',
      // Opened even so; its default is all interfaces.
      '--dashboard-address',
      '127.0.0.1:0',
      ...(options.lifetimeSeconds === undefined ||
      options.lifetimeSeconds === null
        ? []
        : ['--lifetime', `${options.lifetimeSeconds} seconds`]),
      ...preloads(options.preload)
    ],
    environment: {
      ...workerEnvironment(options.hashSeed),
      // Client too: `get_client()` inside a task connects as one, with the worker's own files.
      ...securityEnvironment(['WORKER', 'CLIENT'], options.tls)
    }
  };
}

/**
 * What a nanny would set before its worker starts (config `distributed.nanny.pre-spawn-environ`,
 * distributed#8400), read once by glibc, BLAS and Python: also for a pool that forks workers.
 */
export function workerEnvironment(hashSeed: number): Record<string, string> {
  return {
    OMP_NUM_THREADS: '1',
    MKL_NUM_THREADS: '1',
    OPENBLAS_NUM_THREADS: '1',
    MALLOC_TRIM_THRESHOLD_: '65536',
    PYTHONHASHSEED: String(hashSeed)
  };
}

/** A client's, for kernels and their children: `Client("tls://…")` works from these alone. */
export function clientEnvironment(
  tls: TlsFiles | null
): Record<string, string> {
  return securityEnvironment(['CLIENT'], tls);
}

function securityEnvironment(
  roles: readonly ('SCHEDULER' | 'WORKER' | 'CLIENT')[],
  tls: TlsFiles | null
): Record<string, string> {
  if (tls === null) {
    // What the user's own configuration may demand would refuse plain tcp.
    return { DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION: 'False' };
  }
  return {
    DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION: 'True',
    DASK_DISTRIBUTED__COMM__TLS__MIN_VERSION: '1.2',
    DASK_DISTRIBUTED__COMM__TLS__CA_FILE: tls.caFile,
    ...Object.fromEntries(
      roles.flatMap(role => [
        [`DASK_DISTRIBUTED__COMM__TLS__${role}__CERT`, tls.certFile],
        [`DASK_DISTRIBUTED__COMM__TLS__${role}__KEY`, tls.keyFile]
      ])
    )
  };
}

function preloads(modules: readonly string[] = []): string[] {
  return modules.flatMap(module => ['--preload', module]);
}
