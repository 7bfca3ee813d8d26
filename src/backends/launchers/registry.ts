/** The only place that lists the launchers. */
import type { AllocationKind } from '../allocation/allocation.js';
import type { SpecProblem } from '../batch/errors.js';
import { fluxRun } from './flux-run.js';
import { intelMpi } from './intel-mpi.js';
import { launchCommand, problemsOf } from './launch.js';
import type { LaunchSpecInput } from './launch-spec.js';
import type {
  Launch,
  LaunchContext,
  LauncherDescription,
  LauncherFacts,
  RankVariables,
  VersionAnswer
} from './launcher.js';
import { mpich } from './mpich.js';
import { none } from './none.js';
import { openMpi } from './open-mpi.js';
import { srun } from './srun.js';
import { aprun, ibrun, jsrun, lrun, pals } from './vendors.js';

/** One launcher as its users see it. */
export type Launcher = {
  describe(): LauncherDescription;
  /** @throws SpecError naming every problem at once */
  launchCommand(
    spec: LaunchSpecInput,
    command: readonly string[],
    context?: LaunchContext
  ): Launch;
  /** What stands in the way; empty: nothing that is known. */
  validate(spec: LaunchSpecInput, context?: LaunchContext): SpecProblem[];
  /** Why this launcher cannot be used in that batch system; null: it can. */
  cannotWorkIn(kind: AllocationKind): string | null;
  rankVars(): RankVariables | null;
  /** The command whose text `parseVersion` reads; null: it has none. */
  versionProbe(): string[] | null;
  /** null: this text is not of this launcher. */
  parseVersion(text: string): VersionAnswer | null;
};

export function launcherOf(facts: LauncherFacts): Launcher {
  const { name, title, dialects, proven, capabilities } = facts;
  return {
    describe: () => ({ name, title, dialects, proven, capabilities }),
    launchCommand: (spec, command, context) =>
      launchCommand(facts, spec, command, context),
    validate: (spec, context) => problemsOf(facts, spec, context),
    cannotWorkIn: facts.cannotWorkIn,
    rankVars: () => facts.rankVariables,
    versionProbe: () =>
      facts.versionProbe === null ? null : [...facts.versionProbe],
    parseVersion: text => {
      const read = facts.readVersion(text);
      if (read === null) {
        return null;
      }
      const [newest = ''] = dialects;
      return {
        dialect: read.dialect ?? newest,
        version: read.version === '' ? null : read.version,
        warnings:
          read.dialect === null
            ? [
                `${title} ${read.version} is newer than what we know: rendered as ${newest}`
              ]
            : []
      };
    }
  };
}

const FACTS: readonly LauncherFacts[] = [
  srun,
  openMpi,
  mpich,
  intelMpi,
  jsrun,
  lrun,
  fluxRun,
  aprun,
  ibrun,
  pals,
  none
];

/** By name. */
export const launchers: ReadonlyMap<string, Launcher> = new Map(
  FACTS.map(facts => [facts.name, launcherOf(facts)])
);

/** Whose `mpirun` or `mpiexec` is it? By the text of its version; null: none we know. */
export function identify(
  text: string
): (VersionAnswer & { name: string }) | null {
  for (const [name, launcher] of launchers) {
    const answer = launcher.parseVersion(text);
    if (answer !== null) {
      return { name, ...answer };
    }
  }
  return null;
}
