/** What the controller needs of the rooms beside it; `main.ts` joins them. */
import type { ResourceManager } from '../../backends/resource-manager.js';
import type {
  EnvironmentView,
  ProfileView,
  SpecEnvironment
} from '../../protocol/index.js';
import type {
  LinkSecurity,
  OpenLinkOptions,
  SchedulerLink
} from '../dask/scheduler-link.js';

/** PEM files of one role. */
export type KeyPair = { certFile: string; keyFile: string };

/** Absolute paths of a cluster's certificates. */
export type CertificateFiles = {
  caFile: string;
  scheduler: KeyPair;
  worker: KeyPair;
  client: KeyPair;
};

export type Certificates = {
  /** A certificate authority and leaves of its own for this cluster; existing ones are kept. */
  create(options: {
    folder: string;
    clusterId: string;
    notAfter: Date;
  }): Promise<CertificateFiles>;
  files(folder: string): CertificateFiles;
  load(folder: string, clusterId: string): Promise<LinkSecurity>;
  /** When they end; null where there are none. */
  notAfter(folder: string): Promise<Date | null>;
  /** All keys, also the authority's. */
  remove(folder: string): Promise<void>;
};

export type SchedulerFile = {
  id: string;
  address: string;
  dashboardPort: number | null;
};

export type Commands = {
  scheduler(options: {
    python: string;
    tls: { caFile: string; certFile: string; keyFile: string } | null;
    schedulerFile: string;
    /** Seconds; null: never. The end that holds when the bridge is gone for good. */
    idleTimeoutSeconds: number | null;
    folder: string;
    hashSeed: number;
  }): { argv: string[]; environment: Record<string, string> };
  worker(options: {
    python: string;
    address: string;
    name: string;
    nthreads: number;
    /** Bytes; null: no limit. */
    memoryLimit: number | null;
    resources: Readonly<Record<string, number>>;
    folder: string;
    tls: { caFile: string; certFile: string; keyFile: string } | null;
    hashSeed: number;
  }): { argv: string[]; environment: Record<string, string> };
  /** null while it is not there or not whole. */
  readSchedulerFile(path: string): Promise<SchedulerFile | null>;
};

export type Limits = {
  maximumWorkers: number | null;
  maximumCores: number | null;
  maximumMemory: number | null;
  allowedBackends: readonly string[] | null;
};

export type Configuration = {
  /** Look at the files again, so that a change counts at once. */
  refresh(): Promise<void>;
  /** Defaults of a request's `lifetime`; fields not said are absent. */
  lifetime(): Record<string, unknown>;
  /** The profile of a request that names neither profile nor backend. */
  defaultProfile(): string | null;
  profiles(): ProfileView[];
  limits(): Limits;
  /** Defaults of a backend from muster.yaml, under what the user says. */
  backendDefaults(backend: string): Record<string, unknown>;
};

export type Environments = {
  /** The interpreter of this request. Throws MusterError `spec-invalid` naming the field. */
  resolve(environment: SpecEnvironment | undefined): Promise<EnvironmentView>;
  list(): Promise<EnvironmentView[]>;
  /** Versions of its packages, for comparison with a scheduler's. */
  packages(python: string): Promise<Readonly<Record<string, string | null>>>;
};

export type Collaborators = {
  backends: ReadonlyMap<string, ResourceManager>;
  certificates: Certificates;
  commands: Commands;
  configuration: Configuration;
  environments: Environments;
  openLink: (options: OpenLinkOptions) => Promise<SchedulerLink>;
};
