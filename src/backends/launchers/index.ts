/** MpiInterface: the command lines of parallel launchers. */
export { chooseLauncher, type Choice } from './choice.js';
export {
  BINDINGS,
  MPI_FLAVOURS,
  launchSpecSchema,
  parseLaunchSpec,
  type LaunchHost,
  type LaunchSpec,
  type LaunchSpecInput
} from './launch-spec.js';
export type {
  HostFile,
  HostFileForm,
  Launch,
  LaunchContext,
  LauncherDescription,
  LauncherFacts,
  LaunchPlan,
  RankVariables,
  Rendering,
  VersionAnswer
} from './launcher.js';
export { judgeRanks, readRank, type Rank } from './ranks.js';
export { identify, launcherOf, launchers, type Launcher } from './registry.js';
export { shellLine } from './shell-line.js';
