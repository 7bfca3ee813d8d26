/** IBM Spectrum LSF, from its documentation: not recorded. */
import { defineSystem, type StatusForm } from './specification.js';

const FIELDS: StatusForm['fields'] = {
  id: 'JOBID',
  master: 'JOBID',
  // 0 for a job that is no element.
  index: { from: 'JOBINDEX', as: 'number', match: '^[1-9]\\d*$' },
  name: 'JOB_NAME',
  token: 'JOB_DESCRIPTION',
  user: 'USER',
  state: 'STAT',
  reason: 'PEND_REASON',
  detail: 'EXIT_REASON',
  exit: { from: 'EXIT_CODE', as: 'exitShell' },
  submit: { from: 'SUBMIT_TIME', as: 'epoch' },
  start: { from: 'START_TIME', as: 'epoch' },
  end: { from: 'FINISH_TIME', as: 'epoch' },
  left: { from: 'TIME_LEFT', as: 'durationLsf', match: '^\\d+:\\d+' },
  nodes: { from: 'EXEC_HOST', as: 'slotHosts' },
  comment: 'ERROR'
};

/** `{"JOBID":"9","ERROR":"Job <9> is not found"}` is a record like the others. */
const NO_JOB: StatusForm['ignore'] = { comment: 'is not found' };

const OUTPUT =
  'jobid jobindex stat user job_name job_description exit_code exit_reason pend_reason time_left submit_time start_time finish_time exec_host';

export const lsf = defineSystem({
  name: 'lsf',
  title: 'LSF',
  proven: 'documented',
  versions: 'from the documentation of 10.1',
  notes: [
    'Not tried on a real LSF yet.',
    'Memory is written with its unit, whatever LSF_UNIT_FOR_LIMITS says.'
  ],
  version: {
    argv: ['bsub', '-V'],
    pattern: 'LSF (?:Standard )?(?<version>[\\d.]+)'
  },
  commands: ['bsub', 'bjobs', 'bkill'],
  capabilities: {
    arrays: true,
    arrayLists: true,
    arrayThrottle: true,
    firstArrayIndex: 1,
    comment: true,
    tagEnv: false,
    hold: true,
    signalBeforeEnd: true,
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
    maxNameLength: 255,
    walltimeResolution: 60
  },
  jobName: { allowed: 'A-Za-z0-9_.+-', first: 'A-Za-z_' },
  site: {
    easyMode: 'the site takes -nnodes and neither -n nor -R',
    scriptAsArgument: 'the site does not take the script on standard input',
    group: 'fair-share group for -G'
  },
  script: {
    prefix: '#BSUB',
    quoting: 'double',
    fill: { id: '%J', index: '%I', escape: { '%': '%%' } },
    jobId: '${LSB_JOBID:-}${LSB_JOBINDEX:+[$LSB_JOBINDEX]}',
    arrayIndex: '${LSB_JOBINDEX:-}',
    ownVariables: ['LSB_']
  },
  walltime: { form: 'H:MM', unlimited: null },
  memory: { units: [['MB', 1024 ** 2]] },
  priority: { lowest: 1, highest: 100 },
  array: { form: 'list' },
  dependency: {
    ok: 'done({id})',
    notOk: 'exit({id})',
    any: 'ended({id})',
    started: 'started({id})',
    idSeparator: ' && ',
    separator: ' && '
  },
  header: [
    {
      when: ['array'],
      line: '-J "{raw.name}[{arrayRange}]{?%{arrayMax}}"',
      honours: ['name', 'array', 'array.maxRunning']
    },
    {
      // The indices are part of the name: an array cannot be without one.
      when: ['array', '!name'],
      line: '-J "muster[{arrayRange}]{?%{arrayMax}}"',
      honours: ['array', 'array.maxRunning']
    },
    { when: ['!array'], line: '-J {name}' },
    { line: '-Jd {comment}' },
    { line: '-q {queue}' },
    { line: '-P {project}' },
    { when: ['!project'], line: '-P {account}' },
    { line: '-G {site.group}' },
    { line: '-U {reservation}' },
    {
      when: ['site.easyMode'],
      line: '-nnodes {nodes}',
      honours: ['nodes', 'tasks', 'tasksPerNode', 'cpusPerTask']
    },
    { when: ['!site.easyMode'], line: '-n {cpus}' },
    {
      when: ['!site.easyMode', 'manyNodes'],
      line: '-R "span[ptile={cpusPerNode}]"',
      honours: ['nodes', 'tasksPerNode']
    },
    { when: ['!site.easyMode', '!manyNodes'], line: '-R "span[hosts=1]"' },
    { when: ['!site.easyMode'], line: '-R "rusage[mem={memoryPerNode}]"' },
    {
      when: ['!site.easyMode'],
      line: '-R "select[{raw.constraint}]"',
      honours: ['constraint']
    },
    { line: '-M {memoryPerJob}' },
    {
      line: '-gpu "num={gpusPerNode}:mode=exclusive_process{?:gmodel={gpuType}}"'
    },
    { line: '-W {walltime}' },
    { when: ['exclusive'], line: '-x', honours: ['exclusive'] },
    { line: '-w "{dependency}"' },
    { line: '-wa {warnSignal} -wt {warnMinutes}', honours: ['warnBefore'] },
    { when: ['requeue'], line: '-r', honours: ['requeue'] },
    { when: ['!requeue'], line: '-rn' },
    { line: '-sp {priority}' },
    { line: '-cwd {workdir}' },
    { line: '-o {stdout}' },
    { line: '-e {stderr}' },
    { when: ['joinOutput'], line: '', honours: ['joinOutput'] },
    { line: '-L {shell}' }
  ],
  options: {
    aliases: [],
    exclusive: [['-n', '-nnodes']],
    keyed: ['-R']
  },
  id: {
    pattern: '^(?<seq>\\d+)(?:\\[(?<index>\\d+)\\])?$',
    element: '{master}[{index}]'
  },
  submit: {
    argv: ['bsub', '{extra}'],
    stdin: true,
    ids: ['^Job <(?<id>\\d+)> is submitted to (?:default )?queue <\\S+>\\.?$'],
    retry: [
      'LSF is down',
      'Failed in an LSF library call',
      'Cannot connect to LSF',
      'Please wait'
    ],
    usage: ['^Usage:', 'Illegal option', 'Option cannot have more than one'],
    rejections: [
      {
        pattern:
          'No such queue|Queue does not accept|cannot use the queue|Queue not specified',
        reason: 'partition',
        field: 'queue'
      },
      {
        pattern: 'RUNLIMIT|Bad RUNLIMIT|-W',
        reason: 'limit',
        field: 'walltimeSeconds'
      },
      { pattern: 'MEMLIMIT|memory limit', reason: 'limit', field: 'memory' },
      {
        pattern: 'Too many processors|PROCLIMIT|TASKLIMIT|JOB_SIZE',
        reason: 'limit',
        field: 'tasks'
      },
      { pattern: 'project|account', reason: 'account', field: 'project' },
      {
        pattern: 'User cannot use|User permission denied|not a valid user',
        reason: 'account'
      },
      { pattern: 'pending job threshold|Job limit|MAX_PEND', reason: 'quota' },
      {
        pattern: 'Bad resource requirement|select\\[',
        reason: 'syntax',
        field: 'constraint'
      },
      { pattern: 'dependency condition', reason: 'syntax', field: 'dependsOn' },
      { pattern: 'Bad job name|array', reason: 'syntax', field: 'array' },
      {
        pattern: 'Illegal option|Bad argument',
        reason: 'syntax',
        field: 'native'
      },
      { pattern: 'Job not submitted|Request aborted by esub', reason: 'other' }
    ]
  },
  status: {
    argv: ['bjobs', '-a', '-json', '-o', OUTPUT, '{extra}', '{ids}'],
    mineArgv: ['bjobs', '-a', '-json', '-o', OUTPUT, '-u', '{user}', '{extra}'],
    forms: [
      {
        name: 'json',
        argv: ['-json'],
        text: '^[ \\t]*\\{',
        reader: { type: 'json', at: ['RECORDS'] },
        fields: FIELDS,
        ignore: NO_JOB
      },
      {
        name: 'table',
        text: '^JOBID\\s+USER\\s+STAT',
        reader: {
          type: 'table',
          header: '^JOBID\\s+USER\\s+STAT',
          row: '^(?<JOBID>\\d+)\\s+(?<USER>\\S+)\\s+(?<STAT>[A-Z]+)\\s+(?<QUEUE>\\S+)\\s+(?<FROM>\\S+)\\s+(?<rest>.*)$'
        },
        fields: { id: 'JOBID', user: 'USER', state: 'STAT' }
      }
    ]
  },
  history: {
    argv: ['bjobs', '-a', '-json', '-o', OUTPUT, '{extra}', '{ids}'],
    forms: [
      {
        name: 'json',
        text: '^[ \\t]*\\{',
        reader: { type: 'json', at: ['RECORDS'] },
        fields: FIELDS,
        ignore: NO_JOB
      }
    ]
  },
  answers: {
    unreachable: [
      'LSF is down',
      'Failed in an LSF library call',
      'Cannot connect to LSF',
      'Please wait'
    ],
    missing: ['Job <(?<id>[^>]+)> is not found'],
    unsupported: ['^Usage:', 'Illegal option', 'Unknown format'],
    empty: ['No (unfinished )?job found', 'No matching job found']
  },
  states: {
    PEND: 'PENDING',
    PROV: 'PENDING',
    WAIT: 'PENDING',
    PSUSP: 'HELD',
    RUN: 'RUNNING',
    USUSP: 'SUSPENDED',
    SSUSP: 'SUSPENDED',
    ZOMBI: 'STOPPING',
    DONE: 'COMPLETED'
  },
  rules: [
    { if: { state: '^EXIT$', detail: 'TERM_RUNLIMIT' }, then: 'TIMEOUT' },
    { if: { state: '^EXIT$', detail: 'TERM_MEMLIMIT' }, then: 'OUT_OF_MEMORY' },
    { if: { state: '^EXIT$', detail: 'TERM_PREEMPT' }, then: 'PREEMPTED' },
    {
      if: {
        state: '^EXIT$',
        detail: 'TERM_(OWNER|ADMIN|FORCE_OWNER|FORCE_ADMIN)'
      },
      then: 'CANCELLED'
    },
    {
      if: { state: '^EXIT$', detail: 'TERM_EXTERNAL|host.*(down|unavailable)' },
      then: 'NODE_FAIL'
    },
    { if: { state: '^EXIT$' }, then: 'FAILED' }
  ],
  pending: [
    {
      pattern: 'dependency condition (invalid|never)',
      reason: 'dependency',
      stuck: true
    },
    { pattern: 'dependency', reason: 'dependency' },
    { pattern: 'limit', reason: 'limit' },
    { pattern: 'suspended', reason: 'held', stuck: true },
    { pattern: 'slots|hosts|resource', reason: 'resources' }
  ],
  cancel: {
    argv: ['bkill', '{extra}', '{ids}'],
    softArgv: ['bkill', '-s', 'TERM', '{ids}'],
    forceArgv: ['bkill', '-r', '{ids}'],
    partial: 'OK',
    answers: [
      {
        pattern:
          'Job <(?<id>[^>]+)> is being (?:terminated|signaled|stopped|resumed)',
        code: 'OK'
      },
      {
        pattern:
          'Job <(?<id>[^>]+)>: (?:Job has already finished|No matching job found|Job is not found)',
        code: 'GONE'
      },
      {
        pattern:
          'Job <(?<id>[^>]+)>: (?:User permission denied|Operation not permitted)',
        code: 'DENIED'
      },
      { pattern: 'Job <(?<id>[^>]+)>: ', code: 'ERROR' },
      { pattern: 'No matching job found', code: 'GONE' }
    ]
  },
  orders: {
    hold: { argv: ['bstop', '{ids}'] },
    release: { argv: ['bresume', '{ids}'] },
    requeue: { argv: ['brequeue', '{ids}'] },
    signal: { argv: ['bkill', '-s', '{signal}', '{ids}'] },
    extend: { argv: ['bmod', '-W', '{walltime}', '{id}'], many: false }
  },
  limits: [
    {
      what: 'queues',
      argv: ['bqueues', '-w'],
      text: '^QUEUE_NAME\\s',
      reader: {
        type: 'table',
        header: '^QUEUE_NAME\\s',
        row: '^(?<name>\\S+)\\s+(?<prio>\\d+)\\s+(?<open>Open|Closed)[:_]\\S*\\s'
      },
      fields: { name: 'name', enabled: { from: 'open', match: '^Open$' } }
    }
  ]
});
