/**
 * The launchers of vendors and sites, from their manuals (specs/launchers-and-allocations.md §1):
 * jsrun and lrun (IBM, LSF), aprun (Cray ALPS), ibrun (TACC), mpiexec of PALS (HPE).
 */
import { onlyIn } from './hosts.js';
import type { LauncherFacts } from './launcher.js';

const NOTHING = {
  hosts: false,
  uneven: false,
  bind: false,
  gpus: false,
  env: true,
  workdir: false,
  label: false,
  oversubscribe: false,
  mpmd: false
};

export const jsrun: LauncherFacts = {
  name: 'jsrun',
  title: 'jsrun',
  dialects: ['jsm'],
  proven: 'documented',
  capabilities: { ...NOTHING, bind: true, gpus: true, workdir: true },
  program: 'jsrun',
  rankVariables: {
    rank: 'OMPI_COMM_WORLD_RANK',
    localRank: 'OMPI_COMM_WORLD_LOCAL_RANK',
    size: 'OMPI_COMM_WORLD_SIZE'
  },
  versionProbe: ['jsrun', '--version'],
  readVersion: text => {
    const match = /^jsrun\b\D*(\d\S*)/mu.exec(text);
    return match === null ? null : { version: match[1] ?? '', dialect: 'jsm' };
  },
  cannotWorkIn: onlyIn('jsrun', ['lsf']),
  // One resource set per task; a set cannot span nodes.
  render: ({ spec, program }) => ({
    options: [
      program,
      '-n',
      String(spec.tasks),
      '-r',
      String(spec.tasksPerNode ?? 1),
      '-a',
      '1',
      '-c',
      String(spec.cpusPerTask),
      '-g',
      String(spec.gpusPerTask),
      '-b',
      spec.bind === 'core' ? `packed:${spec.cpusPerTask}` : 'none',
      '-d',
      'packed',
      ...(spec.mpi === 'none' ? ['--smpiargs=off'] : []),
      ...(spec.workdir === undefined ? [] : ['-h', spec.workdir])
    ]
  })
};

export const lrun: LauncherFacts = {
  name: 'lrun',
  title: 'lrun',
  dialects: ['lrun'],
  proven: 'documented',
  capabilities: NOTHING,
  program: 'lrun',
  rankVariables: jsrun.rankVariables,
  versionProbe: null,
  readVersion: () => null,
  cannotWorkIn: onlyIn('lrun', ['lsf']),
  render: ({ spec, program }) => ({
    // The values are glued to their options.
    options: [program, `-N${spec.nodes}`, `-T${spec.tasksPerNode ?? 1}`],
    warnings: [
      ...(spec.cpusPerTask > 1
        ? [
            `lrun divides the cores of a node evenly: ${spec.cpusPerTask} cpus per task are not passed on`
          ]
        : []),
      ...(spec.bind === 'none' ? ['lrun always binds'] : [])
    ]
  })
};

export const aprun: LauncherFacts = {
  name: 'aprun',
  title: 'aprun',
  dialects: ['alps'],
  proven: 'documented',
  capabilities: { ...NOTHING, hosts: true, bind: true },
  program: 'aprun',
  rankVariables: { rank: 'ALPS_APP_PE', localRank: null, size: null },
  versionProbe: ['aprun', '--version'],
  readVersion: text => {
    const match = /^aprun\b\D*(\d\S*)/mu.exec(text);
    return match === null ? null : { version: match[1] ?? '', dialect: 'alps' };
  },
  cannotWorkIn: onlyIn('aprun', ['pbs', 'torque', 'slurm', 'cobalt']),
  check: ({ pinned, hosts }) =>
    pinned && (hosts ?? []).some(one => !/^(?:nid)?\d+$/u.test(one.host))
      ? [{ field: 'hosts', message: 'aprun knows hosts by their numbers only' }]
      : [],
  render: ({ spec, program, pinned, hosts }) => ({
    options: [
      program,
      '-n',
      String(spec.tasks),
      '-N',
      String(spec.tasksPerNode ?? 1),
      '-d',
      String(spec.cpusPerTask),
      '-cc',
      spec.bind === 'core' ? 'depth' : 'none',
      ...(pinned && hosts !== null
        ? [
            '-L',
            hosts
              .map(one => String(Number(one.host.replace(/^nid/u, ''))))
              .join(',')
          ]
        : [])
    ],
    warnings: ['two apruns cannot share a node by default']
  })
};

export const ibrun: LauncherFacts = {
  name: 'ibrun',
  title: 'ibrun',
  dialects: ['tacc'],
  proven: 'documented',
  capabilities: NOTHING,
  program: 'ibrun',
  rankVariables: null,
  versionProbe: null,
  readVersion: () => null,
  cannotWorkIn: onlyIn('ibrun', ['slurm', 'sge']),
  render: ({ spec, program }) => ({
    // The offset counts task slots, not nodes.
    options: [program, '-n', String(spec.tasks), '-o', String(spec.offset)],
    env: { IBRUN_TASKS_PER_NODE: String(spec.tasksPerNode ?? 1) },
    warnings:
      spec.cpusPerTask > 1
        ? [
            `ibrun does not bind: ${spec.cpusPerTask} cpus per task are not passed on`
          ]
        : []
  })
};

export const pals: LauncherFacts = {
  name: 'pals',
  title: 'PALS mpiexec',
  dialects: ['pals'],
  proven: 'documented',
  capabilities: { ...NOTHING, hosts: true, bind: true, workdir: true },
  program: 'mpiexec',
  rankVariables: {
    rank: 'PALS_RANKID',
    localRank: 'PALS_LOCAL_RANKID',
    size: null
  },
  versionProbe: ['mpiexec', '--version'],
  readVersion: text => {
    const match = /\bPALS\b\D*(\d\S*)?/u.exec(text);
    return match === null ? null : { version: match[1] ?? '', dialect: 'pals' };
  },
  cannotWorkIn: onlyIn('PALS mpiexec', ['pbs']),
  render: ({ spec, program, pinned, hosts }) => ({
    options: [
      program,
      '-n',
      String(spec.tasks),
      '--ppn',
      String(spec.tasksPerNode ?? 1),
      // Counts hardware threads unless bound to cores.
      '--depth',
      String(spec.cpusPerTask),
      '--cpu-bind',
      spec.bind === 'core' ? 'depth' : 'none',
      ...(pinned && hosts !== null
        ? ['--hosts', hosts.map(one => one.host).join(',')]
        : []),
      ...(spec.workdir === undefined ? [] : ['--wdir', spec.workdir])
    ]
  })
};
