/** mpiexec of MPICH: Hydra (specs/launchers-and-allocations.md §1; recorded: 4.0.2, 5.0.2). */
import type { AllocationKind } from '../allocation/allocation.js';
import { fileOfHosts, firstTasks, missingHosts, remoteStart } from './hosts.js';
import type { LauncherFacts } from './launcher.js';

const PICKS_UP: readonly AllocationKind[] = ['slurm', 'pbs', 'torque', 'sge'];

/** Where Hydra would choose a way of starting that is not there. */
const BY_SSH: readonly AllocationKind[] = ['oar', 'flux', 'cobalt'];

export const mpich: LauncherFacts = {
  name: 'mpich',
  title: 'MPICH',
  dialects: ['hydra'],
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
  program: 'mpiexec',
  rankVariables: {
    rank: 'PMI_RANK',
    localRank: 'MPI_LOCALRANKID',
    size: 'PMI_SIZE'
  },
  // -V is "verbose" here.
  versionProbe: ['mpiexec', '--version'],
  readVersion: text => {
    const match =
      /^HYDRA build details:\s+Version:\s+(\d\S*)/mu.exec(text) ??
      /^MPICH Version:\s+(\d\S*)/mu.exec(text);
    return match === null
      ? null
      : { version: match[1] ?? '', dialect: 'hydra' };
  },
  cannotWorkIn: () => null,
  check: plan => missingHosts(plan, PICKS_UP, 'MPICH'),
  render: plan => {
    const { spec } = plan;
    // Some builds misread Slurm's host lists: a file is given wherever the hosts are known.
    const hostFile = fileOfHosts(plan, 'colon');
    return {
      options: [
        plan.program,
        '-n',
        String(firstTasks(plan)),
        // -ppn outranks the counts of the file.
        ...(spec.tasksPerNode === null || spec.mpmd.length > 0
          ? []
          : ['-ppn', String(spec.tasksPerNode)]),
        ...(hostFile === undefined ? [] : ['-f', hostFile.path]),
        ...(plan.scheduler !== null &&
        plan.spread &&
        BY_SSH.includes(plan.scheduler)
          ? ['-launcher', 'ssh']
          : []),
        ...(spec.workdir === undefined ? [] : ['-wdir', spec.workdir]),
        ...(spec.label ? ['-prepend-rank'] : []),
        ...(spec.bind === 'core' && !spec.oversubscribe
          ? ['-bind-to', `core:${spec.cpusPerTask}`]
          : [])
      ],
      hostFile,
      warnings: [
        ...remoteStart(plan),
        ...(plan.scheduler === 'slurm' && hostFile === undefined
          ? [
              'some builds of MPICH misread the host lists of Slurm: render inside the allocation to give a file of hosts'
            ]
          : [])
      ]
    };
  }
};
