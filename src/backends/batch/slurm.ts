/**
 * Slurm. Recorded on 22.05.8 with and without accounting; the header is judged by a real
 * `sbatch --test-only` (testbeds/slurm). Facts: specs/batch-systems.md.
 */
import { defineSystem } from './specification.js';

/** No Slurm text contains it, unlike `|`, which stands in names and administrators' reasons. */
const UNIT = '\u001f';
const LETTERS = '%\\.?\\d*(?<column>[A-Za-z!])(?<separator>[^%A-Za-z0-9.]*)';
const COLUMNS = ['i', 't', 'r', 'l', 'L', 'S', 'e', 'V', 'N', 'k', 'j'];

const JSON_FIELDS = {
  id: 'job_id',
  master: {
    from: [
      'array_job_id',
      'array_job_id.number',
      'het_job_id',
      'het_job_id.number',
      'array.job_id',
      'het.job_id'
    ],
    match: '^[1-9]\\d*$'
  },
  index: {
    from: [
      'array_task_id',
      'array_task_id.number',
      'array.task_id',
      'array.task_id.number'
    ],
    as: 'number'
  },
  tasks: {
    from: ['array_task_string', 'array.task'],
    match: '^[0-9][-0-9,:%.]*$'
  },
  component: {
    from: ['het_job_offset', 'het_job_offset.number', 'het.job_offset'],
    as: 'number'
  },
  cluster: 'cluster',
  name: 'name',
  token: { from: ['comment', 'comment.job'] },
  user: ['user_name', 'user'],
  state: ['job_state', 'state.current'],
  reason: ['state_reason', 'state.reason'],
  exit: { from: 'exit_code', as: 'exitWait' },
  submit: {
    from: ['submit_time', 'submit_time.number', 'time.submission'],
    as: 'epoch'
  },
  start: {
    from: ['start_time', 'start_time.number', 'time.start'],
    as: 'epoch'
  },
  end: { from: ['end_time', 'end_time.number', 'time.end'], as: 'epoch' },
  deadline: { from: ['end_time', 'end_time.number'], as: 'epoch' },
  limit: {
    from: ['time_limit', 'time_limit.number', 'time.limit'],
    as: 'durationMinutes'
  },
  nodes: { from: 'nodes', as: 'hosts' },
  restarts: { from: 'restart_cnt', as: 'number' }
} as const;

const fields = (given: object): Record<string, never> =>
  Object.fromEntries(
    Object.entries(given).map(([key, value]) => [
      key,
      Array.isArray(value) ? { from: value } : value
    ])
  ) as Record<string, never>;

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
    rejections: [
      { pattern: '(QOS|Assoc)\\w*Submit\\w*', reason: 'quota' },
      {
        pattern: '(QOS|Assoc)\\w*(Wall|Time)\\w*',
        reason: 'limit',
        field: 'walltimeSeconds'
      },
      { pattern: '(QOS|Assoc)\\w*Cpu\\w*', reason: 'limit', field: 'tasks' },
      { pattern: '(QOS|Assoc)\\w*Mem\\w*', reason: 'limit', field: 'memory' },
      { pattern: '(QOS|Assoc)\\w*Node\\w*', reason: 'limit', field: 'nodes' },
      {
        pattern: '(QOS|Assoc)\\w*(GRES|Gres|gpu)\\w*',
        reason: 'limit',
        field: 'gpusPerTask'
      },
      { pattern: 'Job violates accounting/QOS policy', reason: 'quota' },
      {
        pattern:
          'Invalid --(begin|mail-type|deadline|switches)|Invalid time specification',
        reason: 'syntax',
        field: 'native'
      },
      {
        pattern: 'Requested time limit is invalid',
        reason: 'limit',
        field: 'walltimeSeconds'
      },
      {
        pattern: 'Invalid (--)?time(-min)? (specification|limit)',
        reason: 'syntax',
        field: 'walltimeSeconds'
      },
      {
        pattern: 'Invalid --mem(-per-cpu|-per-gpu)? specification',
        reason: 'syntax',
        field: 'memory'
      },
      {
        pattern:
          'Memory (specification can not be satisfied|required by task is not available)',
        reason: 'resources',
        field: 'memory'
      },
      {
        pattern: 'numeric value .* for --cpus-per-task',
        reason: 'syntax',
        field: 'cpusPerTask'
      },
      {
        pattern: 'numeric value .* for --ntasks-per-node',
        reason: 'syntax',
        field: 'tasksPerNode'
      },
      {
        pattern: 'numeric value .* for --ntasks',
        reason: 'syntax',
        field: 'tasks'
      },
      {
        pattern: 'is not a valid node count',
        reason: 'syntax',
        field: 'nodes'
      },
      {
        pattern: 'Node count specification invalid',
        reason: 'limit',
        field: 'nodes'
      },
      {
        pattern: '(More processors|CPU count per node|Requested more .*)',
        reason: 'limit',
        field: 'tasks'
      },
      {
        pattern: 'Invalid node name specified',
        reason: 'resources',
        field: 'constraint'
      },
      {
        pattern: 'Invalid feature specification|Invalid constraint',
        reason: 'resources',
        field: 'constraint'
      },
      {
        pattern: 'generic resource|Invalid --gpus|Invalid GRES',
        reason: 'resources',
        field: 'gpusPerTask'
      },
      { pattern: 'Invalid license', reason: 'resources', field: 'native' },
      {
        pattern: 'Invalid account|Invalid user id|no default account',
        reason: 'account',
        field: 'account'
      },
      { pattern: 'Invalid qos', reason: 'account', field: 'qos' },
      { pattern: 'reservation', reason: 'resources', field: 'reservation' },
      {
        pattern:
          'invalid partition|partition not available|not permitted to use this partition|No partition specified',
        reason: 'partition',
        field: 'queue'
      },
      {
        pattern: 'Job dependency problem',
        reason: 'syntax',
        field: 'dependsOn'
      },
      {
        pattern: 'Invalid job array specification',
        reason: 'syntax',
        field: 'array'
      },
      {
        pattern: 'Invalid --signal specification',
        reason: 'syntax',
        field: 'warnBefore'
      },
      {
        pattern: 'Invalid --nice value',
        reason: 'permission',
        field: 'priority'
      },
      {
        pattern:
          'Invalid directive found|unrecognized option|invalid option|requires an argument|is ambiguous',
        reason: 'syntax',
        field: 'native'
      },
      { pattern: 'user environment file', reason: 'environment', field: 'env' },
      {
        pattern:
          'Unable to open file|Batch script is empty|does not look like a batch script|Batch script contains',
        reason: 'syntax',
        field: 'script'
      },
      {
        pattern: 'only permitted by root|permission denied',
        reason: 'permission'
      },
      {
        pattern:
          'Requested node configuration is not available|Requested partition configuration not available',
        reason: 'resources'
      }
    ]
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
    forms: [
      {
        name: 'json',
        argv: ['--json'],
        text: '^\\s*\\{',
        reader: { type: 'json', at: ['jobs'] },
        fields: fields(JSON_FIELDS)
      },
      {
        name: 'yaml',
        argv: ['--yaml'],
        text: '^%YAML',
        reader: { type: 'yaml', at: ['jobs'] },
        fields: fields(JSON_FIELDS)
      },
      {
        name: 'steps',
        argv: ['step'],
        text: '^StepId=',
        reader: { type: 'pairs', start: '^StepId=' },
        fields: { id: 'StepId', state: 'State' },
        ignore: { id: '.' }
      },
      {
        name: 'scontrol',
        text: '^JobId=',
        reader: {
          type: 'pairs',
          start: '^JobId=',
          toLineEnd: []
        },
        fields: {
          id: 'JobId',
          master: { from: ['ArrayJobId', 'HetJobId'], match: '^[1-9]\\d*$' },
          tasks: 'ArrayTaskId',
          component: { from: 'HetJobOffset', as: 'number' },
          name: 'JobName',
          token: 'Comment',
          user: { from: 'UserId', match: '^[^(]+' },
          state: 'JobState',
          reason: 'Reason',
          exit: { from: 'ExitCode', as: 'exitPair' },
          submit: { from: 'SubmitTime', as: 'time' },
          start: { from: 'StartTime', as: 'time' },
          end: { from: 'EndTime', as: 'time' },
          deadline: { from: 'EndTime', as: 'time' },
          limit: { from: 'TimeLimit', as: 'durationSlurm' },
          used: { from: 'RunTime', as: 'durationSlurm' },
          nodes: { from: 'NodeList', as: 'hosts' },
          restarts: { from: 'Restarts', as: 'number' }
        }
      },
      {
        name: 'step table',
        text: '^\\s*STEPID\\s+NAME',
        reader: {
          type: 'table',
          header: '^\\s*STEPID\\s',
          row: '^\\s*(?<id>\\S+)\\s'
        },
        fields: { id: 'id' },
        ignore: { id: '.' }
      },
      {
        name: 'start table',
        text: '^\\s*JOBID\\s.*\\sSTART_TIME\\s',
        reader: {
          type: 'table',
          header: '^\\s*JOBID\\s',
          start: '^\\s*\\d',
          row: '^\\s*(?<id>\\d[\\d_+\\[\\],%:.-]*)\\s+(?<partition>\\S+)\\s+(?<name>.*?)\\s+(?<user>\\S+)\\s+(?<state>[A-Z]{1,2})\\s+(?<start>\\S+)\\s+(?<count>\\d+)\\s+(?<nodes>\\S+)\\s+(?<reason>\\(.*\\))?\\s*$'
        },
        fields: {
          id: 'id',
          name: 'name',
          state: 'state',
          start: { from: 'start', as: 'time' },
          reason: { from: 'reason', match: '^\\((?<value>.*)\\)$' }
        }
      },
      {
        name: 'table',
        text: '^\\s*JOBID\\s+PARTITION\\s',
        reader: {
          type: 'table',
          header: '^\\s*JOBID\\s',
          start: '^\\s*\\d',
          row: '^\\s*(?<id>\\d[\\d_+\\[\\],%:.-]*)\\s+(?<partition>\\S+)\\s+(?<name>.*?)\\s+(?<user>\\S+)\\s+(?<state>[A-Z]{1,2})\\s+(?<used>[-0-9:]+)\\s+(?<count>\\d+)\\s+(?<nodes>\\S.*)?$'
        },
        fields: {
          id: 'id',
          name: 'name',
          state: 'state',
          used: { from: 'used', as: 'durationSlurm' },
          nodes: { from: 'nodes', as: 'hosts' },
          reason: { from: 'nodes', match: '^\\((?<value>.*)\\)$' }
        }
      },
      {
        name: 'wide rows',
        argv: ['-O'],
        reader: {
          type: 'rows',
          separator: ' ',
          columnsFrom: ['-O', '--Format'],
          columnPattern: '(?<column>[A-Za-z-]+)(?::(?<width>\\d+))?'
        },
        fields: {
          id: {
            from: ['ArrayJobID', 'JobArrayID', 'jobarrayid', 'JobID', 'jobid']
          },
          state: { from: ['State', 'state', 'StateCompact', 'statecompact'] },
          left: { from: ['TimeLeft', 'timeleft'], as: 'durationSlurm' }
        }
      },
      {
        name: 'start rows',
        argv: ['--start', '-o'],
        reader: {
          type: 'rows',
          separator: ' ',
          columnsFrom: ['-o', '--format'],
          columnPattern: LETTERS,
          only: '^\\s*\\d',
          banner: '^(CLUSTER: |\\s*(JOBID|ACTION|START_TIME)\\b)'
        },
        // Only waiting jobs are listed.
        assumeState: 'PENDING',
        fields: {
          id: 'i',
          state: { from: ['T', 't'] },
          start: { from: 'S', as: 'time' },
          reason: 'r'
        }
      },
      {
        name: 'rows',
        reader: {
          type: 'rows',
          separator: UNIT,
          columns: COLUMNS,
          columnsFrom: ['-o', '--format'],
          columnPattern: LETTERS,
          only: '^\\s*\\d',
          banner: '^(CLUSTER: |\\s*(JOBID|ACTION|START_TIME)\\b)'
        },
        fields: {
          id: { from: ['i', 'F', 'A'] },
          tasks: { from: 'K', match: '^[0-9][-0-9,:%.]*$' },
          name: 'j',
          token: 'k',
          user: 'u',
          state: { from: ['T', 't'] },
          reason: { from: ['r', 'R'], match: '^\\(?(?<value>.*?)\\)?$' },
          submit: { from: 'V', as: 'time' },
          start: { from: 'S', as: 'time' },
          end: { from: 'e', as: 'time' },
          deadline: { from: 'e', as: 'time' },
          limit: { from: 'l', as: 'durationSlurm' },
          left: { from: 'L', as: 'durationSlurm' },
          nodes: { from: ['N', 'R'], as: 'hosts', match: '^[^(].*' }
        }
      }
    ]
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
    forms: [
      {
        name: 'json',
        argv: ['--json'],
        text: '^\\s*\\{',
        reader: { type: 'json', at: ['jobs'] },
        // 22.05 prints SUCCESS 0 as exit code of failed jobs: only the newer form is believed.
        fields: fields({
          ...JSON_FIELDS,
          exit: { from: 'exit_code.return_code.number', as: 'exitNumber' }
        })
      },
      {
        name: 'default table',
        text: '^\\s*JobID +JobName',
        reader: {
          type: 'table',
          header: '^\\s*JobID ',
          row: '^(?<id>\\d\\S*)\\s.*\\s(?<state>[A-Z_]+\\+?(?: by \\S+)?)\\s+(?<exit>\\d+:\\d+)\\s*$'
        },
        fields: {
          id: 'id',
          state: 'state',
          exit: { from: 'exit', as: 'exitPair' }
        },
        ignore: { id: '\\.' }
      },
      {
        name: 'columns',
        text: '^\\d[\\d_+.a-z]* +[A-Z_]+\\+? *$',
        reader: {
          type: 'rows',
          separator: ' ',
          columns: ['JobID', 'State'],
          columnsFrom: ['-o', '--format'],
          columnPattern: '(?<column>[A-Za-z]+)(?:%\\d+)?'
        },
        fields: {
          id: 'JobID',
          state: 'State',
          exit: { from: 'ExitCode', as: 'exitPair' }
        },
        ignore: { id: '\\.' }
      },
      {
        name: 'rows',
        reader: {
          type: 'rows',
          separator: '|',
          columns: [
            'JobID',
            'State',
            'ExitCode',
            'Elapsed',
            'Timelimit',
            'Submit',
            'Start',
            'End',
            'NodeList',
            'Reason',
            'Comment',
            'JobName'
          ],
          columnsFrom: ['-o', '--format'],
          columnPattern: '(?<column>[A-Za-z]+)(?:%-?\\d+)?'
        },
        fields: {
          id: 'JobID',
          name: 'JobName',
          token: 'Comment',
          state: { from: 'State', match: '^[^|]+' },
          reason: 'Reason',
          exit: { from: 'ExitCode', as: 'exitPair', match: '^[^|]+' },
          submit: { from: 'Submit', as: 'time' },
          start: { from: 'Start', as: 'time' },
          end: { from: 'End', as: 'time' },
          limit: { from: 'Timelimit', as: 'durationSlurm' },
          used: { from: 'Elapsed', as: 'durationSlurm' },
          nodes: { from: 'NodeList', as: 'hosts' }
        },
        ignore: { id: '\\.' }
      }
    ]
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
        reason: '^(JobHeld|launch failed requeued held|job requeued in held)'
      },
      then: 'HELD',
      pending: 'held',
      stuck: true
    },
    { if: { state: 'PENDING' }, then: 'PENDING' },
    { if: { state: '^RUNNING,' }, then: 'RUNNING' }
  ],
  pending: [
    {
      pattern: '^(JobHeld|.*requeued in held|launch failed requeued held)',
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
      text: '^\\w+\\|[^|]*\\|[^|]*\\|[^|]*\\|[^|]*\\|[^|]*$',
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
      text: '^[^|]*\\|[^|]*\\|[^|]*\\|[^|]*\\|[^|]*\\|[^|]*\\|',
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
