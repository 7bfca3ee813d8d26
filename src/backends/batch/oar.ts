/** OAR 2. Recorded on 2.5.9. */
import { defineSystem, type StatusForm } from './specification.js';

const FULL: StatusForm['fields'] = {
  id: { from: ['Job_Id', '$id'], as: 'text' },
  name: 'name',
  user: { from: ['owner', 'job_user'], as: 'text' },
  state: { from: ['state', 'value'], as: 'text' },
  reason: 'message',
  detail: 'events.*',
  endedBy: {
    from: 'events.*',
    as: 'text',
    match: 'User (?<value>\\S+) requested to frag'
  },
  exit: { from: 'exit_code', as: 'exitWait' },
  submit: { from: 'submissionTime', as: 'time' },
  start: { from: 'startTime', as: 'time' },
  end: { from: 'stopTime', as: 'time' },
  estimated: { from: 'scheduledStart', as: 'time' },
  resubmitted: {
    from: 'events.*',
    as: 'text',
    match: '(?:=> ?|new id = )(?<value>\\d+)'
  }
};

/** Without -f there are neither exit code nor events: how it ended is not told. */
const SHORT: StatusForm['fields'] = {
  id: { from: ['Job_Id', '$id'], as: 'text' },
  name: 'name',
  user: 'owner',
  state: { from: ['state', 'value'], as: 'text' },
  reason: 'message',
  submit: { from: 'submissionTime', as: 'time' },
  start: { from: 'startTime', as: 'time' },
  nodes: { from: 'assigned_network_address.*', as: 'hosts' }
};

export const oar = defineSystem({
  name: 'oar',
  title: 'OAR',
  proven: 'recorded',
  versions: 'recorded on 2.5.9',
  notes: [
    'Jobs begin with a clean login environment.',
    'A cancel is answered "not the right user" for unknown ids and for those of others.',
    'A job that could not start is put back under a new id by itself: it is followed.'
  ],
  version: {
    argv: ['oarsub', '-V'],
    pattern: 'OAR version : (?<version>\\S+)'
  },
  commands: ['oarsub', 'oarstat', 'oardel'],
  capabilities: {
    arrays: true,
    arrayIdsSeparate: true,
    firstArrayIndex: 1,
    arrayOfOne: true,
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
    priority: false,
    multiCluster: false,
    requeue: true,
    maxNameLength: 100,
    walltimeResolution: 1
  },
  jobName: { allowed: 'A-Za-z0-9_.-', first: 'A-Za-z' },
  site: {
    nodeLevel: 'name of the node in the resource hierarchy (default nodes)',
    coreLevel: 'name of the core in the resource hierarchy (default core)',
    gpuProperty: 'SQL condition for hosts with enough GPUs, e.g. gpu_count > 0'
  },
  siteRequired: { gpuProperty: ['gpusPerNode'] },
  script: {
    prefix: '#OAR',
    executable: true,
    quoting: 'raw',
    bareEnvironment: true,
    fill: { id: '%jobid%', escape: {} },
    jobId: '${OAR_JOB_ID:-}',
    arrayIndex: '${OAR_ARRAY_INDEX:-}',
    ownVariables: ['OAR_']
  },
  walltime: { form: 'H:MM:SS', unlimited: null },
  memory: { units: [['', 1024 ** 2]] },
  array: { form: 'count' },
  dependency: {
    ok: null,
    notOk: null,
    any: '{id}',
    started: null,
    idSeparator: '\n-a ',
    separator: '\n-a '
  },
  header: [
    { line: '-n {name}' },
    { line: '-q {queue}' },
    { line: '--project {project}' },
    { when: ['!project'], line: '--project {account}' },
    {
      when: ['!site.nodeLevel', '!site.coreLevel', '!exclusive'],
      line: '-l /nodes={nodes}/core={cpusPerNode}{?,walltime={walltime}}'
    },
    {
      when: ['site.nodeLevel', 'site.coreLevel', '!exclusive'],
      line: '-l /{site.nodeLevel}={nodes}/{site.coreLevel}={cpusPerNode}{?,walltime={walltime}}'
    },
    {
      when: ['site.nodeLevel', '!site.coreLevel', '!exclusive'],
      line: '-l /{site.nodeLevel}={nodes}/core={cpusPerNode}{?,walltime={walltime}}'
    },
    {
      when: ['!site.nodeLevel', 'site.coreLevel', '!exclusive'],
      line: '-l /nodes={nodes}/{site.coreLevel}={cpusPerNode}{?,walltime={walltime}}'
    },
    {
      when: ['!site.nodeLevel', 'exclusive'],
      line: '-l /nodes={nodes}{?,walltime={walltime}}',
      honours: [
        'nodes',
        'walltimeSeconds',
        'exclusive',
        'tasks',
        'tasksPerNode',
        'cpusPerTask'
      ]
    },
    {
      when: ['site.nodeLevel', 'exclusive'],
      line: '-l /{site.nodeLevel}={nodes}{?,walltime={walltime}}',
      honours: [
        'nodes',
        'walltimeSeconds',
        'exclusive',
        'tasks',
        'tasksPerNode',
        'cpusPerTask'
      ]
    },
    {
      when: ['gpusPerNode', '!constraint'],
      line: '-p {site.gpuProperty}',
      honours: ['gpusPerTask']
    },
    {
      when: ['gpusPerNode', 'constraint'],
      line: '-p ({site.gpuProperty}) AND ({constraint})',
      honours: ['gpusPerTask', 'constraint']
    },
    { when: ['!gpusPerNode'], line: '-p {constraint}' },
    { when: ['array'], line: '--array {arrayCount}', honours: ['array'] },
    { line: '-a {dependency}' },
    { line: '--checkpoint {warnSeconds}', honours: ['warnBefore'] },
    { line: '--signal {warnSignalNumber}' },
    { when: ['requeue'], line: '-t idempotent', honours: ['requeue'] },
    { line: '-d {workdir}' },
    { line: '-O {stdout}' },
    { line: '-E {stderr}' },
    {
      when: ['joinOutput', 'stdout'],
      line: '-E {stdout}',
      honours: ['joinOutput']
    }
  ],
  options: {
    aliases: [
      ['-n', '--name'],
      ['-q', '--queue'],
      ['-l', '--resource'],
      ['-p', '--property'],
      ['-d', '--directory'],
      ['-O', '--stdout'],
      ['-E', '--stderr'],
      ['-a', '--anterior'],
      ['-t', '--type'],
      ['-k', '--checkpoint']
    ]
  },
  id: { pattern: '^(?<seq>\\d+)$', element: '{master}' },
  submit: {
    argv: ['oarsub', '{extra}', '-S', '{fileWord}'],
    ids: ['^OAR_JOB_ID=(?<id>\\d+)$'],
    many: true,
    refusedDespiteId: [10],
    retry: ['Configuration file not found', 'DBI connect.*failed'],
    usage: ['Unknown option', '^Usage:'],
    rejections: [
      { pattern: 'array job must have', reason: 'syntax', field: 'array' },
      // The usage text names every option: nothing below may look into it.
      { pattern: '^Usage:', reason: 'syntax', field: 'script' },
      {
        pattern: 'queue \\S+ does not exist',
        reason: 'partition',
        field: 'queue'
      },
      {
        pattern: 'Walltime too big',
        reason: 'limit',
        field: 'walltimeSeconds'
      },
      { pattern: 'Unknown project', reason: 'account', field: 'project' },
      {
        pattern: 'not allowed to submit|not the right user',
        reason: 'permission'
      },
      { pattern: 'not enough resources', reason: 'resources' },
      {
        pattern: 'column "launching_directory"',
        reason: 'environment',
        field: 'workdir'
      },
      {
        pattern: 'column "\\S+" does not exist',
        reason: 'syntax',
        field: 'constraint'
      },
      { pattern: 'syntax error at or near', reason: 'syntax', field: 'name' },
      {
        pattern: 'Cannot recognize -- ,?walltime',
        reason: 'syntax',
        field: 'walltimeSeconds'
      },
      { pattern: 'Cannot recognize', reason: 'syntax', field: 'nodes' },
      {
        pattern: 'invalid for option (checkpoint|signal)',
        reason: 'syntax',
        field: 'warnBefore'
      },
      {
        pattern: 'Reservation not valid|reservation',
        reason: 'resources',
        field: 'reservation'
      },
      {
        pattern: 'Cannot open the (parameter )?file',
        reason: 'syntax',
        field: 'script'
      },
      {
        pattern:
          'unknown job type|Unknown option|Not able to scan file line|notify option|invalid for option',
        reason: 'syntax',
        field: 'native'
      },
      { pattern: 'limit|too (big|many|long)|maximum', reason: 'limit' }
    ]
  },
  status: {
    argv: ['oarstat', '-f', '-J', '{extra}', '{pairs}'],
    mineArgv: ['oarstat', '-f', '-J', '-u', '{extra}'],
    tokenArgv: [
      'oarstat',
      '-f',
      '-J',
      '{extra}',
      '--sql',
      "job_name = '{token}'"
    ],
    stderrIsFailure: true,
    forms: [
      {
        name: 'full json',
        argv: ['-f', '-J'],
        text: '^[ \\t]*\\{',
        reader: { type: 'json', keyAs: '$id' },
        fields: {
          ...FULL,
          limit: { from: 'walltime', as: 'durationSeconds' },
          nodes: { from: 'assigned_network_address.*', as: 'hosts' }
        }
      },
      {
        name: 'json',
        argv: ['-J'],
        text: '^[ \\t]*\\{',
        reader: { type: 'json', keyAs: '$id' },
        fields: SHORT
      },
      {
        name: 'yaml',
        argv: ['-Y'],
        text: '^---$',
        reader: { type: 'yaml', keyAs: '$id' },
        fields: SHORT
      },
      {
        name: 'xml',
        argv: ['-X'],
        text: '<perldata>',
        reader: { type: 'xml', elements: ['item/hashref'] },
        fields: SHORT
      },
      {
        name: 'full',
        argv: ['-f'],
        text: '^Job_Id: \\d+$',
        reader: {
          type: 'blocks',
          start: '^Job_Id: (?<id>\\d+)$',
          pair: '^    (?<key>\\w+) = ?(?<value>.*)$',
          more: '^(?<value>\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d> .*)$'
        },
        fields: {
          ...FULL,
          id: '$id',
          limit: { from: 'walltime', as: 'durationOar' },
          nodes: { from: 'assigned_hostnames', as: 'execHosts' }
        }
      },
      {
        name: 'states',
        argv: ['-s'],
        text: '^\\d+: [A-Za-z]+$',
        reader: {
          type: 'rows',
          separator: ': ',
          columns: ['id', 'state'],
          only: '^\\d+: '
        },
        fields: { id: 'id', state: 'state' }
      },
      {
        name: 'array table',
        text: '^Job id +A\\. id +index',
        reader: {
          type: 'table',
          start: '^\\d+ ',
          header: '^Job id +A\\. id',
          row: '^(?<id>\\d+) +(?<array>\\d+) +(?<index>\\d+) +(?<state>[A-Z]) (?<user>\\S+) +(?<used>[\\d:]+) ?(?<message>.*)$'
        },
        fields: { id: 'id', user: 'user', state: 'state', reason: 'message' }
      },
      {
        name: 'table',
        text: '^Job id +S User',
        reader: {
          type: 'table',
          start: '^\\d+ ',
          header: '^Job id +S',
          row: '^(?<id>\\d+) +(?<state>[A-Z]) (?<user>\\S+) +(?<used>[\\d:]+) ?(?<message>.*)$'
        },
        fields: { id: 'id', user: 'user', state: 'state', reason: 'message' }
      }
    ]
  },
  history: {
    argv: ['oarstat', '-f', '-J', '{extra}', '{pairs}'],
    forms: [
      {
        name: 'full json',
        text: '^[ \\t]*\\{',
        reader: { type: 'json', keyAs: '$id' },
        fields: {
          ...FULL,
          limit: { from: 'walltime', as: 'durationSeconds' },
          nodes: { from: 'assigned_network_address.*', as: 'hosts' }
        }
      }
    ]
  },
  answers: {
    unreachable: [
      'DBI connect',
      'Configuration file not found',
      'Cannot connect to executor'
    ],
    missing: [],
    unsupported: ['Unknown option', 'No job id provided', '^Usage:'],
    empty: []
  },
  states: {
    Waiting: 'PENDING',
    W: 'PENDING',
    toLaunch: 'PENDING',
    toAckReservation: 'PENDING',
    Hold: 'HELD',
    H: 'HELD',
    // The letter stands for toLaunch and Launching.
    L: 'STARTING',
    Launching: 'STARTING',
    Running: 'RUNNING',
    R: 'RUNNING',
    Resuming: 'RUNNING',
    // The letter stands for Suspended and Resuming.
    S: 'SUSPENDED',
    Suspended: 'SUSPENDED',
    Finishing: 'STOPPING',
    F: 'STOPPING'
  },
  rules: [
    // State and exit code outrank the events: a Terminated job may carry those of a walltime.
    { if: { state: '^Terminated$', exit: '^0\\b' }, then: 'COMPLETED' },
    { if: { state: '^Terminated$', exit: '^\\d' }, then: 'FAILED' },
    { if: { state: '^(Terminated|T)$' }, then: 'UNKNOWN', final: true },
    { if: { state: '^(to)?Error$', detail: '\\(Elapsed\\)' }, then: 'TIMEOUT' },
    {
      if: { state: '^(to)?Error$', detail: 'PING_CHECKER_NODE_SUSPECTED' },
      then: 'NODE_FAIL'
    },
    {
      if: { state: '^(to)?Error$', detail: 'BESTEFFORT_KILL' },
      then: 'PREEMPTED'
    },
    {
      if: { state: '^(to)?Error$', detail: 'requested to frag' },
      then: 'CANCELLED'
    },
    { if: { state: '^(to)?Error$', detail: '^' }, then: 'FAILED' },
    { if: { state: '^((to)?Error|E)$' }, then: 'UNKNOWN', final: true }
  ],
  pending: [
    {
      pattern: 'no_matching_slot|enough matching',
      reason: 'node',
      stuck: true
    },
    { pattern: '^R=\\d', reason: 'resources' }
  ],
  cancel: {
    argv: ['oardel', '{extra}', '{ids}'],
    softArgv: ['oardel', '-s', 'TERM', '{ids}'],
    partial: 'OK',
    answers: [
      {
        pattern:
          'Cannot (?:frag|signal|checkpoint) (?<id>\\d+) ; You are not the right user',
        code: 'UNCERTAIN'
      },
      {
        pattern:
          'Cannot (?:frag|signal|checkpoint) (?<id>\\d+) ; This job was already killed',
        code: 'GONE'
      },
      {
        pattern: 'Cannot (?:frag|signal|checkpoint) (?<id>\\d+) ',
        code: 'ERROR'
      },
      {
        pattern: 'Deleting the job = (?<id>\\d+) \\.\\.\\.REGISTERED',
        code: 'OK'
      },
      { pattern: 'The job (?<id>\\d+) was notified', code: 'OK' },
      {
        pattern: 'Cannot (?:hold|resume) (?<id>\\d+) : this job does not exist',
        code: 'GONE'
      },
      {
        pattern: 'Cannot (?:hold|resume) (?<id>\\d+) : only oar or root',
        code: 'DENIED'
      },
      { pattern: 'Cannot (?:hold|resume) (?<id>\\d+) ', code: 'ERROR' },
      {
        pattern: '^\\[(?<id>\\d+)\\] (?:Hold|Resume) request was sent',
        code: 'OK'
      },
      { pattern: 'request accepted for job (?<id>\\d+)', code: 'OK' },
      { pattern: 'job (?<id>\\d+) does not belong to you', code: 'DENIED' },
      { pattern: 'could not find job (?<id>\\d+)', code: 'GONE' },
      { pattern: '^Forbidden', code: 'DENIED' },
      {
        pattern:
          'Not available|FUNCTIONALITY IS DISABLED|CPUSET tag is not configured',
        code: 'ERROR'
      },
      { pattern: '^ssh: ', code: 'UNCERTAIN' },
      { pattern: '^Usage:', code: 'ERROR' }
    ]
  },
  orders: {
    hold: { argv: ['oarhold', '{id}'], many: false },
    release: { argv: ['oarresume', '{id}'], many: false },
    suspend: { argv: ['oarhold', '-r', '{id}'], many: false },
    resume: { argv: ['oarresume', '{id}'], many: false },
    signal: { argv: ['oardel', '-s', '{signal}', '{ids}'] },
    extend: { argv: ['oarwalltime', '{id}', '{walltime}'], many: false }
  }
});
