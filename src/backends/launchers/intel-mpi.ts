/** mpiexec.hydra of Intel MPI (specs/launchers-and-allocations.md §1; recorded: 2021.18.1). */
import type { AllocationKind } from '../allocation/allocation.js';
import {
  fileOfHosts,
  firstTasks,
  missingHosts,
  remoteStart,
  SYSTEM_TITLES
} from './hosts.js';
import type { LauncherFacts, LaunchPlan } from './launcher.js';

const PICKS_UP: readonly AllocationKind[] = ['slurm', 'pbs', 'torque', 'sge'];

/** How programs on other hosts are started; not given: Intel MPI chooses by itself. */
function bootstrap(plan: LaunchPlan): string[] {
  switch (plan.scheduler) {
    case null:
    case 'sge':
    case 'htcondor':
      return [];
    case 'slurm':
    case 'lsf':
      return ['-bootstrap', plan.scheduler];
    // It takes the hosts of PBS, but its launcher for it is not there.
    case 'pbs':
    case 'torque':
    case 'oar':
    case 'flux':
    case 'cobalt':
      return ['-bootstrap', 'ssh'];
  }
}

export const intelMpi: LauncherFacts = {
  name: 'intel-mpi',
  title: 'Intel MPI',
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
  program: 'mpiexec.hydra',
  rankVariables: {
    rank: 'PMI_RANK',
    localRank: 'MPI_LOCALRANKID',
    size: 'PMI_SIZE'
  },
  versionProbe: ['mpiexec.hydra', '--version'],
  readVersion: text => {
    const match = /Intel\(R\) MPI Library[^\n]*?Version (\S+)/u.exec(text);
    return match === null
      ? null
      : { version: match[1] ?? '', dialect: 'hydra' };
  },
  cannotWorkIn: () => null,
  check: plan => missingHosts(plan, PICKS_UP, 'Intel MPI'),
  render: plan => {
    const { spec } = plan;
    const uneven = spec.tasksPerNode === null || spec.mpmd.length > 0;
    const pickedUp =
      plan.hosts === null &&
      (plan.scheduler === 'pbs' || plan.scheduler === 'torque');
    // In -f a host counts once and host:K is ignored; -machinefile counts, and outranks -ppn.
    const hostFile = pickedUp
      ? undefined
      : fileOfHosts(plan, uneven ? 'colon' : 'distinct');
    const byLines =
      hostFile?.variable !== undefined &&
      hostFile.variable !== null &&
      hostFile.variable !== 'COBALT_NODEFILE';
    return {
      options: [
        plan.program,
        '-n',
        String(firstTasks(plan)),
        ...(uneven || byLines ? [] : ['-ppn', String(spec.tasksPerNode ?? 1)]),
        ...(hostFile === undefined
          ? []
          : [uneven || byLines ? '-machinefile' : '-f', hostFile.path]),
        ...bootstrap(plan),
        ...(spec.workdir === undefined ? [] : ['-wdir', spec.workdir]),
        ...(spec.label ? ['-prepend-rank'] : [])
      ],
      hostFile,
      env: {
        ...(spec.bind === 'core' && !spec.oversubscribe
          ? { I_MPI_PIN_DOMAIN: String(spec.cpusPerTask) }
          : { I_MPI_PIN: '0' }),
        ...(plan.scheduler === null
          ? {}
          : { I_MPI_JOB_RESPECT_PROCESS_PLACEMENT: '0' })
      },
      warnings: [
        ...remoteStart(plan),
        ...(byLines && plan.scheduler !== null
          ? [
              `tasks are placed by the lines of the host file of ${SYSTEM_TITLES[plan.scheduler]}, not ${spec.tasksPerNode ?? 1} per node`
            ]
          : []),
        ...(spec.workdir === undefined
          ? []
          : [
              'Intel MPI runs in the current directory where the working directory is missing'
            ])
      ]
    };
  }
};
