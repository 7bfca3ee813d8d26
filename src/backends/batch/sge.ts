/**
 * The Grid Engine family. Recorded on Son of Grid Engine 8.1.9; the header is judged by a real
 * `qsub -verify` (testbeds/sge). Names of parallel environments and memory keys are site data.
 */
import { defineSystem } from './specification.js';

const OTHER_ROW =
  '\\s+(?<date>\\d\\d/\\d\\d/\\d{4} \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?)(?:\\s+(?<queue>\\S+@\\S+))?\\s+(?<slots>\\d+|MASTER|SLAVE)(?:\\s+(?<tasks>\\d[\\d,:-]*))?\\s*$';

export const sge = defineSystem({
  name: 'sge',
  title: 'Grid Engine',
  proven: 'real',
  versions:
    'recorded on Son of Grid Engine 8.1.9; qsub -verify of 8.1.9; Univa and Altair from their documentation',
  notes: [
    'Memory is asked for per slot, under a key of the site.',
    'A dependency waits for any end of the other job, good or bad.',
    'How an ended job ended is told by qacct, where accounting is on.',
    'Job ids begin again at 1 after 99999: match token and submit time too.'
  ],
  version: {
    argv: ['qstat', '-help'],
    pattern: '^(?:SGE|UGE|OGE|GE|AGE) (?<version>\\S+)'
  },
  commands: ['qsub', 'qstat', 'qdel'],
  capabilities: {
    arrays: true,
    arrayThrottle: true,
    firstArrayIndex: 1,
    comment: true,
    tagEnv: false,
    hold: true,
    signalBeforeEnd: true,
    batchStatus: true,
    history: true,
    json: false,
    gpus: true,
    memory: true,
    exclusive: true,
    constraint: true,
    het: false,
    testOnly: true,
    priority: true,
    multiCluster: false,
    requeue: true,
    maxNameLength: 128,
    walltimeResolution: 1
  },
  jobName: { allowed: 'A-Za-z0-9_.+=-', first: 'A-Za-z_' },
  site: {
    parallelEnvironment:
      'name of the parallel environment for more than one slot (qconf -spl)',
    memoryKey:
      'resource memory is asked for with, per slot: h_vmem, mem_free, m_mem_free …',
    gpuKey: 'resource GPUs are asked for with (default gpu)',
    exclusiveKey: 'resource for exclusive hosts (default exclusive)'
  },
  siteRequired: {
    parallelEnvironment: ['manyCpus'],
    memoryKey: ['memoryScope']
  },
  script: {
    prefix: '#$',
    quoting: 'sge',
    fill: { id: '$JOB_ID', index: '$TASK_ID' },
    jobId: '${JOB_ID:-}',
    arrayIndex: '${SGE_TASK_ID:-}',
    ownVariables: []
  },
  walltime: { form: 'seconds', unlimited: 'INFINITY' },
  memory: {
    units: [
      ['G', 1024 ** 3],
      ['M', 1024 ** 2],
      ['K', 1024]
    ]
  },
  // Above 0 is for operators only.
  priority: { lowest: -1023, highest: 0 },
  array: { form: 'range' },
  dependency: {
    ok: null,
    notOk: null,
    any: '',
    started: null,
    idSeparator: ',',
    separator: ','
  },
  header: [
    { line: '-S {shell}' },
    { line: '-N {name}' },
    { line: '-ac muster_token={comment}' },
    { line: '-q {queue}' },
    { line: '-P {project}' },
    { line: '-A {account}' },
    { line: '-ar {reservation}' },
    {
      when: ['manyCpus'],
      line: '-pe {site.parallelEnvironment} {cpus}',
      honours: ['tasks', 'tasksPerNode', 'cpusPerTask']
    },
    { line: '-l {site.memoryKey}={memoryPerCpu}', honours: ['memory'] },
    { line: '-l h_rt={walltime}' },
    {
      when: ['warnSignal=USR1'],
      line: '-l s_rt={warnAt}',
      honours: ['warnBefore']
    },
    { when: ['gpusPerNode', '!site.gpuKey'], line: '-l gpu={gpusPerNode}' },
    {
      when: ['site.gpuKey'],
      line: '-l {site.gpuKey}={gpusPerNode}',
      honours: ['gpusPerTask']
    },
    {
      when: ['exclusive', '!site.exclusiveKey'],
      line: '-l exclusive=true',
      honours: ['exclusive']
    },
    {
      when: ['exclusive'],
      line: '-l {site.exclusiveKey}=true',
      honours: ['exclusive']
    },
    { line: '-l {constraint}' },
    { when: ['array'], line: '-t {arrayRange}' },
    { when: ['array'], line: '-tc {arrayMax}' },
    { line: '-hold_jid {dependency}' },
    { line: '-p {priority}' },
    { when: ['requeue'], line: '-r y', honours: ['requeue'] },
    { when: ['!requeue'], line: '-r n' },
    { line: '-wd {workdir}' },
    { line: '-o {stdout}' },
    { line: '-e {stderr}' },
    { when: ['joinOutput'], line: '-j y', honours: ['joinOutput'] }
  ],
  options: {
    aliases: [['-wd', '-cwd']],
    exclusive: [],
    keyed: ['-l', '-ac']
  },
  id: {
    pattern: '^(?<seq>\\d+)(?:\\.(?<index>\\d+))?$',
    element: '{master}.{index}',
    collective:
      '^(?<master>\\d+)\\.(?<ranges>\\d+(?:-\\d+(?::\\d+)?)?(?:,\\d+(?:-\\d+(?::\\d+)?)?)*)$'
  },
  submit: {
    argv: ['qsub', '-terse', '{extra}', '{file}'],
    plainArgv: ['qsub', '{extra}', '{file}'],
    ids: [
      '^(?<id>\\d+)(?:\\.(?<tasks>\\d+-\\d+:\\d+))?$',
      '^Your job (?<id>\\d+) \\(".*"\\) has been submitted$',
      '^Your job-array (?<id>\\d+)\\.(?<tasks>\\d+-\\d+:\\d+) \\(".*"\\) has been submitted$'
    ],
    retry: [
      'Connection refused',
      'unable to send message to qmaster',
      'unable to contact qmaster',
      'Unable to initialize environment'
    ],
    uncertain: [
      'got read error',
      'got select timeout',
      'failed receiving gdi request'
    ],
    usage: [
      'invalid option argument',
      'option must have argument',
      '^usage:',
      'Unknown option'
    ],
    rejections: [
      {
        pattern:
          'unknown queue|has no permission for cluster queue|queue .* does not exist',
        reason: 'partition',
        field: 'queue'
      },
      {
        pattern: 'attribute "[hs]_rt" is not a time value',
        reason: 'syntax',
        field: 'walltimeSeconds'
      },
      { pattern: 'is not a memory value', reason: 'syntax', field: 'memory' },
      {
        pattern: 'parallel environment .* does not exist',
        reason: 'resources',
        field: 'profile.site.parallelEnvironment'
      },
      {
        pattern: 'pe range must be|cannot run in PE',
        reason: 'resources',
        field: 'cpusPerTask'
      },
      { pattern: 'unknown resource', reason: 'syntax', field: 'native' },
      { pattern: 'no suitable queues', reason: 'resources' },
      {
        pattern: 'positive submission priority',
        reason: 'permission',
        field: 'priority'
      },
      { pattern: 'invalid priority', reason: 'syntax', field: 'priority' },
      {
        pattern: 'max_aj_tasks|array.*(too|exceed|limit)|more tasks than',
        reason: 'limit',
        field: 'array'
      },
      { pattern: 'invalid task id', reason: 'syntax', field: 'array' },
      {
        pattern:
          'Only .* jobs? (are|is) allowed|max_u_jobs|job limit|exceeds? .*quota|maximum number of',
        reason: 'quota'
      },
      {
        pattern: '-N option must not|not allowed in objectname|argument to -N',
        reason: 'syntax',
        field: 'name'
      },
      {
        pattern:
          'project .* does not exist|no (access to )?project|project .* not valid',
        reason: 'account',
        field: 'project'
      },
      {
        pattern: 'advance reservation',
        reason: 'resources',
        field: 'reservation'
      },
      {
        pattern:
          'lower than minimum (user|group) id|not allowed to submit|denied: ',
        reason: 'permission'
      },
      {
        pattern:
          'error opening|Unable to read script file because of error: (?!invalid)',
        reason: 'syntax',
        field: 'script'
      },
      {
        pattern:
          'Wrong date/time|checkpointing environment|invalid option argument|option must have argument',
        reason: 'syntax',
        field: 'native'
      },
      { pattern: 'Numerical value invalid', reason: 'syntax' }
    ]
  },
  status: {
    argv: ['qstat', '-xml', '-g', 'd', ['-u', '{user}'], '{extra}'],
    mineArgv: ['qstat', '-xml', '-g', 'd', '-u', '{user}', '{extra}'],
    forms: [
      {
        name: 'job xml',
        text: '<detailed_job_info',
        reader: { type: 'xml', elements: ['djob_info'] },
        // A detailed record tells that the job is known, not where it stands.
        fields: {
          id: 'element.JB_job_number',
          name: 'element.JB_job_name',
          submit: { from: 'element.JB_submission_time', as: 'time' }
        }
      },
      {
        name: 'xml',
        argv: ['-xml'],
        text: '<job_info',
        reader: { type: 'xml', elements: ['job_list'] },
        fields: {
          id: 'JB_job_number',
          tasks: 'tasks',
          name: { from: ['full_job_name', 'JB_name'] },
          user: 'JB_owner',
          state: 'state',
          submit: { from: 'JB_submission_time', as: 'time' },
          start: { from: 'JAT_start_time', as: 'time' },
          nodes: { from: 'queue_name', as: 'queueHost' }
        }
      },
      {
        name: 'job text',
        argv: ['-j'],
        text: '^job_number:',
        reader: {
          type: 'blocks',
          start: '^={20,}',
          pair: '^(?<key>[a-z][\\w ]*?)(?:\\s+\\d+)?:\\s*(?<value>.*)$',
          more: '^\\s{20,}(?<value> .*)$'
        },
        fields: {
          id: 'job_number',
          name: 'job_name',
          user: 'owner',
          substate: 'error reason',
          reason: {
            from: ['error reason', 'scheduling info'],
            match: '^(?!There are no messages)[^\\n]+'
          },
          submit: { from: 'submission_time', as: 'time' },
          limit: {
            from: 'hard resource_list',
            as: 'durationSge',
            match: 'h_rt=(?<value>[^,\\s]+)'
          }
        }
      },
      {
        name: 'extended table',
        text: '^job-ID\\s+prior\\s+ntckts',
        reader: {
          type: 'table',
          header: '^job-ID\\s+prior\\s+ntckts',
          row: '^\\s*(?<id>\\d+)\\s+[\\d.]+\\s+[\\d.]+\\s+(?<name>\\S.*?)\\s+(?<user>\\S+)\\s+\\S+\\s+\\S+\\s+(?<state>[A-Za-z]{1,5})\\s'
        },
        fields: { id: 'id', name: 'name', user: 'user', state: 'state' }
      },
      {
        name: 'table',
        text: '^(job-ID\\s+prior|queuename\\s+qtype)',
        reader: {
          type: 'table',
          start: '^\\s*\\d+ ',
          header: '^(job-ID\\s+prior|queuename\\s+qtype)',
          row: `^\\s*(?<id>\\d+)\\s+[\\d.]+\\s+(?<name>\\S.*?)\\s+(?<user>\\S+)\\s+(?<state>[A-Za-z]{1,5})${OTHER_ROW}`
        },
        fields: {
          id: 'id',
          tasks: 'tasks',
          name: 'name',
          user: 'user',
          state: 'state',
          start: { from: 'date', as: 'time' },
          nodes: { from: 'queue', as: 'queueHost' }
        }
      }
    ]
  },
  history: {
    argv: ['qacct', '{extra}', '-j', '{id}'],
    // Of a list of ids only the first is printed.
    chunk: 1,
    forms: [
      {
        name: 'records',
        text: '^qname',
        reader: {
          type: 'blocks',
          start: '^={20,}',
          pair: '^(?<key>[a-z_]+)\\s+(?<value>.*)$'
        },
        fields: {
          id: 'jobnumber',
          tasks: { from: 'taskid', match: '^\\d+$' },
          name: 'jobname',
          user: 'owner',
          state: { from: 'failed', match: '^\\d+' },
          reason: { from: 'failed', match: ':\\s*(?<value>.*)$' },
          exit: { from: 'exit_status', as: 'exitShell', match: '^-?\\d+' },
          submit: { from: 'qsub_time', as: 'time' },
          start: { from: 'start_time', as: 'time' },
          end: { from: 'end_time', as: 'time' },
          limit: {
            from: 'category',
            as: 'durationSge',
            match: 'h_rt=(?<value>[^,\\s]+)'
          },
          used: { from: 'ru_wallclock', as: 'durationFsd' },
          nodes: { from: 'hostname', as: 'hosts' }
        }
      }
    ]
  },
  answers: {
    unreachable: [
      'commlib error',
      'unable to send message to qmaster',
      'unable to contact qmaster',
      'Connection refused',
      'Unable to initialize environment',
      "cell directory .* doesn't exist"
    ],
    missing: [
      'Following jobs do not exist',
      'job (?:id|name) (?<id>\\d+) not found',
      'Job-array tasks (?<id>\\S+) not found'
    ],
    unsupported: [
      '^usage:',
      'Unknown option',
      'no accounting',
      'no jobs running since startup'
    ],
    empty: [
      'is not a parallel environment',
      'No cluster queue or queue instance matches',
      'no resource quota set list defined',
      'no parallel environment defined'
    ]
  },
  states: {
    qw: 'PENDING',
    hqw: 'HELD',
    t: 'STARTING',
    r: 'RUNNING',
    s: 'SUSPENDED'
  },
  rules: [
    // Accounting: "failed" is the state, the exit status beside it.
    { if: { state: '^37$' }, then: 'TIMEOUT' },
    { if: { state: '^(19|21)$' }, then: 'NODE_FAIL' },
    // That run ended, the job goes back to the queue.
    {
      if: { state: '^2[45]$' },
      then: 'PENDING',
      pending: 'requeued'
    },
    { if: { state: '^0$', exit: '^0\\b' }, then: 'COMPLETED' },
    { if: { state: '^\\d+$' }, then: 'FAILED' },
    // Letters pile up: deletion outranks error, error suspension, suspension the rest.
    { if: { state: '^[A-Za-z]*d' }, then: 'STOPPING' },
    { if: { state: 'E' }, then: 'HELD', pending: 'error', stuck: true },
    { if: { state: '[sST]' }, then: 'SUSPENDED' },
    { if: { state: '^h.*w' }, then: 'HELD', pending: 'held', stuck: true },
    { if: { state: 'R.*(q|w)' }, then: 'PENDING', pending: 'requeued' },
    { if: { state: 'w|q' }, then: 'PENDING' },
    { if: { state: 't' }, then: 'STARTING' },
    { if: { state: 'r' }, then: 'RUNNING' },
    { if: { state: '^z$' }, then: 'UNKNOWN', final: true },
    { if: { substate: '.' }, then: 'HELD', pending: 'error', stuck: true }
  ],
  pending: [
    { pattern: "can't chdir|error:", reason: 'error', stuck: true },
    { pattern: 'execution time not reached', reason: 'begin' },
    {
      pattern: 'because it is full|offers only|no free slots',
      reason: 'resources'
    },
    { pattern: 'max_aj_instances', reason: 'limit' }
  ],
  adapters: ['sge-limits'],
  cancel: {
    argv: ['qdel', '{extra}', '{ids}'],
    forceArgv: ['qdel', '-f', '{extra}', '{ids}'],
    answers: [
      { pattern: 'denied: job "(?<id>\\S+)" does not exist', code: 'GONE' },
      {
        pattern:
          'necessary privileges to (?:delete|modify|suspend) (?:the )?job(?:-array task)? "?(?<id>\\d+(?:\\.\\d+)?)',
        code: 'DENIED'
      },
      { pattern: 'invalid queue or job "(?<id>\\S+)"', code: 'GONE' },
      {
        pattern:
          'has (?:registered|deleted) the job(?:-array task)? (?<id>\\d+(?:\\.\\d+)?)',
        code: 'OK'
      },
      {
        pattern: 'has deleted job(?:-array task)? (?<id>\\d+(?:\\.\\d+)?)$',
        code: 'OK'
      },
      {
        pattern:
          'has (?:registered|deleted) (?:the )?job-array tasks \\S+ of job (?<id>\\d+)',
        code: 'OK'
      },
      {
        pattern: 'job (?<id>\\d+(?:\\.\\d+)?) is already in deletion',
        code: 'OK'
      },
      {
        pattern:
          'forced the deletion of job(?:-array task)? (?<id>\\d+(?:\\.\\d+)?)',
        code: 'OK'
      },
      {
        pattern:
          '(?:suspended|unsuspended|rescheduled|cleared|pushed rescheduling of) (?:error state of )?job(?:-array task)? (?<id>\\d+(?:\\.\\d+)?)',
        code: 'OK'
      },
      {
        pattern:
          'job(?:-array task)? (?<id>\\d+(?:\\.\\d+)?) is already (?:un)?suspended',
        code: 'OK'
      },
      {
        pattern: 'modified hold of job(?:-array task)? (?<id>\\d+(?:\\.\\d+)?)',
        code: 'OK'
      },
      {
        pattern: 'Job (?<id>\\d+(?:\\.\\d+)?) is not in error state',
        code: 'ERROR'
      },
      { pattern: 'no permission to .*?(?<id>\\d+)', code: 'DENIED' },
      { pattern: 'denied: ', code: 'DENIED' }
    ]
  },
  orders: {
    hold: { argv: ['qhold', '{ids}'] },
    release: { argv: ['qrls', '{ids}'] },
    suspend: { argv: ['qmod', '-sj', '{ids}'] },
    resume: { argv: ['qmod', '-usj', '{ids}'] },
    requeue: { argv: ['qmod', '-rj', '{ids}'] }
  },
  estimate: {
    argv: ['qsub', '-w', 'v', '{extra}', '{file}'],
    time: [],
    possible: ['found suitable queue', '^job_number:'],
    impossible: ['no suitable queues', 'Unable to run job']
  },
  limits: [
    {
      what: 'settings',
      argv: ['qconf', '-sconf'],
      argvMark: ['-sconf'],
      text: '^#global:',
      reader: {
        type: 'blocks',
        start: '^#global:',
        pair: '^(?<key>\\w+)\\s+(?<value>.*)$'
      }
    },
    {
      what: 'parallelEnvironments',
      argv: ['qconf', '-spl'],
      argvMark: ['-spl'],
      reader: {
        type: 'rows',
        separator: ' ',
        columns: ['name'],
        only: '^[\\w.-]+$'
      },
      fields: { name: 'name' }
    },
    {
      what: 'parallelEnvironments',
      argv: ['qconf', '-spl'],
      argvMark: ['-sp'],
      text: '^pe_name\\s',
      reader: {
        type: 'blocks',
        start: '^pe_name\\s+(?<id>\\S+)',
        pair: '^(?<key>\\w+)\\s+(?<value>.*)$'
      },
      fields: { name: '$id' }
    },
    {
      what: 'queues',
      argv: ['qstat', '-g', 'c'],
      text: '^CLUSTER QUEUE\\s',
      reader: {
        type: 'table',
        header: '^CLUSTER QUEUE\\s',
        row: '^(?<name>[A-Za-z0-9]\\S*)\\s+\\S+\\s+\\d+\\s+\\d+\\s+\\d+\\s+(?<total>\\d+)\\s'
      },
      fields: { name: 'name', maxCpus: 'total' }
    },
    {
      what: 'queues',
      argv: ['qconf', '-sql'],
      argvMark: ['-sql'],
      text: '^[\\w.-]+$',
      reader: {
        type: 'rows',
        separator: ' ',
        columns: ['name'],
        only: '^[\\w.-]+$'
      },
      fields: { name: 'name' }
    }
  ]
});
