/** Flux. Recorded on flux-core 0.88.0, with the simple scheduler and with Fluxion 0.54.0. */
import { defineSystem, type StatusForm } from './specification.js';

/** A time in this century; Fluxion writes 9223372036 for "never". */
const REAL_TIME = '^[1-4]\\d{9}(?:\\.\\d+)?$';
const ABOVE_ZERO = '^(?!0+(?:\\.0*)?$)\\d{1,9}(?:\\.\\d+)?$';

const FIELDS: StatusForm['fields'] = {
  id: { from: ['id.dec', 'id', 'id.f58plain', 'id.f58', 'jobid'], as: 'text' },
  name: 'name',
  user: 'username',
  state: { from: ['result', 'status', 'state', 'status_abbrev'], as: 'text' },
  substate: 'urgency',
  detail: 'exception.type',
  reason: {
    from: [
      'exception.note',
      'dependencies',
      'contextual_info',
      'inactive_reason'
    ],
    as: 'text'
  },
  exit: { from: 'returncode', as: 'exitFlux' },
  submit: { from: 't_submit', as: 'epoch' },
  start: { from: 't_run', as: 'epoch', match: REAL_TIME },
  end: { from: ['t_inactive', 't_cleanup'], as: 'epoch', match: REAL_TIME },
  estimated: { from: 'annotations.sched.t_estimate', as: 'epoch' },
  limit: { from: 'duration', as: 'durationSeconds', match: ABOVE_ZERO },
  left: { from: 't_remaining', as: 'durationSeconds', match: ABOVE_ZERO },
  used: { from: 'runtime', as: 'durationSeconds' },
  deadline: { from: 'expiration', as: 'epoch', match: REAL_TIME },
  nodes: { from: 'nodelist', as: 'hosts' }
};

export const flux = defineSystem({
  name: 'flux',
  title: 'Flux',
  proven: 'recorded',
  versions: 'recorded on flux-core 0.88.0 and Fluxion 0.54.0',
  notes: [
    'There is no memory request.',
    'Arrays are separate jobs and only for `flux submit`: one script is one job here.',
    'The whole environment of the submit is stored with the job: it is cleaned before.'
  ],
  version: {
    argv: ['flux', 'version'],
    pattern: '^commands:\\s+(?<version>\\S+)'
  },
  commands: ['flux'],
  capabilities: {
    arrays: false,
    comment: false,
    tagEnv: false,
    hold: true,
    signalBeforeEnd: true,
    batchStatus: true,
    history: true,
    json: true,
    gpus: true,
    memory: false,
    exclusive: true,
    constraint: true,
    het: false,
    testOnly: false,
    priority: true,
    multiCluster: false,
    requeue: false,
    maxNameLength: 255,
    walltimeResolution: 1
  },
  jobName: { allowed: 'A-Za-z0-9_.+ =-' },
  script: {
    prefix: '#flux:',
    quoting: 'shell',
    fill: { id: '{{id.dec}}' },
    jobId: '${FLUX_ENCLOSING_ID:-${FLUX_JOB_ID:-}}',
    ownVariables: ['FLUX_', 'PMI_']
  },
  walltime: { form: 'Ns', unlimited: null },
  memory: { units: [['M', 1024 ** 2]] },
  // 0 holds, above 16 is for the owner of the instance.
  priority: { lowest: 1, highest: 16 },
  dependency: {
    ok: 'afterok:{id}',
    notOk: 'afternotok:{id}',
    any: 'afterany:{id}',
    started: 'after:{id}',
    idSeparator: '\n--dependency=',
    separator: '\n--dependency='
  },
  header: [
    { line: '--job-name={name}' },
    { line: '--queue={queue}' },
    { line: '--bank={account}' },
    { when: ['!account'], line: '--bank={project}' },
    { line: '-N {nodes}' },
    { line: '-n {tasks}' },
    { line: '-c {cpusPerTask}' },
    { line: '-g {gpusPerTask}' },
    { line: '-t {walltime}' },
    { when: ['exclusive'], line: '--exclusive', honours: ['exclusive'] },
    { line: '--requires={constraint}' },
    { line: '--dependency={dependency}' },
    { line: '--signal={warnSignal}@{warnSeconds}s' },
    { line: '--urgency={priority}' },
    { line: '--cwd={workdir}' },
    { line: '--output={stdout}' },
    { line: '--error={stderr}' },
    { when: ['joinOutput'], line: '', honours: ['joinOutput'] }
  ],
  options: {
    aliases: [
      ['-N', '--nodes'],
      ['-n', '--nslots', '--ntasks'],
      ['-c', '--cores-per-slot', '--cores-per-task'],
      ['-g', '--gpus-per-slot', '--gpus-per-task'],
      ['-t', '--time-limit'],
      ['--queue', '-q'],
      ['--bank', '-B'],
      ['--exclusive', '-x']
    ]
  },
  id: {
    pattern: '^(?<seq>\\d+|[ƒf][1-9A-HJ-NP-Za-km-z]+)$',
    element: '{master}'
  },
  submit: {
    argv: ['flux', 'batch', '{extra}', '{file}'],
    ids: ['^(?<id>[ƒf][1-9A-HJ-NP-Za-km-z]+)$'],
    many: true,
    uncertain: ['Unable to connect to Flux', 'flux_open', 'Connection reset'],
    usage: ['unrecognized arguments', '^usage:'],
    rejections: [
      {
        pattern:
          'Invalid queue|is not a valid queue|job submission to \\S+ is disabled',
        reason: 'partition',
        field: 'queue'
      },
      {
        pattern: 'requested duration .* exceeds',
        reason: 'limit',
        field: 'walltimeSeconds'
      },
      {
        pattern: 'requested nnodes .* exceeds',
        reason: 'limit',
        field: 'nodes'
      },
      {
        pattern: 'requested ngpus .* exceeds',
        reason: 'limit',
        field: 'gpusPerTask'
      },
      {
        pattern: 'requested ncores .* exceeds',
        reason: 'limit',
        field: 'cpusPerTask'
      },
      {
        pattern: 'max (jobs|active)|limit of \\d+ (active )?jobs',
        reason: 'quota'
      },
      {
        pattern: 'host constraint contains invalid hosts',
        reason: 'resources',
        field: 'constraint'
      },
      {
        pattern: '--requires|constraint',
        reason: 'syntax',
        field: 'constraint'
      },
      { pattern: 'Unsatisfiable|unsatisfiable', reason: 'resources' },
      { pattern: '--signal', reason: 'syntax', field: 'warnBefore' },
      {
        pattern: 'Flux standard duration|duration must not',
        reason: 'syntax',
        field: 'walltimeSeconds'
      },
      { pattern: 'dependency', reason: 'syntax', field: 'dependsOn' },
      {
        pattern:
          'guests can only adjust urgency|only the instance owner|only .* owner',
        reason: 'permission'
      },
      {
        pattern: 'urgency|invalid literal for int\\(\\)',
        reason: 'syntax',
        field: 'priority'
      },
      {
        pattern: 'munge|Permission denied|Operation not permitted',
        reason: 'environment'
      },
      { pattern: 'exclusive can only', reason: 'syntax', field: 'exclusive' },
      {
        pattern: '--gpus-per-node requires',
        reason: 'syntax',
        field: 'gpusPerTask'
      },
      { pattern: 'node count must not', reason: 'syntax', field: 'nodes' },
      {
        pattern: 'task count|--ntasks|Number of slots',
        reason: 'syntax',
        field: 'tasks'
      },
      { pattern: 'IDset\\(\\)', reason: 'syntax', field: 'array' },
      {
        pattern: "does not appear to start with '#!'|No such file or directory",
        reason: 'syntax',
        field: 'script'
      },
      {
        pattern:
          'orphan|sentinel|unrecognized arguments|Unknown flag|argument parsing failed',
        reason: 'syntax',
        field: 'native'
      },
      { pattern: 'invalid jobspec', reason: 'syntax' }
    ]
  },
  status: {
    argv: ['flux', 'jobs', '--json', '{extra}', '{ids}'],
    mineArgv: ['flux', 'jobs', '-a', '-c', '0', '--json', '{extra}'],
    tokenArgv: [
      'flux',
      'jobs',
      '-a',
      '-c',
      '0',
      '--json',
      '--name={token}',
      '{extra}'
    ],
    forms: [
      {
        name: 'json',
        argv: ['--json'],
        text: '^[ \\t]*\\{',
        reader: { type: 'json', at: ['jobs'] },
        fields: FIELDS
      },
      {
        name: 'table',
        text: '^ *JOBID .*\\b(ST|STATUS) +NTASKS +NNODES',
        reader: {
          type: 'table',
          header: '^ *JOBID ',
          start: '^ *[ƒf][1-9A-HJ-NP-Za-km-z]+ ',
          row: '^ *(?<id>[ƒf][1-9A-HJ-NP-Za-km-z]+) +(?:.*? )??(?<state>\\S+) +(?<tasks>\\d+|-) +(?<nnodes>\\d+|-) +(?<rest>.*)$'
        },
        fields: {
          id: 'id',
          state: 'state',
          reason: {
            from: 'rest',
            match: '(?:^| )(?<value>(?:held|eta:|depends:)\\S*)$'
          },
          nodes: {
            from: 'rest',
            as: 'hosts',
            match: '(?:^| )(?<value>[A-Za-z][\\w.-]*(?:\\[[\\d,-]+\\])?)$'
          }
        }
      },
      {
        name: 'other tables',
        text: '^ *JOBID .*\\bST',
        reader: {
          type: 'table',
          header: '^ *JOBID ',
          start: '^ *[ƒf][1-9A-HJ-NP-Za-km-z]+ ',
          row: '^ *(?<id>[ƒf][1-9A-HJ-NP-Za-km-z]+) +.*? (?<state>DEPEND|PRIORITY|SCHED|RUN|CLEANUP|INACTIVE|CD|CA|TO|[DPSRCF])(?: |$)'
        },
        fields: { id: 'id', state: 'state' }
      },
      {
        name: 'rows',
        argv: ['-o'],
        text: '^(?:\\d|[ƒf][1-9A-Za-z])',
        reader: {
          type: 'rows',
          separator: ' ',
          columnsFrom: ['-o', '--format'],
          columnPattern:
            '\\{(?<column>[\\w.]+)(?:[!:][^}]*)?\\}(?<separator>[^{]*)',
          only: '^(?:\\d|[ƒf][1-9A-Za-z])'
        },
        fields: FIELDS
      }
    ]
  },
  history: {
    argv: ['flux', 'jobs', '--json', '{extra}', '{ids}'],
    forms: [
      {
        name: 'json',
        text: '^[ \\t]*\\{',
        reader: { type: 'json', at: ['jobs'] },
        fields: FIELDS
      }
    ]
  },
  answers: {
    unreachable: [
      'Unable to connect to Flux',
      'flux_open',
      'ERROR: Operation not permitted',
      'Connection refused'
    ],
    missing: ['JobID (?<id>\\S+) unknown'],
    unsupported: [
      '^usage:',
      'Error in user format',
      'Invalid filter specified',
      'could not convert string',
      'Invalid resource state'
    ],
    empty: ['No such queue', 'no such queue'],
    noise: ['^flux-jobs: WARNING: Filtering options ignored with jobid list$']
  },
  states: {
    DEPEND: 'PENDING',
    D: 'PENDING',
    PRIORITY: 'PENDING',
    P: 'PENDING',
    SCHED: 'PENDING',
    S: 'PENDING',
    RUN: 'RUNNING',
    R: 'RUNNING',
    CLEANUP: 'STOPPING',
    C: 'STOPPING',
    COMPLETED: 'COMPLETED',
    CD: 'COMPLETED',
    FAILED: 'FAILED',
    F: 'FAILED',
    CANCELED: 'CANCELLED',
    CA: 'CANCELLED',
    TIMEOUT: 'TIMEOUT',
    TO: 'TIMEOUT'
  },
  rules: [
    {
      if: { state: '^(SCHED|S)$', substate: '^0$' },
      then: 'HELD',
      pending: 'held',
      stuck: true
    },
    {
      if: { state: '^(SCHED|S)$', reason: '^held' },
      then: 'HELD',
      pending: 'held',
      stuck: true
    },
    {
      if: { state: '^(DEPEND|D)$', reason: 'begin@' },
      then: 'PENDING',
      pending: 'begin'
    },
    { if: { state: '^(DEPEND|D)$' }, then: 'PENDING', pending: 'dependency' },
    { if: { state: '^FAILED$', detail: '^preempt$' }, then: 'PREEMPTED' },
    {
      if: { state: '^FAILED$', detail: '^exec$', reason: '^node failure on ' },
      then: 'NODE_FAIL'
    },
    // The layout has no result: it is over, how is not told.
    { if: { state: '^INACTIVE$' }, then: 'UNKNOWN', final: true }
  ],
  pending: [
    { pattern: '^held', reason: 'held', stuck: true },
    { pattern: 'begin@', reason: 'begin' },
    { pattern: '^(depends:|after)', reason: 'dependency' },
    { pattern: '^eta:', reason: 'priority' }
  ],
  cancel: {
    argv: ['flux', 'cancel', '{extra}', '{ids}'],
    softArgv: ['flux', 'job', 'kill', '-s', 'TERM', '{id}'],
    forceArgv: ['flux', 'job', 'kill', '-s', 'KILL', '{id}'],
    partial: 'OK',
    answers: [
      { pattern: 'ERROR: (?<id>\\S+): unknown job id', code: 'GONE' },
      { pattern: 'ERROR: (?<id>\\S+): job is inactive', code: 'GONE' },
      { pattern: 'ERROR: (?<id>\\S+): guests', code: 'DENIED' },
      { pattern: 'kill (?<id>\\S+): guests', code: 'DENIED' },
      {
        pattern: 'kill (?<id>\\S+): (?:job is inactive|unknown)',
        code: 'GONE'
      },
      { pattern: 'kill (?<id>\\S+): ', code: 'ERROR' },
      { pattern: '(?<id>[ƒf]\\S+|\\d+): guests', code: 'DENIED' },
      {
        pattern:
          '(?<id>[ƒf]\\S+|\\d+): (?:unknown job|job is inactive|No such file or directory)',
        code: 'GONE'
      },
      { pattern: 'guests (can|may) only', code: 'DENIED' },
      { pattern: 'unknown job|job is inactive', code: 'GONE' },
      {
        pattern: 'invalid job ?id|malformed|^usage:|Invalid jobid',
        code: 'ERROR'
      }
    ]
  },
  orders: {
    hold: { argv: ['flux', 'job', 'urgency', '{id}', 'hold'], many: false },
    release: {
      argv: ['flux', 'job', 'urgency', '{id}', 'default'],
      many: false
    },
    signal: {
      argv: ['flux', 'job', 'kill', '-s', '{signal}', '{id}'],
      many: false
    },
    extend: {
      argv: ['flux', 'update', '{id}', 'duration={walltime}'],
      many: false
    }
  },
  limits: [
    {
      what: 'queues',
      argv: [
        'flux',
        'queue',
        'list',
        '-n',
        '-o',
        '{queue}|{enabled.ascii}|{started.ascii}|{limits.timelimit}|{limits.max.nnodes}|{limits.max.ncores}|{limits.max.ngpus}'
      ],
      argvMark: ['list', '-o'],
      text: '^[\\w-]+[| ]',
      reader: {
        type: 'rows',
        separator: '|',
        columnsFrom: ['-o'],
        columnPattern:
          '\\{(?<column>[\\w.]+)(?:![A-Za-z]|:[^}]*)?\\}(?<separator>[^{]*)',
        only: '^[A-Za-z0-9]'
      },
      fields: {
        name: { from: ['queuem', 'queue'] },
        enabled: { from: ['enabled.ascii', 'enabled'] },
        started: { from: ['started.ascii', 'started'] },
        maxWalltime: { from: ['limits.timelimit'], as: 'durationFsd' },
        maxNodes: 'limits.max.nnodes',
        maxCpus: 'limits.max.ncores',
        maxGpus: 'limits.max.ngpus'
      }
    }
  ]
});
