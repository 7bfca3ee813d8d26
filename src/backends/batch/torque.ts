/** Torque (with Moab's commands as site data). Recorded on the master branch after 6.0. */
import {
  PBS_BLOCKS,
  PBS_CUT_ID,
  PBS_DEPENDENCY,
  PBS_ENDINGS,
  PBS_ID,
  PBS_OPTIONS,
  PBS_ORDER_ANSWERS,
  PBS_PENDING,
  PBS_QUEUE_FIELDS,
  PBS_REJECTIONS,
  PBS_STATES,
  PBS_SUBMIT_IDS,
  PBS_TABLES,
  PBS_UNREACHABLE
} from './pbs-family.js';
import { defineSystem, type StatusForm } from './specification.js';

const FULL: StatusForm['fields'] = {
  id: { from: ['$id', 'Job_Id'], as: 'text' },
  name: 'Job_Name',
  user: { from: 'Job_Owner', as: 'text', match: '^[^@]+' },
  state: 'job_state',
  comment: 'comment',
  exit: { from: 'exit_status', as: 'exitShell' },
  submit: { from: ['ctime', 'qtime'], as: 'time' },
  start: { from: 'start_time', as: 'time' },
  end: { from: ['comp_time', 'mtime'], as: 'time' },
  limit: { from: 'Resource_List.walltime', as: 'durationClock' },
  used: { from: 'resources_used.walltime', as: 'durationClock' },
  left: { from: 'Walltime.Remaining', as: 'durationSeconds' },
  nodes: { from: 'exec_host', as: 'execHosts' },
  restarts: { from: 'start_count', as: 'number' }
};

export const torque = defineSystem({
  name: 'torque',
  title: 'Torque',
  proven: 'recorded',
  versions:
    'recorded on the master branch after 6.0; Moab from its documentation',
  notes: [
    'Ended jobs are known for keep_completed seconds only.',
    'An array id without -t lists every job of the server: rows are filtered by id.',
    'A log file can be put into a folder, but Torque names it: NAME.oID.'
  ],
  version: {
    argv: ['qstat', '--version'],
    pattern: 'Version: (?<version>\\S+)'
  },
  commands: ['qsub', 'qstat', 'qdel'],
  capabilities: {
    arrays: true,
    arrayLists: true,
    arrayThrottle: true,
    firstArrayIndex: 0,
    comment: false,
    tagEnv: false,
    hold: true,
    signalBeforeEnd: false,
    batchStatus: true,
    history: false,
    json: false,
    gpus: true,
    memory: true,
    exclusive: true,
    constraint: true,
    het: false,
    testOnly: false,
    priority: true,
    multiCluster: false,
    requeue: true,
    maxNameLength: 15,
    walltimeResolution: 1
  },
  jobName: { allowed: 'A-Za-z0-9_.+-', first: 'A-Za-z' },
  site: { procs: 'ask for processors anywhere (-l procs=) instead of nodes' },
  script: {
    prefix: '#PBS',
    quoting: 'quotes',
    fill: { id: null, index: null },
    jobId: '${PBS_JOBID:-}',
    arrayIndex: '${PBS_ARRAYID:-}',
    ownVariables: ['PBS_']
  },
  walltime: { form: 'H:MM:SS', unlimited: null },
  memory: { units: [['kb', 1024]] },
  priority: { lowest: -1024, highest: 1023 },
  array: { form: 'list' },
  dependency: PBS_DEPENDENCY,
  header: [
    { line: '-N {name}' },
    { line: '-q {queue}' },
    { line: '-A {account}' },
    { when: ['!account'], line: '-A {project}' },
    { line: '-l qos={qos}' },
    { line: '-l advres={reservation}' },
    {
      when: ['!site.procs'],
      line: '-l nodes={nodes}:ppn={cpusPerNode}{?:gpus={gpusPerNode}}{?:{constraint}}'
    },
    { when: ['site.procs'], line: '-l procs={cpus}' },
    { line: '-l mem={memoryPerJob}' },
    { line: '-l walltime={walltime}' },
    { when: ['exclusive'], line: '-n', honours: ['exclusive'] },
    { when: ['array'], line: '-t {arrayRange}{?%{arrayMax}}' },
    { line: '-W depend={dependency}' },
    { when: ['requeue'], line: '-r y', honours: ['requeue'] },
    { when: ['!requeue'], line: '-r n' },
    { line: '-p {priority}' },
    { line: '-d {workdir}' },
    { line: '-o {stdout}' },
    { line: '-e {stderr}' },
    { when: ['joinOutput'], line: '-j oe', honours: ['joinOutput'] },
    { line: '-S {shell}' }
  ],
  options: PBS_OPTIONS,
  id: PBS_ID,
  submit: {
    argv: ['qsub', '{extra}', '{file}'],
    ids: [...PBS_SUBMIT_IDS, '^(?<id>Moab\\.\\d+)$'],
    retry: PBS_UNREACHABLE,
    usage: [
      '^usage:',
      'invalid option',
      'requires an argument',
      'not a valid option'
    ],
    rejections: [...PBS_REJECTIONS]
  },
  status: {
    argv: ['qstat', '-t', '-x', '{extra}', '{ids}'],
    mineArgv: ['qstat', '-t', '-x', '{extra}'],
    forms: [
      {
        name: 'xml',
        argv: ['-x'],
        text: '<Data>',
        reader: { type: 'xml', elements: ['Job'] },
        fields: FULL
      },
      {
        name: 'full',
        argv: ['-f'],
        text: '^Job Id: ',
        reader: PBS_BLOCKS,
        fields: FULL
      },
      {
        name: 'wide table',
        text: '^Job ID\\s+Username',
        reader: PBS_TABLES.wide,
        fields: {
          id: PBS_CUT_ID,
          name: 'name',
          user: 'user',
          state: 'state',
          limit: { from: 'limit', as: 'durationClock' }
        }
      },
      {
        name: 'table',
        text: '^Job ID\\s+Name',
        reader: PBS_TABLES.plain,
        fields: { id: PBS_CUT_ID, name: 'name', user: 'user', state: 'state' }
      }
    ]
  },
  answers: {
    unreachable: PBS_UNREACHABLE,
    missing: ['Unknown Job Id(?: Error)? (?<id>\\S+)'],
    unsupported: ['^usage:', 'invalid option'],
    empty: ['Unknown queue']
  },
  states: { ...PBS_STATES },
  rules: [
    // JOB_EXEC_OVERLIMIT_MEM and _WT of Torque; PBS means other things by them.
    { if: { state: '^C$', exit: '^-10$' }, then: 'OUT_OF_MEMORY' },
    { if: { state: '^C$', exit: '^-11$' }, then: 'TIMEOUT' },
    ...PBS_ENDINGS
  ],
  pending: [...PBS_PENDING],
  adapters: ['walltime-used-up'],
  cancel: {
    argv: ['qdel', '{extra}', '{ids}'],
    softArgv: ['qsig', '-s', 'TERM', '{ids}'],
    answers: [...PBS_ORDER_ANSWERS]
  },
  orders: {
    hold: { argv: ['qhold', '{ids}'] },
    release: { argv: ['qrls', '{ids}'] },
    suspend: { argv: ['qsig', '-s', 'suspend', '{ids}'] },
    resume: { argv: ['qsig', '-s', 'resume', '{ids}'] },
    requeue: { argv: ['qrerun', '{ids}'] },
    signal: { argv: ['qsig', '-s', '{signal}', '{ids}'] },
    extend: { argv: ['qalter', '-l', 'walltime={walltime}', '{ids}'] }
  },
  limits: [
    {
      what: 'queues',
      argv: ['qstat', '-Q', '-f'],
      text: '^Queue:? \\w',
      reader: {
        type: 'blocks',
        start: '^Queue:? (?<id>\\S+)',
        pair: '^\\s+(?<key>[\\w.]+) = (?<value>.*)$'
      },
      fields: { ...PBS_QUEUE_FIELDS }
    },
    {
      what: 'queues',
      argv: ['qstat', '-Q'],
      text: '^Queue\\s+Max\\s',
      reader: {
        type: 'table',
        header: '^Queue\\s+Max\\s',
        row: '^(?<id>[A-Za-z0-9]\\S*)\\s+\\d+\\s+\\d+\\s+(?<enabled>yes|no)\\s+(?<started>yes|no)\\s'
      },
      fields: { name: 'id', enabled: 'enabled', started: 'started' }
    }
  ]
});
