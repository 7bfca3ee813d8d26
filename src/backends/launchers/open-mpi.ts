/** mpirun of Open MPI 4 and 5 (specs/launchers-and-allocations.md §1; recorded: 4.1.4, 5.0.11). */
import type { AllocationKind } from '../allocation/allocation.js';
import type { SpecProblem } from '../batch/errors.js';
import { fileOfHosts, firstTasks, missingHosts, remoteStart } from './hosts.js';
import { slotsShort } from './launch.js';
import type { LauncherFacts, LaunchPlan } from './launcher.js';

/** Whose allocation it finds by itself, in every build. */
const PICKS_UP: readonly AllocationKind[] = ['slurm', 'pbs', 'torque'];

function needsFile(plan: LaunchPlan): boolean {
  return (
    plan.scheduler === null ||
    plan.pinned ||
    plan.spec.tasksPerNode === null ||
    !PICKS_UP.includes(plan.scheduler)
  );
}

/** `ppr` spreads evenly; different numbers and several programs follow the slots of the file. */
function mapping(plan: LaunchPlan): string {
  const { spec, dialect } = plan;
  const even = spec.tasksPerNode !== null && spec.mpmd.length === 0;
  return [
    even ? `ppr:${spec.tasksPerNode ?? 1}:node` : 'slot',
    // PE binds; without binding it is refused.
    ...(spec.bind === 'core' && !spec.oversubscribe
      ? [`PE=${spec.cpusPerTask}`]
      : []),
    // Two --map-by are refused by 5.
    ...(spec.oversubscribe && dialect === '5' ? ['OVERSUBSCRIBE'] : [])
  ].join(':');
}

export const openMpi: LauncherFacts = {
  name: 'open-mpi',
  title: 'Open MPI',
  dialects: ['5', '4'],
  proven: 'recorded',
  capabilities: {
    hosts: true,
    uneven: true,
    bind: true,
    gpus: false,
    env: true,
    workdir: true,
    label: true,
    oversubscribe: true,
    mpmd: true
  },
  program: 'mpirun',
  rankVariables: {
    rank: 'OMPI_COMM_WORLD_RANK',
    localRank: 'OMPI_COMM_WORLD_LOCAL_RANK',
    size: 'OMPI_COMM_WORLD_SIZE'
  },
  // Never prterun: it may print none.
  versionProbe: ['mpirun', '--version'],
  readVersion: text => {
    const match = /\((?:Open MPI|OpenRTE)\) (\d+)(\.\d\S*)/u.exec(text);
    if (match === null) {
      return null;
    }
    const major = Number(match[1]);
    return {
      version: `${match[1] ?? ''}${match[2] ?? ''}`,
      dialect: major <= 4 ? '4' : major === 5 ? '5' : null
    };
  },
  cannotWorkIn: () => null,
  check: (plan, allocation) => {
    const problems: SpecProblem[] = missingHosts(
      plan,
      [...PICKS_UP, 'sge'],
      'Open MPI'
    );
    if (
      plan.nodeFileVariable === 'COBALT_NODEFILE' &&
      (plan.spec.tasksPerNode ?? 1) > 1
    ) {
      problems.push({
        field: 'tasksPerNode',
        message:
          'COBALT_NODEFILE gives one slot per host: render inside the allocation'
      });
    }
    // Slots come from tasks: an allocation of 1 task × 32 cpus refuses -np 32.
    const short =
      allocation === null ||
      plan.spec.oversubscribe ||
      !PICKS_UP.includes(allocation.kind)
        ? null
        : slotsShort(plan, allocation);
    if (short !== null) {
      problems.push({
        field: 'tasksPerNode',
        message: `Open MPI takes its slots from the tasks of the job: ${short.host} has ${short.slots}, ${short.tasks} are asked for; ask the batch system for as many tasks, or oversubscribe`
      });
    }
    return problems;
  },
  render: plan => {
    const { spec, dialect } = plan;
    const hostFile = needsFile(plan) ? fileOfHosts(plan, 'slots') : undefined;
    return {
      options: [
        plan.program,
        dialect === '4' ? '-np' : '-n',
        // Always with ppr: without it 5 starts one task per slot.
        String(firstTasks(plan)),
        '--map-by',
        mapping(plan),
        '--bind-to',
        spec.bind === 'core' && !spec.oversubscribe ? 'core' : 'none',
        ...(hostFile === undefined ? [] : ['--hostfile', hostFile.path]),
        ...Object.keys(spec.env).flatMap(name => ['-x', name]),
        ...(spec.oversubscribe && dialect === '4' ? ['--oversubscribe'] : []),
        ...(spec.workdir === undefined ? [] : ['--wdir', spec.workdir]),
        ...(spec.label
          ? dialect === '4'
            ? ['--tag-output']
            : ['--output', 'tag']
          : []),
        // The end of input never reaches the ranks of 5: a program that reads would hang.
        ...(dialect === '5' ? ['--stdin', 'none'] : [])
      ],
      hostFile,
      warnings: [
        ...remoteStart(plan),
        ...(plan.scheduler === 'sge' && plan.hosts === null && plan.spread
          ? [
              'Open MPI finds the hosts of Grid Engine only where it was built for it'
            ]
          : [])
      ]
    };
  }
};
