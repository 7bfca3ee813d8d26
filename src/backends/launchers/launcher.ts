/**
 * MpiInterface: one launcher as plain functions from values to values (specs/resource-manager.md
 * §3). A launcher knows its own command line and nothing of queues; any of them can be used inside
 * any allocation, and where that cannot work it says why.
 */
import type { Allocation, AllocationKind } from '../allocation/allocation.js';
import type { SpecProblem } from '../batch/errors.js';
import type { LaunchHost, LaunchSpec } from './launch-spec.js';

export type RankVariables = {
  rank: string;
  localRank: string | null;
  size: string | null;
};

export type LauncherDescription = {
  name: string;
  title: string;
  /** The newest first; it is used where the version is not known. */
  dialects: readonly string[];
  /** `recorded`: its answers are in our fixtures; `documented`: read in its manual only. */
  proven: 'recorded' | 'documented';
  capabilities: {
    /** Can be told on which hosts to start. */
    hosts: boolean;
    /** Can put different numbers of tasks on different hosts. */
    uneven: boolean;
    bind: boolean;
    gpus: boolean;
    /** Passes our variables on to other hosts by itself. */
    env: boolean;
    workdir: boolean;
    label: boolean;
    oversubscribe: boolean;
    mpmd: boolean;
  };
};

/** A file of host names the launcher reads. */
export type HostFile = {
  /** The word for it in argv. */
  path: string;
  /** What must be written there first; null: the batch system has written it. */
  text: string | null;
  /** `path` stands for the value of this variable inside the job (`shellLine` writes it so). */
  variable: string | null;
};

export type Launch = {
  argv: string[];
  hostFile: HostFile | null;
  /** To be set for the launcher, in addition to what is there. */
  env: Record<string, string>;
  /** What the launcher does not honour, and what must be so for the line to work. */
  warnings: string[];
};

/** Where a launch happens: seen from inside, or told before the job exists. */
export type LaunchContext = {
  /** Inside: the hosts come from here. */
  allocation?: Allocation | undefined;
  /** Before the job exists: the batch system the line will run under. */
  scheduler?: AllocationKind | undefined;
  /** One of the launcher's dialects; not given: the newest, with a warning. */
  dialect?: string | undefined;
  /** The launcher's program, where it is not the one in PATH. */
  program?: string | undefined;
  /** Where the text of a host file will be written. */
  hostFile?: string | undefined;
};

/** What a launcher renders from: everything is decided. */
export type LaunchPlan = {
  spec: LaunchSpec;
  command: readonly string[];
  /** Hosts with their tasks; null: all the launcher finds by itself. */
  hosts: LaunchHost[] | null;
  /** Fewer hosts than the allocation has, or an order of our own: the launcher must be told. */
  pinned: boolean;
  scheduler: AllocationKind | null;
  /** More than one host is used, or may be. */
  spread: boolean;
  dialect: string;
  program: string;
  /** The host file in one of these forms; throws SpecError where no path was given. */
  hostFile(form: HostFileForm): HostFile;
  /** The batch system's own file of hosts, one line per slot: its variable, before the job exists. */
  nodeFileVariable: string | null;
};

/** `n1 slots=2`; `n1:2`; a line per slot; a line per host. */
export type HostFileForm = 'slots' | 'colon' | 'repeated' | 'distinct';

export type Rendering = {
  /** Program, and everything before the extra arguments. */
  options: string[];
  hostFile?: HostFile | undefined;
  env?: Record<string, string> | undefined;
  warnings?: string[] | undefined;
};

export type VersionAnswer = {
  dialect: string;
  version: string | null;
  warnings: string[];
};

/** The facts of one launcher. `render` and `parseVersion` are pure. */
export type LauncherFacts = LauncherDescription & {
  program: string;
  rankVariables: RankVariables | null;
  versionProbe: string[] | null;
  /** Does this text come from this launcher? The version in it, or null. */
  readVersion(text: string): { version: string; dialect: string | null } | null;
  /** Why it cannot work in this batch system; null: it can. */
  cannotWorkIn: (kind: AllocationKind) => string | null;
  /** What only this launcher must be asked for or cannot have. */
  check?(plan: LaunchPlan, allocation: Allocation | null): SpecProblem[];
  render(plan: LaunchPlan): Rendering;
};
