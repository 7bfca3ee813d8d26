/** HTCondor. Recorded on 25.14.0 (a pre-release). */
import { defineSystem, type StatusForm } from './specification.js';

const ATTRIBUTES =
  'ClusterId,ProcId,JobStatus,Owner,JobBatchName,MusterToken,QDate,JobCurrentStartDate,JobCurrentStartExecutingDate,ShadowBday,EnteredCurrentStatus,CompletionDate,RemoteHost,TransferringInput,TransferringOutput,HoldReason,HoldReasonCode,HoldReasonSubCode,RemoveReason,VacateReasonCode,LastRejMatchReason,ExitBySignal,ExitCode,ExitSignal,JobRunCount,NumJobStarts,AllowedExecuteDuration,AllowedJobDuration';

const FIELDS: StatusForm['fields'] = {
  id: { from: ['{ClusterId}.{ProcId}', 'JobId', 'ClusterId'], as: 'text' },
  name: 'JobBatchName',
  token: 'MusterToken',
  user: 'Owner',
  state: 'JobStatus',
  substate: 'HoldReasonCode',
  detail: { from: ['VacateReasonCode'], as: 'text' },
  component: 'HoldReasonSubCode',
  phase: '{TransferringInput} {TransferringOutput}',
  used: { from: 'NumJobStarts', as: 'number' },
  reason: {
    from: ['HoldReason', 'RemoveReason', 'LastRejMatchReason'],
    as: 'text'
  },
  endedBy: {
    from: 'RemoveReason',
    as: 'text',
    match: '\\(by user (?<value>[^)]+)\\)$'
  },
  exit: { from: ['{ExitBySignal} {ExitCode}', 'ExitBySignal'], as: 'text' },
  submit: { from: 'QDate', as: 'epoch' },
  start: {
    from: ['JobCurrentStartExecutingDate', 'JobCurrentStartDate'],
    as: 'epoch'
  },
  end: {
    from: ['CompletionDate', 'EnteredCurrentStatus'],
    as: 'epoch',
    match: '^[1-9]\\d*$'
  },
  limit: {
    from: ['AllowedExecuteDuration', 'AllowedJobDuration'],
    as: 'durationSeconds'
  },
  nodes: { from: 'RemoteHost', as: 'queueHost' },
  restarts: { from: 'JobRunCount', as: 'number' }
};

const JSON_FORM: Pick<StatusForm, 'name' | 'reader' | 'fields'> & {
  argv: string[];
  text: string;
} = {
  name: 'json',
  argv: ['-json'],
  text: '^[ \\t]*\\[',
  reader: { type: 'json', at: [] },
  fields: FIELDS
};

const AF_FORM: StatusForm = {
  name: 'autoformat',
  text: '^\\S',
  reader: { type: 'autoformat', option: '^-(af|autoformat)(:\\w+)?$' },
  fields: FIELDS
};

export const htcondor = defineSystem({
  name: 'htcondor',
  title: 'HTCondor',
  proven: 'recorded',
  versions: 'recorded on 25.14.0',
  notes: [
    'Jobs begin with an empty environment.',
    'A used-up time limit leaves the job held in the queue: it is cancelled to settle.',
    'A job runs on one machine; MPI over machines is not asked for.'
  ],
  version: {
    argv: ['condor_version'],
    pattern: '\\$CondorVersion: (?<version>\\S+)'
  },
  commands: ['condor_submit', 'condor_q', 'condor_rm'],
  capabilities: {
    arrays: true,
    arrayThrottle: true,
    firstArrayIndex: 0,
    comment: true,
    tagEnv: true,
    hold: true,
    signalBeforeEnd: false,
    batchStatus: true,
    history: true,
    json: true,
    gpus: true,
    memory: true,
    exclusive: false,
    constraint: true,
    het: false,
    testOnly: false,
    priority: true,
    multiCluster: true,
    requeue: true,
    maxNameLength: 255,
    walltimeResolution: 1
  },
  jobName: { allowed: 'A-Za-z0-9_.+=-' },
  site: { transfer: 'value of should_transfer_files: YES, NO or IF_NEEDED' },
  script: {
    style: 'description',
    prefix: '',
    executable: true,
    quoting: 'htcondor',
    bareEnvironment: true,
    fill: { id: '$(Cluster)', index: '$(Process)', escape: { $: '$(DOLLAR)' } },
    jobId: '${MUSTER_CLUSTER:-}.${MUSTER_PROCESS:-}',
    arrayIndex: '${MUSTER_PROCESS:-}',
    ownVariables: []
  },
  walltime: { form: 'seconds', unlimited: null },
  memory: { units: [['M', 1024 ** 2]] },
  priority: { lowest: -20, highest: 20 },
  array: { form: 'count' },
  header: [
    { line: 'universe = vanilla' },
    { line: 'batch_name = {name}' },
    { line: '+MusterToken = {ad.comment}' },
    { line: 'accounting_group = {account}' },
    { when: ['!account'], line: 'accounting_group = {project}' },
    { line: 'request_cpus = {cpusPerNode}' },
    { line: 'request_memory = {memoryPerNode}' },
    { line: 'request_gpus = {gpusPerNode}' },
    { line: 'requirements = {constraint}' },
    { line: 'allowed_execute_duration = {walltime}' },
    { line: 'priority = {priority}' },
    {
      when: ['!requeue'],
      line: 'periodic_remove = (JobStatus == 1) && (NumJobStarts > 0)'
    },
    { when: ['requeue'], line: '', honours: ['requeue'] },
    { line: 'initialdir = {workdir}' },
    { line: 'output = {paths.stdout}', honours: ['stdout'] },
    {
      when: ['joinOutput'],
      line: 'error = {paths.stdout}',
      honours: ['joinOutput']
    },
    { line: 'error = {paths.stderr}', honours: ['stderr'] },
    { line: 'log = {paths.stdout}.log' },
    { line: 'should_transfer_files = {site.transfer}' },
    { when: ['array'], line: 'max_materialize = {arrayMax}' },
    { when: ['array'], line: 'queue {arrayCount}' }
  ],
  options: {},
  id: {
    pattern: '^(?<seq>\\d+)(?:\\.(?<index>\\d+))?$',
    element: '{master}.{index}'
  },
  submit: {
    argv: [
      'condor_submit',
      '-terse',
      ['-name', '{cluster}'],
      '{extra}',
      '{file}'
    ],
    plainArgv: ['condor_submit', ['-name', '{cluster}'], '{extra}', '{file}'],
    ids: [
      '^(?<id>\\d+\\.\\d+) - \\d+\\.(?<last>\\d+)$',
      '^(?<count>\\d+) job\\(s\\) submitted to cluster (?<id>\\d+)\\.$',
      '^\\*\\* Proc (?<id>\\d+\\.\\d+):$'
    ],
    retry: [
      "Can't find address",
      'Failed to connect',
      "Couldn't contact",
      'unknown host',
      'condor_config" does not exist',
      'CONDOR_CONFIG environment variable'
    ],
    usage: ['^Usage:'],
    rejections: [
      // The usage text names nearly everything: nothing below may look into it.
      { pattern: '^Usage:', reason: 'syntax', field: 'native' },
      { pattern: 'MAX_JOBS_PER_', reason: 'limit' },
      { pattern: 'is disabled|not allowed to own jobs', reason: 'account' },
      {
        pattern: 'RequestMemory may be|at most .* MB',
        reason: 'limit',
        field: 'memory'
      },
      { pattern: 'accounting', reason: 'account', field: 'account' },
      {
        pattern: '^[ \\t]*RequestMemory = ',
        reason: 'syntax',
        field: 'memory'
      },
      {
        pattern: '^[ \\t]*RequestCpus = ',
        reason: 'syntax',
        field: 'cpusPerTask'
      },
      {
        pattern: '^[ \\t]*RequestGPUs = ',
        reason: 'syntax',
        field: 'gpusPerTask'
      },
      {
        pattern: '^[ \\t]*Requirements = ',
        reason: 'syntax',
        field: 'constraint'
      },
      {
        pattern: '^[ \\t]*Allowed\\w*Duration = ',
        reason: 'syntax',
        field: 'walltimeSeconds'
      },
      { pattern: 'priority=', reason: 'syntax', field: 'priority' },
      { pattern: 'SUBMIT_ALLOW_GETENV', reason: 'permission', field: 'env' },
      { pattern: 'environment', reason: 'syntax', field: 'env' },
      {
        pattern: 'arguments you specified',
        reason: 'syntax',
        field: 'command'
      },
      { pattern: 'No such directory', reason: 'environment', field: 'workdir' },
      {
        pattern: 'executable|Failed to open command file',
        reason: 'syntax',
        field: 'script'
      },
      { pattern: 'Queue count', reason: 'syntax', field: 'array' },
      {
        pattern:
          'Parse error|Failed to parse command file|is invalid, must eval|universe|require a|not defined for|must be|invalid (value|signal|attribute)',
        reason: 'syntax',
        field: 'native'
      }
    ]
  },
  status: {
    argv: [
      'condor_q',
      ['-name', '{cluster}'],
      '{extra}',
      '{ids}',
      '-json',
      '-attributes',
      ATTRIBUTES
    ],
    mineArgv: [
      'condor_q',
      ['-name', '{cluster}'],
      '{extra}',
      '-json',
      '-attributes',
      ATTRIBUTES
    ],
    tokenArgv: [
      'condor_q',
      ['-name', '{cluster}'],
      '{extra}',
      '-constraint',
      'MusterToken =?= "{token}"',
      '-json',
      '-attributes',
      ATTRIBUTES
    ],
    forms: [
      { ...JSON_FORM, states: { 3: 'STOPPING' } },
      {
        name: 'xml',
        text: '<classads>',
        reader: { type: 'xml', elements: ['c'] },
        fields: FIELDS,
        states: { 3: 'STOPPING' }
      },
      {
        name: 'rows',
        text: '^[ \\t]*ID\\s+OWNER\\s+SUBMITTED\\s+RUN_TIME\\s+ST',
        reader: {
          type: 'table',
          start: '^\\s*\\d+\\.\\d+\\s',
          header: '^\\s*ID\\s+OWNER\\s+SUBMITTED',
          row: '^\\s*(?<JobId>\\d+\\.\\d+)\\s+(?<Owner>\\S+)\\s+\\d+/\\d+ \\d+:\\d+\\s+\\d+\\+\\d\\d:\\d\\d:\\d\\d (?<JobStatus>[A-Z<>])\\s'
        },
        fields: { id: 'JobId', user: 'Owner', state: 'JobStatus' }
      },
      {
        name: 'held',
        text: '^[ \\t]*ID\\s+OWNER\\s+HELD_SINCE',
        reader: {
          type: 'table',
          start: '^\\s*\\d+\\.\\d+\\s',
          header: '^\\s*ID\\s+OWNER\\s+HELD_SINCE',
          row: '^\\s*(?<JobId>\\d+\\.\\d+)\\s+(?<Owner>\\S+)\\s+\\d+/\\d+ \\d+:\\d+\\s+(?<code>\\d+)(?:/(?<sub>\\d+))?\\s+(?<HoldReason>.*)$'
        },
        assumeState: '5',
        fields: {
          id: 'JobId',
          user: 'Owner',
          state: 'JobStatus',
          substate: 'code',
          component: 'sub',
          reason: 'HoldReason'
        }
      },
      {
        name: 'running',
        text: '^[ \\t]*ID\\s+OWNER\\s+SUBMITTED\\s+RUN_TIME\\s+HOST',
        reader: {
          type: 'table',
          start: '^\\s*\\d+\\.\\d+\\s',
          header: '^\\s*ID\\s+OWNER\\s+SUBMITTED',
          row: '^\\s*(?<JobId>\\d+\\.\\d+)\\s+(?<Owner>\\S+)\\s+\\d+/\\d+ \\d+:\\d+\\s+\\d+\\+\\d\\d:\\d\\d:\\d\\d (?<RemoteHost>\\S+)'
        },
        assumeState: '2',
        fields: {
          id: 'JobId',
          user: 'Owner',
          state: 'JobStatus',
          nodes: { from: 'RemoteHost', as: 'queueHost' }
        }
      },
      {
        name: 'totals',
        text: '^Total for query: 0 jobs',
        reader: {
          type: 'table',
          header: '^-- Schedd',
          row: '^(?<JobId>\\d+\\.\\d+)$'
        },
        fields: { id: 'JobId' }
      },
      { ...AF_FORM, states: { 3: 'STOPPING' } }
    ]
  },
  history: {
    argv: [
      'condor_history',
      ['-name', '{cluster}'],
      '{extra}',
      '{ids}',
      '-json',
      '-attributes',
      ATTRIBUTES
    ],
    forms: [
      { ...JSON_FORM, states: { 3: 'CANCELLED' } },
      {
        name: 'rows',
        text: '^[ \\t]*ID\\s+OWNER\\s+SUBMITTED',
        reader: {
          type: 'table',
          start: '^\\s*\\d+\\.\\d+\\s',
          header: '^\\s*ID\\s+OWNER\\s+SUBMITTED',
          row: '^\\s*(?<JobId>\\d+\\.\\d+)\\s+(?<Owner>\\S+)\\s+\\d+/\\d+ \\d+:\\d+\\s+\\d+\\+\\d\\d:\\d\\d:\\d\\d (?<JobStatus>[A-Z<>])\\s'
        },
        states: { X: 'CANCELLED' },
        fields: { id: 'JobId', user: 'Owner', state: 'JobStatus' }
      },
      { ...AF_FORM, states: { 3: 'CANCELLED' } }
    ]
  },
  answers: {
    unreachable: [
      'Failed to connect',
      'Failed to fetch ads',
      "Can't find address",
      "Couldn't contact",
      'Could not find the local condor_schedd',
      'communication error',
      'does not exist\\.$',
      'unknown host'
    ],
    missing: [],
    unsupported: [
      'unrecognized argument',
      'Unknown option',
      '^Usage:',
      'invalid constraint',
      'could not parse constraint'
    ],
    empty: []
  },
  states: {
    1: 'PENDING',
    I: 'PENDING',
    10: 'PENDING',
    2: 'RUNNING',
    R: 'RUNNING',
    6: 'STOPPING',
    '<': 'STARTING',
    '>': 'STOPPING',
    5: 'HELD',
    H: 'HELD',
    7: 'SUSPENDED',
    S: 'SUSPENDED',
    X: 'STOPPING'
  },
  rules: [
    { if: { state: '^2$', phase: '^true' }, then: 'STARTING' },
    { if: { state: '^2$', phase: ' true$' }, then: 'STOPPING' },
    { if: { state: '^2$', detail: '^\\d{4}' }, then: 'STOPPING' },
    // No start of the program counted yet: input on its way, or a deferred start.
    { if: { state: '^2$', used: '^0$' }, then: 'STARTING' },
    {
      if: { state: '^1$', detail: '^\\d{4}' },
      then: 'PENDING',
      pending: 'requeued'
    },
    { if: { state: '^5$', substate: '^16$' }, then: 'SUBMITTING' },
    { if: { state: '^5$', substate: '^4[67]$' }, then: 'TIMEOUT' },
    {
      if: { state: '^5$', substate: '^34$', component: '^102$' },
      then: 'OUT_OF_MEMORY'
    },
    { if: { state: '^5$', substate: '^(6|7|8|12|13)$' }, then: 'FAILED' },
    { if: { state: '^(5|H)$' }, then: 'HELD', pending: 'held', stuck: true },
    { if: { state: '^4$', exit: '^false 0$' }, then: 'COMPLETED' },
    { if: { state: '^4$', exit: '^(true|false \\d)' }, then: 'FAILED' },
    { if: { state: '^(4|C)$' }, then: 'UNKNOWN', final: true }
  ],
  pending: [{ pattern: 'no match found', reason: 'resources' }],
  adapters: ['condor'],
  cancel: {
    argv: ['condor_rm', ['-name', '{cluster}'], '{extra}', '{ids}'],
    partial: 'OK',
    answers: [
      {
        pattern:
          '^Job (?<id>\\d+\\.\\d+) (?:marked for removal|held|released|suspended|continued|vacated|fast-vacated)',
        code: 'OK'
      },
      { pattern: '^Job (?<id>\\d+\\.\\d+) not found', code: 'GONE' },
      { pattern: '^Job (?<id>\\d+\\.\\d+) (?:not|is|already) ', code: 'ERROR' },
      {
        pattern: 'Permission denied to .*job (?<id>\\d+\\.\\d+)',
        code: 'DENIED'
      },
      { pattern: '^All jobs in cluster (?<id>\\d+) have been', code: 'OK' },
      // Unknown, gone or another user's: one text for all three.
      {
        pattern: "Couldn't find/.* all jobs in cluster (?<id>\\d+)",
        code: 'UNCERTAIN'
      },
      { pattern: 'There are no jobs in the queue', code: 'GONE' },
      { pattern: '^All jobs (?:of user .* )?have been', code: 'OK' },
      // One sentence for several clusters hides the unknown ones.
      {
        pattern: '^All jobs matching constraint .* have been',
        code: 'UNCERTAIN'
      },
      { pattern: "Couldn't find/", code: 'UNCERTAIN' },
      {
        pattern: '^Usage:|did not specify any jobs|insert constraint',
        code: 'ERROR'
      }
    ]
  },
  orders: {
    hold: { argv: ['condor_hold', ['-name', '{cluster}'], '{ids}'] },
    release: { argv: ['condor_release', ['-name', '{cluster}'], '{ids}'] },
    suspend: { argv: ['condor_suspend', ['-name', '{cluster}'], '{ids}'] },
    resume: { argv: ['condor_continue', ['-name', '{cluster}'], '{ids}'] },
    requeue: { argv: ['condor_vacate_job', ['-name', '{cluster}'], '{ids}'] }
  },
  limits: [
    {
      what: 'settings',
      argv: ['condor_config_val', 'MAX_JOBS_PER_SUBMISSION'],
      argvMark: ['condor_config_val'],
      reader: { type: 'rows', separator: ' ', columns: ['value'] }
    }
  ]
});
