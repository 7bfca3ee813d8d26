/**
 * Joins the rooms into a working set of clusters: store, backends, Dask link, certificates. Used by
 * `main.ts` for the daemon and by tests that want the real thing without its listeners.
 */
import path from 'node:path';
import type { Logger } from 'pino';
import type { ResourceManager } from '../backends/resource-manager.js';
import { Books } from './clusters/books.js';
import type { ClientRegistry } from './clusters/clients.js';
import { ClusterManager } from './clusters/cluster-manager.js';
import type { Timings } from './clusters/controller.js';
import { Controller, DEFAULT_TIMINGS } from './clusters/controller.js';
import type {
  Certificates,
  Commands,
  Configuration,
  Environments
} from './clusters/ports.js';
import {
  DEATH_TIMEOUT_SECONDS,
  schedulerLaunch,
  workerEnvironment,
  workerLaunch
} from './dask/launch.js';
import { openSchedulerLink } from './dask/open-link.js';
import { readSchedulerFile } from './dask/scheduler-file.js';
import {
  certificateFiles,
  createClusterCertificates,
  loadLinkSecurity,
  readClusterCertificates,
  removeKeys
} from './security/certificates.js';
import type { Store, StoreSnapshot } from './store/store.js';

const LOOPBACK = '127.0.0.1';

export type AssemblyOptions = {
  store: Store;
  snapshot: StoreSnapshot;
  backends: ReadonlyMap<string, ResourceManager>;
  configuration: Configuration;
  environments: Environments;
  clients: ClientRegistry;
  /** Absolute; one folder a cluster. */
  clustersFolder: string;
  /** This bridge and its host, shown as the owner. */
  bridge: string;
  host: string;
  log: Logger;
  /** Throws when this bridge must not act any more. */
  mayAct: () => Promise<void>;
  timings?: Partial<Timings>;
};

export function assembleClusters(options: AssemblyOptions): ClusterManager {
  const books = new Books({
    store: options.store,
    owner: {
      bridge: options.bridge,
      host: options.host,
      epoch: options.store.epoch
    },
    seq: options.snapshot.seq,
    onError: error => {
      options.log.error({ err: error }, 'the store could not be written');
    }
  });
  const controller = new Controller({
    context: {
      backends: options.backends,
      certificates: CERTIFICATES,
      commands: COMMANDS,
      configuration: options.configuration,
      environments: options.environments,
      openLink: openSchedulerLink,
      books,
      log: options.log,
      mayAct: options.mayAct
    },
    clients: options.clients,
    timings: { ...DEFAULT_TIMINGS, ...options.timings }
  });
  return new ClusterManager({
    store: options.store,
    controller,
    clients: options.clients,
    clustersFolder: options.clustersFolder
  });
}

const CERTIFICATES: Certificates = {
  create: createClusterCertificates,
  files: folder => ({
    caFile: certificateFiles(folder, 'client').caFile,
    scheduler: certificateFiles(folder, 'scheduler'),
    worker: certificateFiles(folder, 'worker'),
    client: certificateFiles(folder, 'client')
  }),
  load: loadLinkSecurity,
  notAfter: async folder =>
    (await readClusterCertificates(folder))?.notAfter ?? null,
  remove: removeKeys
};

const COMMANDS: Commands = {
  scheduler: ({ python, tls, schedulerFile, idleTimeoutSeconds, hashSeed }) => {
    const launch = schedulerLaunch({
      python,
      host: LOOPBACK,
      tls,
      schedulerFile,
      idleTimeoutSeconds
    });
    // The same once-read variables as the workers': one pool serves both.
    return {
      argv: launch.argv,
      environment: { ...workerEnvironment(hashSeed), ...launch.environment }
    };
  },
  worker: ({
    python,
    address,
    name,
    nthreads,
    memoryLimit,
    resources,
    folder,
    tls,
    hashSeed
  }) =>
    workerLaunch({
      python,
      scheduler: { address },
      name,
      nthreads,
      memoryLimitBytes: memoryLimit,
      resources,
      localDirectory: path.join(folder, 'scratch'),
      deathTimeoutSeconds: DEATH_TIMEOUT_SECONDS,
      host: { address: LOOPBACK },
      tls,
      hashSeed
    }),
  readSchedulerFile
};
