/** srun, Slurm's own launcher (specs/launchers-and-allocations.md §1). */
import type { LauncherFacts } from './launcher.js';
import { onlyIn } from './hosts.js';

export const srun: LauncherFacts = {
  name: 'srun',
  title: 'srun',
  dialects: ['slurm'],
  proven: 'recorded',
  capabilities: {
    hosts: true,
    uneven: true,
    bind: true,
    gpus: true,
    env: true,
    workdir: true,
    label: true,
    oversubscribe: true,
    mpmd: false
  },
  program: 'srun',
  // In a batch script these are there already, and describe the script.
  rankVariables: {
    rank: 'SLURM_PROCID',
    localRank: 'SLURM_LOCALID',
    size: 'SLURM_NTASKS'
  },
  versionProbe: ['srun', '--version'],
  readVersion: text => {
    const match = /^slurm(?:-wlm)? (\d+\.\d+\S*)/mu.exec(text);
    return match === null
      ? null
      : { version: match[1] ?? '', dialect: 'slurm' };
  },
  cannotWorkIn: onlyIn('srun', ['slurm']),
  render: plan => {
    const { spec, hosts, pinned } = plan;
    const uneven = spec.tasksPerNode === null;
    const hostFile = uneven ? plan.hostFile('repeated') : undefined;
    return {
      options: [
        plan.program,
        '-N',
        String(spec.nodes),
        '-n',
        String(spec.tasks),
        // With -n this is only a maximum, which is what keeps tasks from gathering on one node.
        ...(uneven
          ? ['--distribution=arbitrary']
          : [`--ntasks-per-node=${spec.tasksPerNode ?? 1}`]),
        // Always: 22.05 stopped reading SLURM_CPUS_PER_TASK, 23.11 went back.
        '-c',
        String(spec.cpusPerTask),
        ...(spec.gpusPerTask > 0
          ? [`--gpus-per-task=${spec.gpusPerTask}`, '--gpu-bind=closest']
          : []),
        `--cpu-bind=${spec.bind === 'core' && !spec.oversubscribe ? 'cores' : 'none'}`,
        ...(spec.mpi === undefined ? [] : [`--mpi=${spec.mpi}`]),
        // A step that ends with an error must not end its neighbours and hide its exit code.
        '-K0',
        ...(pinned && !uneven && hosts !== null
          ? [`--nodelist=${hosts.map(one => one.host).join(',')}`]
          : []),
        ...(spec.group > 0 ? [`--het-group=${spec.group}`] : []),
        ...(spec.overlap ? ['--overlap'] : []),
        ...(spec.oversubscribe ? ['--overcommit'] : []),
        ...(spec.workdir === undefined ? [] : [`--chdir=${spec.workdir}`]),
        ...(spec.label ? ['--label'] : [])
      ],
      hostFile,
      env: {
        ...(hostFile === undefined ? {} : { SLURM_HOSTFILE: hostFile.path }),
        // A job submitted with --export=NONE hands nothing to its steps otherwise.
        ...(Object.keys(spec.env).length > 0 ? { SLURM_EXPORT_ENV: 'ALL' } : {})
      }
    };
  }
};
