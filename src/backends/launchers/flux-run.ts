/** flux run (specs/launchers-and-allocations.md §1; recorded: 0.88.0). */
import { onlyIn } from './hosts.js';
import type { LauncherFacts } from './launcher.js';

export const fluxRun: LauncherFacts = {
  name: 'flux-run',
  title: 'flux run',
  dialects: ['flux'],
  proven: 'recorded',
  capabilities: {
    hosts: true,
    uneven: false,
    bind: true,
    gpus: true,
    env: true,
    workdir: true,
    label: true,
    oversubscribe: false,
    mpmd: false
  },
  program: 'flux',
  rankVariables: {
    rank: 'FLUX_TASK_RANK',
    localRank: 'FLUX_TASK_LOCAL_ID',
    size: 'FLUX_JOB_SIZE'
  },
  versionProbe: ['flux', '--version'],
  readVersion: text => {
    const match = /^(?:flux-core|commands):?\s+v?(?:flux-core-)?(\d\S*)/mu.exec(
      text
    );
    return match === null ? null : { version: match[1] ?? '', dialect: 'flux' };
  },
  cannotWorkIn: onlyIn('flux run', ['flux']),
  // Per task only: the options per resource are never mixed with these.
  render: ({ spec, program, pinned, hosts }) => ({
    options: [
      program,
      'run',
      '-N',
      String(spec.nodes),
      '-n',
      String(spec.tasks),
      '-c',
      String(spec.cpusPerTask),
      ...(spec.gpusPerTask > 0 ? ['-g', String(spec.gpusPerTask)] : []),
      '-o',
      `cpu-affinity=${spec.bind === 'core' ? 'per-task' : 'off'}`,
      ...(spec.gpusPerTask > 0 ? ['-o', 'gpu-affinity=per-task'] : []),
      ...(pinned && hosts !== null
        ? [`--requires=hosts:${hosts.map(one => one.host).join(',')}`]
        : []),
      ...(spec.workdir === undefined ? [] : [`--cwd=${spec.workdir}`]),
      ...(spec.label ? ['--label-io'] : [])
    ],
    warnings:
      spec.workdir === undefined
        ? []
        : ['flux run starts in /tmp where the working directory is missing']
  })
};
