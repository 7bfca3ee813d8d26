/**
 * Slurm. Recorded on 22.05.8 with and without accounting; the header is judged by a real
 * `sbatch --test-only` (testbeds/slurm). Facts: specs/batch-systems.md.
 */
import {
  COLUMNS,
  LETTERS,
  SLURM_FORMS,
  SLURM_HISTORY_FORMS,
  UNIT
} from './slurm-listings.js';
import { SLURM_REJECTIONS } from './slurm-refusals.js';
import { defineSystem } from './specification.js';

/** No Slurm text contains it, unlike `|`, which stands in names and administrators' reasons. */
export const slurm = defineSystem({
  name: 'slurm',
  title: 'Slurm',
  proven: 'real',
  versions: 'recorded on 22.05.8; sbatch --test-only of 22.05.8',
  notes: [
    'A cancel is answered with silence also for unknown ids; `scancel -v` is used, which tells.',
    'Jobs over a partition limit are accepted and wait for ever unless EnforcePartLimits is set: ask for an estimate first.',
    'Without accounting there is no history: ended jobs are known for MinJobAge seconds only.'
  ],
  version: {
    argv: ['sbatch', '--version'],
    pattern: '(?<version>\\d+\\.\\d+[.\\w-]*)'
  },
  commands: ['sbatch', 'squeue', 'scancel'],
  capabilities: {
    arrays: true,
    arrayLists: true,
    arrayThrottle: true,
    firstArrayIndex: 0,
    comment: true,
    tagEnv: true,
    hold: true,
    signalBeforeEnd: true,
    batchStatus: true,
    history: true,
    json: true,
    gpus: true,
    memory: true,
    exclusive: true,
    constraint: true,
    het: true,
    testOnly: true,
    priority: true,
    multiCluster: true,
    requeue: true,
    maxNameLength: 128,
    walltimeResolution: 60
  },
  jobName: { allowed: ' -\\u{10ffff}' },
  site: {
    cpusAsTasks:
      'the site refuses --cpus-per-task: all cpus are asked for with -n',
    gres: 'name of the GPU resource in --gres (default gpu)',
    export: 'value of --export, e.g. NONE'
  },
  script: {
    prefix: '#SBATCH',
    quoting: 'backslash',
    fill: {
      id: '%j',
      arrayId: '%A',
      index: '%a',
      escape: { '%': '%%', '\\': '\\\\' }
    },
    jobId:
      '${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-}}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}',
    arrayIndex: '${SLURM_ARRAY_TASK_ID:-}',
    ownVariables: ['SLURM_']
  },
  walltime: { form: 'D-HH:MM:SS', unlimited: 'UNLIMITED' },
  memory: { units: [['M', 1024 ** 2]], wholeNode: '0' },
  priority: { lowest: 10000, highest: 0 },
  array: { form: 'list' },
  dependency: {
    ok: 'afterok:',
    notOk: 'afternotok:',
    any: 'afterany:',
    started: 'after:',
    idSeparator: ':',
    separator: ','
  },
  header: [
    { line: '-J {name}' },
    { line: '--comment={comment}' },
    { line: '-p {queue}' },
    { line: '-A {account}' },
    { when: ['!account'], line: '-A {project}' },
    { line: '-q {qos}' },
    { line: '--reservation={reservation}' },
    { line: '-N {nodes}' },
    { when: ['!site.cpusAsTasks'], line: '-n {tasks}' },
    {
      when: ['!site.cpusAsTasks', 'manyTasks', 'manyNodes'],
      line: '--ntasks-per-node={tasksPerNode}'
    },
    { when: ['!site.cpusAsTasks'], line: '-c {cpusPerTask}' },
    { when: ['site.cpusAsTasks'], line: '-n {cpus}' },
    { when: ['memoryScope=cpu'], line: '--mem-per-cpu={memoryPerCpu}' },
    { when: ['memoryScope=gpu'], line: '--mem-per-gpu={memoryPerGpu}' },
    {
      when: ['memoryScope', '!memoryScope=cpu', '!memoryScope=gpu'],
      line: '--mem={memoryPerNode}'
    },
    { line: '--mem={wholeNodeMemory}' },
    { when: ['!site.gres'], line: '--gres=gpu:{?{gpuType}:}{gpusPerNode}' },
    {
      when: ['site.gres'],
      line: '--gres={site.gres}:{?{gpuType}:}{gpusPerNode}'
    },
    { line: '-t {walltime}' },
    { when: ['exclusive'], line: '--exclusive', honours: ['exclusive'] },
    { line: '-C {constraint}' },
    { when: ['placement=pack'], line: '--contiguous', honours: ['placement'] },
    {
      when: ['placement=scatter'],
      line: '--distribution=cyclic',
      honours: ['placement']
    },
    { when: ['array'], line: '-a {arrayRange}{?%{arrayMax}}' },
    { line: '-d {dependency}' },
    { line: '--signal=B:{warnSignal}@{warnSeconds}', honours: ['warnBefore'] },
    { when: ['requeue'], line: '--requeue', honours: ['requeue'] },
    { when: ['!requeue'], line: '--no-requeue' },
    { line: '--nice={priority}' },
    { line: '--chdir={workdir}' },
    { line: '-o {stdout}' },
    { line: '-e {stderr}' },
    { when: ['joinOutput'], line: '', honours: ['joinOutput'] },
    { when: ['stdout'], line: '--open-mode=append' },
    { line: '--export={site.export}' }
  ],
  options: {
    aliases: [
      ['-J', '--job-name'],
      ['-p', '--partition'],
      ['-A', '--account'],
      ['-q', '--qos'],
      ['-N', '--nodes'],
      ['-n', '--ntasks'],
      ['-c', '--cpus-per-task'],
      ['-t', '--time'],
      ['-C', '--constraint'],
      ['-a', '--array'],
      ['-d', '--dependency'],
      ['-o', '--output'],
      ['-e', '--error'],
      ['--chdir', '-D'],
      ['--gres', '--gpus-per-node', '--gpus', '-G'],
      ['--requeue', '--no-requeue']
    ],
    exclusive: [['--mem', '--mem-per-cpu', '--mem-per-gpu']]
  },
  id: {
    pattern: '^(?<seq>\\d+)(?:_(?<index>\\d+)|\\+(?<component>\\d+))?$',
    element: '{master}_{index}',
    collective: '^(?<master>\\d+)_\\[(?<ranges>[-0-9,:%.]+)\\]?$'
  },
  submit: {
    argv: ['sbatch', '--parsable', ['-M', '{cluster}'], '{extra}', '{file}'],
    plainArgv: ['sbatch', ['-M', '{cluster}'], '{extra}', '{file}'],
    ids: [
      '^(?<id>\\d+)(?:;(?<cluster>[\\w.-]+))?$',
      '^Submitted batch job (?<id>\\d+)(?: on cluster (?<cluster>\\S+))?$'
    ],
    retry: [
      'Unable to contact slurm controller',
      'temporarily unable to accept job',
      'Slurm backup controller in standby mode',
      'Unable to process configuration file',
      'Resource temporarily unavailable',
      'error: Unable to establish configuration source'
    ],
    uncertain: [
      'Socket timed out',
      'Unexpected message received',
      'Zero Bytes were transmitted or received',
      'Communication connection failure',
      'Message receive failure',
      'Transport endpoint is not connected'
    ],
    usage: [
      'unrecognized option',
      'invalid option',
      'unknown option',
      'requires an argument',
      'is ambiguous'
    ],
    rejections: SLURM_REJECTIONS
  },
  status: {
    argv: [
      'squeue',
      '-h',
      '--states=all',
      '-r',
      ['-M', '{cluster}'],
      '{extra}',
      '-j',
      '{ids}',
      '-o',
      COLUMNS.map(letter => `%${letter}`).join(UNIT)
    ],
    mineArgv: [
      'squeue',
      '-h',
      '--states=all',
      '-r',
      ['-M', '{cluster}'],
      '{extra}',
      '-u',
      '{user}',
      '-o',
      COLUMNS.map(letter => `%${letter}`).join(UNIT)
    ],
    idSeparator: ',',
    forms: SLURM_FORMS
  },
  history: {
    argv: [
      'sacct',
      '-X',
      '-n',
      '-P',
      ['-M', '{cluster}'],
      '{extra}',
      ['-S', '{since}'],
      '-j',
      '{ids}',
      '-o',
      'JobID,State,ExitCode,Elapsed,Timelimit,Submit,Start,End,NodeList,Reason,Comment,JobName'
    ],
    idSeparator: ',',
    forms: SLURM_HISTORY_FORMS
  },
  answers: {
    unreachable: [
      'Unable to contact slurm controller',
      'Socket timed out',
      'Unexpected message received',
      'Connection refused',
      'Problem talking to the database',
      'Unable to process configuration file',
      'Communication connection failure',
      'Zero Bytes were transmitted',
      'backup controller in standby mode'
    ],
    missing: [
      'Invalid job id specified(?: for job (?<id>\\S+))?',
      'Job (?<id>\\S+) not found',
      "couldn't get steps for job (?<id>\\S+)",
      'No steps running for job (?<id>\\S+)',
      'Nothing found'
    ],
    unsupported: [
      'accounting storage is disabled',
      'accounting_storage plugin',
      'priority plugin',
      'unrecognized option',
      'invalid option',
      'Invalid field requested',
      'Invalid (job|node) format specification',
      'Invalid job state specified',
      'unrecognized job state value',
      'Invalid job id: ',
      'Bad job/step specified',
      'invalid keyword',
      'invalid entity'
    ],
    empty: ['Partition \\S+ not found', 'Node \\S+ not found', 'Invalid user'],
    noise: ['Invalid job format specification']
  },
  states: {
    PD: 'PENDING',
    PENDING: 'PENDING',
    RQ: 'PENDING',
    REQUEUED: 'PENDING',
    RF: 'PENDING',
    REQUEUE_FED: 'PENDING',
    RH: 'HELD',
    REQUEUE_HOLD: 'HELD',
    RD: 'HELD',
    RESV_DEL_HOLD: 'HELD',
    SE: 'HELD',
    SPECIAL_EXIT: 'HELD',
    CF: 'STARTING',
    CONFIGURING: 'STARTING',
    R: 'RUNNING',
    RUNNING: 'RUNNING',
    RS: 'RUNNING',
    RESIZING: 'RUNNING',
    SO: 'RUNNING',
    STAGE_OUT: 'RUNNING',
    SI: 'RUNNING',
    SIGNALING: 'RUNNING',
    S: 'SUSPENDED',
    SUSPENDED: 'SUSPENDED',
    ST: 'SUSPENDED',
    STOPPED: 'SUSPENDED',
    CG: 'STOPPING',
    COMPLETING: 'STOPPING',
    CD: 'COMPLETED',
    COMPLETED: 'COMPLETED',
    F: 'FAILED',
    FAILED: 'FAILED',
    BF: 'FAILED',
    BOOT_FAIL: 'FAILED',
    LF: 'FAILED',
    LAUNCH_FAILED: 'FAILED',
    TO: 'TIMEOUT',
    TIMEOUT: 'TIMEOUT',
    DL: 'TIMEOUT',
    DEADLINE: 'TIMEOUT',
    OOM: 'OUT_OF_MEMORY',
    OUT_OF_MEMORY: 'OUT_OF_MEMORY',
    NF: 'NODE_FAIL',
    NODE_FAIL: 'NODE_FAIL',
    PR: 'PREEMPTED',
    PREEMPTED: 'PREEMPTED',
    CA: 'CANCELLED',
    CANCELLED: 'CANCELLED'
  },
  rules: [
    // A list of states on newer versions: the flag that is not over yet decides.
    { if: { state: '\\bCOMPLETING\\b' }, then: 'STOPPING' },
    {
      if: { state: '\\b(REQUEUE_HOLD|SPECIAL_EXIT|RESV_DEL_HOLD)\\b' },
      then: 'HELD',
      pending: 'held',
      stuck: true
    },
    {
      if: {
        state: '^(PD|PENDING)',
        reason:
          '^(JobHeld|JobHoldMaxRequeue|launch failed requeued held|job requeued in held)'
      },
      then: 'HELD',
      pending: 'held',
      stuck: true
    },
    { if: { state: 'PENDING' }, then: 'PENDING' },
    {
      if: { state: '^RUNNING,.*\\b(CONFIGURING|POWER_UP_NODE)\\b' },
      then: 'STARTING'
    },
    { if: { state: '^RUNNING,.*\\bSTOPPED\\b' }, then: 'SUSPENDED' },
    { if: { state: '^RUNNING,' }, then: 'RUNNING' },
    // Flags that say nothing about where the job stands: the state before them counts.
    { if: { state: '^COMPLETED,' }, then: 'COMPLETED' },
    { if: { state: '^CANCELLED,' }, then: 'CANCELLED' },
    { if: { state: '^(FAILED|BOOT_FAIL),' }, then: 'FAILED' },
    { if: { state: '^(TIMEOUT|DEADLINE),' }, then: 'TIMEOUT' },
    { if: { state: '^NODE_FAIL,' }, then: 'NODE_FAIL' },
    { if: { state: '^OUT_OF_MEMORY,' }, then: 'OUT_OF_MEMORY' },
    { if: { state: '^PREEMPTED,' }, then: 'PREEMPTED' },
    { if: { state: '^SUSPENDED,' }, then: 'SUSPENDED' }
  ],
  pending: [
    {
      pattern:
        '^(JobHeld|JobHoldMaxRequeue|.*requeued in held|launch failed requeued held)',
      reason: 'held',
      stuck: true
    },
    { pattern: '^DependencyNeverSatisfied', reason: 'dependency', stuck: true },
    { pattern: '^Dependency', reason: 'dependency' },
    { pattern: '^Resources', reason: 'resources' },
    { pattern: '^Priority', reason: 'priority' },
    { pattern: '^BeginTime', reason: 'begin' },
    { pattern: '^PartitionTimeLimit', reason: 'time', stuck: true },
    { pattern: '^Partition', reason: 'partition', stuck: true },
    { pattern: '^(Bad|Invalid)', reason: 'resources', stuck: true },
    { pattern: '^JobArrayTaskLimit', reason: 'limit' },
    { pattern: '^MaxMemPerLimit', reason: 'limit', stuck: true },
    { pattern: '^BurstBuffer', reason: 'resources' },
    { pattern: '^DeadLine', reason: 'time', stuck: true },
    { pattern: '^FrontEndDown', reason: 'node', stuck: true },
    {
      pattern: '^(Assoc|QOS|MaxJobs|AccountingPolicy)',
      reason: 'limit',
      stuck: true
    },
    { pattern: '^Licenses', reason: 'license' },
    { pattern: '^Nodes required', reason: 'node', stuck: true },
    { pattern: 'reserv', reason: 'reservation', stuck: true },
    { pattern: '^(ReqNodeNotAvail|Node)', reason: 'node', stuck: true },
    {
      pattern: '^(JobLaunchFailure|Prolog|SystemFailure)',
      reason: 'error',
      stuck: true
    }
  ],
  adapters: ['slurm-exit'],
  cancel: {
    argv: ['scancel', '-v', ['-M', '{cluster}'], '{extra}', '{ids}'],
    softArgv: [
      'scancel',
      '-v',
      '--signal=TERM',
      '--full',
      ['-M', '{cluster}'],
      '{extra}',
      '{ids}'
    ],
    forceArgv: [
      'scancel',
      '-v',
      '--signal=KILL',
      '--full',
      ['-M', '{cluster}'],
      '{extra}',
      '{ids}'
    ],
    silent: 'UNCERTAIN',
    answers: [
      {
        pattern:
          'Unable to contact slurm controller|Socket timed out|Unexpected message received',
        code: 'UNCERTAIN'
      },
      {
        pattern:
          'Kill job error on job id (?<id>\\S+): .*(permission denied|Invalid user id)',
        code: 'DENIED'
      },
      { pattern: 'Kill job error on job id (?<id>\\S+): .*', code: 'GONE' },
      {
        pattern: 'Access/permission denied for job (?<id>\\S+)',
        code: 'DENIED'
      },
      { pattern: 'Invalid user id for job (?<id>\\S+)', code: 'DENIED' },
      { pattern: 'Invalid job id specified for job (?<id>\\S+)', code: 'GONE' },
      { pattern: 'Job has already (completed|finished)', code: 'GONE' },
      {
        pattern:
          '(?:Job is pending execution|Requested operation is presently disabled|Job/step already completing or completed|.*) for job (?<id>\\d\\S*)$',
        code: 'ERROR'
      },
      {
        pattern: '(?:Terminating job|Signal \\d+ to .*job) (?<id>\\d\\S*)$',
        code: 'OK'
      },
      { pattern: 'Invalid job id (?!specified)(?<id>\\S+)', code: 'ERROR' },
      { pattern: 'Invalid job id specified', code: 'GONE' },
      { pattern: 'permission denied', code: 'DENIED' }
    ]
  },
  orders: {
    hold: { argv: ['scontrol', ['-M', '{cluster}'], 'hold', '{idList}'] },
    release: { argv: ['scontrol', ['-M', '{cluster}'], 'release', '{idList}'] },
    suspend: { argv: ['scontrol', ['-M', '{cluster}'], 'suspend', '{idList}'] },
    resume: { argv: ['scontrol', ['-M', '{cluster}'], 'resume', '{idList}'] },
    requeue: { argv: ['scontrol', ['-M', '{cluster}'], 'requeue', '{idList}'] },
    signal: {
      argv: [
        'scancel',
        '-v',
        '--signal={signal}',
        '--full',
        ['-M', '{cluster}'],
        '{ids}'
      ]
    },
    extend: {
      argv: [
        'scontrol',
        ['-M', '{cluster}'],
        'update',
        'JobId={id}',
        'TimeLimit={walltime}'
      ],
      many: false
    }
  },
  estimate: {
    argv: ['sbatch', '--test-only', ['-M', '{cluster}'], '{extra}', '{file}'],
    time: ['to start at (?<at>\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d)'],
    impossible: ['allocation failure', 'Batch job submission failed']
  },
  limits: [
    {
      what: 'settings',
      argv: ['scontrol', 'show', 'config'],
      argvMark: ['config'],
      text: '^Configuration data as of',
      reader: {
        type: 'blocks',
        start: '^Configuration data as of',
        pair: '^(?<key>\\w+)\\s+= (?<value>.*)$'
      }
    },
    {
      what: 'queues',
      argv: ['scontrol', '-o', 'show', 'partition'],
      argvMark: ['partition'],
      text: '^PartitionName=',
      reader: { type: 'pairs', start: '^PartitionName=' },
      fields: {
        name: 'PartitionName',
        isDefault: 'Default',
        enabled: 'State',
        started: 'State',
        maxWalltime: { from: 'MaxTime', as: 'durationSlurm' },
        maxNodes: 'MaxNodes',
        maxMemory: 'MaxMemPerNode',
        nodes: 'Nodes'
      }
    },
    {
      what: 'qos',
      argv: [
        'sacctmgr',
        '-n',
        '-P',
        'show',
        'qos',
        'format=Name,MaxWall,MaxJobsPU,MaxSubmitPU,GrpTRES,Flags'
      ],
      argvMark: ['sacctmgr', 'qos'],
      text: '^\\w+\\|[^|\\n]*\\|[^|\\n]*\\|[^|\\n]*\\|[^|\\n]*\\|[^|\\n]*$',
      reader: {
        type: 'rows',
        separator: '|',
        columns: [
          'Name',
          'MaxWall',
          'MaxJobsPU',
          'MaxSubmitPU',
          'GrpTRES',
          'Flags'
        ],
        columnsFrom: ['format='],
        columnPattern: '(?<column>[A-Za-z]+)'
      },
      fields: { name: 'Name' }
    },
    {
      what: 'accounts',
      argv: [
        'sacctmgr',
        '-n',
        '-P',
        'show',
        'assoc',
        'user={user}',
        'format=Cluster,Account,User,Partition,QOS,DefaultQOS,MaxWall'
      ],
      argvMark: ['sacctmgr'],
      text: '^[^|\\n]*\\|[^|\\n]*\\|[^|\\n]*\\|[^|\\n]*\\|[^|\\n]*\\|[^|\\n]*\\|',
      reader: {
        type: 'rows',
        separator: '|',
        columns: [
          'Cluster',
          'Account',
          'User',
          'Partition',
          'QOS',
          'DefaultQOS',
          'MaxWall'
        ],
        columnsFrom: ['format='],
        columnPattern: '(?<column>[A-Za-z]+)',
        headerUnless: ['-n']
      },
      fields: { name: 'Account', qos: 'QOS' }
    },
    {
      what: 'queues',
      argv: ['sinfo'],
      text: '^PARTITION\\s+AVAIL\\s+TIMELIMIT',
      reader: {
        type: 'table',
        header: '^PARTITION\\s',
        row: '^(?<name>\\S+)\\s+(?<avail>\\S+)\\s+(?<limit>\\S+)\\s+(?<count>\\S+)\\s+(?:(?<state>[a-z*~#!%$@^+-]+)\\s+)?(?<nodes>\\S+)?\\s*$'
      },
      fields: {
        name: 'name',
        enabled: 'avail',
        started: 'avail',
        maxWalltime: { from: 'limit', as: 'durationSlurm' },
        nodes: 'nodes'
      }
    },
    {
      what: 'queues',
      argv: ['sinfo', '-h', '-o', '%P|%a|%l|%c|%m|%D|%N'],
      argvMark: ['sinfo', '-o'],
      text: '^[\\w.-]+\\*?[| ](?! )',
      reader: {
        type: 'rows',
        separator: '|',
        columns: ['P', 'a', 'l', 'c', 'm', 'D', 'N'],
        columnsFrom: ['-o', '--format'],
        columnPattern: LETTERS
      },
      fields: {
        name: { from: ['P', 'R'] },
        enabled: 'a',
        started: 'a',
        maxWalltime: { from: 'l', as: 'durationSlurm' },
        cpusPerNode: { from: 'c', match: '^\\d+' },
        memoryPerNode: { from: 'm', match: '^\\d+' },
        nodes: 'N'
      }
    }
  ]
});
