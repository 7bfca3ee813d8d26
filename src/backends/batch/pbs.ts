/** PBS Pro and OpenPBS. Recorded on OpenPBS 23.06.06 with job history on. */
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
import {
  defineSystem,
  type StatusForm,
  type SystemFactsInput
} from './specification.js';

type FormInput = SystemFactsInput['status']['forms'][number];

const FULL: StatusForm['fields'] = {
  id: '$id',
  name: 'Job_Name',
  user: { from: 'Job_Owner', as: 'text', match: '^[^@]+' },
  state: 'job_state',
  substate: 'substate',
  comment: 'comment',
  exit: { from: 'Exit_status', as: 'exitShell' },
  submit: { from: 'ctime', as: 'time' },
  start: { from: 'stime', as: 'time' },
  end: { from: ['obittime', 'mtime'], as: 'time' },
  estimated: { from: ['estimated.start_time'], as: 'time' },
  limit: { from: 'Resource_List.walltime', as: 'durationClock' },
  used: { from: 'resources_used.walltime', as: 'durationClock' },
  nodes: { from: 'exec_host', as: 'execHosts' },
  restarts: { from: 'run_count', as: 'number' }
};

const FORMS: FormInput[] = [
  {
    name: 'json',
    argv: ['-F', 'json'],
    text: '^[ \\t]*\\{',
    reader: { type: 'json', at: ['Jobs'], keyAs: '$id' },
    fields: FULL
  },
  {
    name: 'dsv',
    argv: ['-F', 'dsv'],
    text: '^Job Id: [^|\\n]+\\|',
    reader: {
      type: 'dsv',
      start: '^Job Id: ',
      separator: '|',
      pair: '^(?<key>Job Id|[\\w.]+)(?:: |=)(?<value>.*)$'
    },
    fields: { ...FULL, id: 'Job Id' }
  },
  {
    name: 'full',
    argv: ['-f'],
    text: '^Job Id: \\S+$',
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
      limit: { from: 'limit', as: 'durationLsf' },
      nodes: { from: 'hosts', as: 'execHosts' }
    }
  },
  {
    name: 'table',
    text: '^Job id\\s+Name',
    reader: PBS_TABLES.plain,
    fields: { id: PBS_CUT_ID, name: 'name', user: 'user', state: 'state' }
  }
];

export const pbs = defineSystem({
  name: 'pbs',
  title: 'PBS Pro / OpenPBS',
  proven: 'recorded',
  versions: 'recorded on OpenPBS 23.06.06',
  notes: [
    'A log file can be put into a folder, but PBS names it: NAME.oID.',
    'Jobs no node can hold are accepted and wait with "Can Never Run".',
    'Index lists and arrays of one element are refused: several arrays, or a plain job.'
  ],
  version: {
    argv: ['qstat', '--version'],
    pattern: 'pbs_version = (?<version>\\S+)'
  },
  commands: ['qsub', 'qstat', 'qdel'],
  capabilities: {
    arrays: true,
    arrayThrottle: true,
    firstArrayIndex: 0,
    arrayOfOne: false,
    comment: false,
    tagEnv: false,
    hold: true,
    signalBeforeEnd: false,
    batchStatus: true,
    history: true,
    json: true,
    gpus: true,
    memory: true,
    exclusive: true,
    constraint: true,
    het: false,
    testOnly: false,
    priority: true,
    multiCluster: false,
    requeue: true,
    maxNameLength: 230,
    walltimeResolution: 1
  },
  jobName: { allowed: 'A-Za-z0-9_.+-', first: 'A-Za-z' },
  site: { noSelect: 'an old server without -l select' },
  script: {
    prefix: '#PBS',
    quoting: 'quotes',
    fill: { id: null, index: '^array_index^' },
    jobId: '${PBS_JOBID:-}',
    arrayIndex: '${PBS_ARRAY_INDEX:-}',
    ownVariables: ['PBS_']
  },
  walltime: { form: 'H:MM:SS', unlimited: null },
  memory: { units: [['kb', 1024]] },
  priority: { lowest: -1024, highest: 1023 },
  array: { form: 'range' },
  dependency: PBS_DEPENDENCY,
  header: [
    { line: '-N {name}' },
    { line: '-q {queue}' },
    { line: '-A {account}' },
    { line: '-P {project}' },
    {
      when: ['!site.noSelect'],
      line: '-l select={nodes}:ncpus={cpusPerNode}:mpiprocs={tasksPerNode}:ompthreads={cpusPerTask}{?:mem={memoryPerNode}}{?:ngpus={gpusPerNode}}{?:gpu_model={gpuType}}{?:{constraint}}'
    },
    {
      when: ['site.noSelect'],
      line: '-l nodes={nodes}:ppn={cpusPerNode}{?:gpus={gpusPerNode}}{?:{constraint}}'
    },
    { when: ['site.noSelect'], line: '-l mem={memoryPerJob}' },
    {
      when: ['!site.noSelect', 'exclusive', 'placement=scatter'],
      line: '-l place=scatter:excl',
      honours: ['exclusive', 'placement']
    },
    {
      when: ['!site.noSelect', 'exclusive', 'placement=pack'],
      line: '-l place=pack:excl',
      honours: ['exclusive', 'placement']
    },
    {
      when: ['!site.noSelect', 'exclusive', '!placement', 'manyNodes'],
      line: '-l place=scatter:excl',
      honours: ['exclusive']
    },
    {
      when: ['!site.noSelect', 'exclusive', '!placement', '!manyNodes'],
      line: '-l place=excl',
      honours: ['exclusive']
    },
    {
      when: ['!site.noSelect', '!exclusive', 'placement=scatter'],
      line: '-l place=scatter',
      honours: ['placement']
    },
    {
      when: ['!site.noSelect', '!exclusive', 'placement=pack'],
      line: '-l place=pack',
      honours: ['placement']
    },
    // Chunks would else be put on one host where they fit.
    {
      when: ['!site.noSelect', '!exclusive', '!placement', 'manyNodes'],
      line: '-l place=scatter'
    },
    { line: '-l walltime={walltime}' },
    { when: ['array'], line: '-J {arrayRange}{?%{arrayMax}}' },
    { when: ['arrayOfOne'], line: '', honours: ['array', 'array.maxRunning'] },
    { line: '-W depend={dependency}' },
    { when: ['requeue'], line: '-r y', honours: ['requeue'] },
    { when: ['!requeue'], line: '-r n' },
    { line: '-p {priority}' },
    { line: '-o {stdout}' },
    { line: '-e {stderr}' },
    { when: ['joinOutput'], line: '-j oe', honours: ['joinOutput'] },
    { line: '-S {shell}' }
  ],
  options: PBS_OPTIONS,
  id: PBS_ID,
  submit: {
    argv: ['qsub', '{extra}', '{file}'],
    ids: PBS_SUBMIT_IDS,
    retry: PBS_UNREACHABLE,
    usage: ['^usage:', 'invalid option', 'requires an argument'],
    rejections: [...PBS_REJECTIONS]
  },
  status: {
    argv: ['qstat', '-t', '-f', '-F', 'json', '{extra}', '{ids}'],
    mineArgv: ['qstat', '-t', '-f', '-F', 'json', '{extra}'],
    forms: FORMS
  },
  history: {
    argv: ['qstat', '-x', '-t', '-f', '-F', 'json', '{extra}', '{ids}'],
    forms: FORMS
  },
  answers: {
    unreachable: PBS_UNREACHABLE,
    missing: [
      'Unknown Job Id (?<id>\\S+)',
      '(?<id>\\S+) Job has finished',
      'Job has finished (?<id>\\S+)'
    ],
    unsupported: ['^usage:', 'invalid option', 'history.*not enabled'],
    empty: ['Unknown queue']
  },
  states: { ...PBS_STATES },
  rules: [
    // MoM ended it over its limit of (virtual) memory.
    { if: { state: '^[FX]$', exit: '^-2[67]$' }, then: 'OUT_OF_MEMORY' },
    ...PBS_ENDINGS
  ],
  pending: [...PBS_PENDING],
  adapters: ['walltime-used-up'],
  cancel: {
    argv: ['qdel', '{extra}', '{ids}'],
    softArgv: ['qsig', '-s', 'TERM', '{ids}'],
    forceArgv: ['qdel', '-W', 'force', '{extra}', '{ids}'],
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
      argv: ['qstat', '-Q', '-f', '-F', 'json'],
      text: '^[ \\t]*\\{',
      reader: { type: 'json', at: ['Queue'], keyAs: '$id' },
      fields: { ...PBS_QUEUE_FIELDS }
    },
    {
      what: 'queues',
      argv: ['qmgr', '-c', 'list queue @default'],
      argvMark: ['qmgr'],
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
