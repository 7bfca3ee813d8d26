/**
 * Batch systems, parallel launchers and allocations as a library: `jupyterlab-muster/backends`.
 *
 * `systems` renders what a batch system wants to read and reads what it answers, `launchers` renders
 * the line that starts a program in parallel, `allocation` tells from inside a job what it was given.
 * All of it is functions from values to values; what runs commands or reads files takes a runner or
 * a reader as an argument. Nothing happens at import.
 * @packageDocumentation
 */
import { schedulingFor, type Scheduling } from './batch/scheduling.js';
import { BUILT_IN } from './batch/systems.js';
import type { CommandRunner } from './commands/command-runner.js';
import { launchers as byName, type Launcher } from './launchers/index.js';

export const SYSTEM_NAMES = [
  'slurm',
  'pbs',
  'torque',
  'sge',
  'lsf',
  'htcondor',
  'oar',
  'flux'
] as const;
export type SystemName = (typeof SYSTEM_NAMES)[number];

export const LAUNCHER_NAMES = [
  'srun',
  'open-mpi',
  'mpich',
  'intel-mpi',
  'jsrun',
  'lrun',
  'flux-run',
  'aprun',
  'ibrun',
  'pals',
  'none'
] as const;
export type LauncherName = (typeof LAUNCHER_NAMES)[number];

function named<Name extends string, Value>(
  names: readonly Name[],
  get: (name: Name) => Value | undefined
): Readonly<Record<Name, Value>> {
  const entries = names.map(name => {
    const value = get(name);
    if (value === undefined) {
      throw new RangeError(`there is no '${name}'`);
    }
    return [name, value] as const;
  });
  return Object.fromEntries(entries) as Record<Name, Value>;
}

/** SchedulingInterface of each built-in batch system; `schedulingFor` makes one of a site's own. */
export const systems: Readonly<Record<SystemName, Scheduling>> = named(
  SYSTEM_NAMES,
  name => {
    const facts = BUILT_IN.get(name);
    return facts === undefined ? undefined : schedulingFor(facts);
  }
);

/** MpiInterface of each launcher. */
export const launchers: Readonly<Record<LauncherName, Launcher>> = named(
  LAUNCHER_NAMES,
  name => byName.get(name)
);

/** EnvironmentInterface: what this process was given, and how long it may still run. */
export * as allocation from './allocation/index.js';

/**
 * Runs commands on this host, without a shell, in this environment and no other.
 * Loaded when it is asked for: everything else needs no process.
 */
export async function localRunner(options: {
  environment: Readonly<Record<string, string>>;
}): Promise<CommandRunner> {
  const { LocalCommandRunner } =
    await import('./commands/local-command-runner.js');
  return new LocalCommandRunner(options);
}

export type * from './allocation/index.js';
export type { Asks } from './allocation/time-left.js';
export {
  BatchError,
  ParseFailed,
  PermissionDenied,
  Rejected,
  SpecError,
  Timeout,
  ToolMissing,
  Unreachable,
  type SpecProblem
} from './batch/errors.js';
export type { ResourceHeader } from './batch/header.js';
export {
  findByToken,
  historyJobs,
  preflight,
  queryJobs,
  queryLimits,
  type JobQuery
} from './batch/inquiry.js';
export {
  cancelJob,
  cancelJobs,
  orderJobs,
  type CancelStep
} from './batch/job-orders.js';
export type { Geometry } from './batch/geometry.js';
export {
  jobSpecSchema,
  parseJobSpec,
  type JobSpec,
  type JobSpecInput,
  type NodeText
} from './batch/job-spec.js';
export type { LimitsContext } from './batch/limits.js';
export {
  batchProfileSchema,
  importProfile,
  NO_PROFILE,
  type BatchProfile,
  type BatchProfileInput
} from './batch/profile.js';
export { shellWord, shellWords } from './batch/quoting.js';
export type {
  CancelResult,
  CommandOutput,
  EstimateResult,
  JobInfo,
  LimitsResult,
  QueryResult,
  QueueLimits,
  SubmitResult,
  TokenMatch
} from './batch/results.js';
export {
  ORDERS,
  schedulingFor,
  type Invocation,
  type Order,
  type Scheduling
} from './batch/scheduling.js';
export type { JobFile } from './batch/script.js';
export { systemFactsSchema, type SystemFacts } from './batch/specification.js';
export {
  JOB_STATES,
  SUBMIT_CODES,
  QUERY_CODES,
  CANCEL_CODES,
  REJECT_REASONS,
  PENDING_REASONS,
  type CancelCode,
  type JobState,
  type PendingReason,
  type QueryCode,
  type RejectReason,
  type SubmitCode
} from './batch/states.js';
export type { QueryContext } from './batch/status.js';
export {
  submitCommand,
  submitScript,
  type Submission,
  type SubmitOptions
} from './batch/submission.js';
export { withSiteSystems, type Systems } from './batch/systems.js';
export type { Exit } from './resource-manager.js';
export type {
  Command,
  CommandResult,
  CommandRunner
} from './commands/command-runner.js';
export {
  chooseLauncher,
  identify,
  judgeRanks,
  launchSpecSchema,
  parseLaunchSpec,
  readRank,
  shellLine,
  type Choice,
  type HostFile,
  type Launch,
  type LaunchContext,
  type Launcher,
  type LauncherDescription,
  type LaunchHost,
  type LaunchSpec,
  type LaunchSpecInput,
  type Rank,
  type RankVariables,
  type VersionAnswer
} from './launchers/index.js';
