/** What PBS Pro, OpenPBS and Torque have in common. */
import type { FieldSource, SystemFactsInput } from './specification.js';

export const PBS_ID: SystemFactsInput['id'] = {
  pattern:
    '^(?<seq>\\d+)(?:\\[(?<index>\\d*)\\])?(?:\\.(?<server>[A-Za-z0-9][\\w.-]*))?$',
  element: '{head}[{index}]{tail}'
};

export const PBS_SUBMIT_IDS = [
  '^(?<id>\\d+(?:\\[\\d*\\])?(?:\\.[A-Za-z0-9][\\w.-]*)?)$'
];

export const PBS_STATES = {
  Q: 'PENDING',
  W: 'PENDING',
  T: 'PENDING',
  M: 'PENDING',
  H: 'HELD',
  R: 'RUNNING',
  B: 'RUNNING',
  S: 'SUSPENDED',
  U: 'SUSPENDED',
  E: 'STOPPING'
} as const;

export const PBS_BLOCKS = {
  type: 'blocks',
  start: '^Job Id: (?<id>\\S+)',
  pair: '^    (?<key>[\\w.]+) = (?<value>.*)$',
  more: '^\\t(?<value>.*)$'
} as const;

/** Two layouts of rows: the plain one, and the wide one of -a, -n, -u, -T. */
export const PBS_TABLES = {
  plain: {
    type: 'table',
    start: '^\\d+',
    header: '^Job [iI][dD]\\s+Name',
    row: '^(?<id>\\d\\S*)\\s+(?<name>\\S.*?)\\s+(?<user>\\S+)\\s+(?<used>\\S+)\\s+(?<state>[A-Z])\\s+(?<queue>\\S+)\\s*$'
  },
  wide: {
    type: 'table',
    start: '^\\d+',
    header: '^Job ID\\s+Username',
    row: '^(?<id>\\d\\S*)\\s+(?<user>\\S+)\\s+(?<queue>\\S+)\\s+(?<name>\\S+)\\s+(?<session>\\S+)\\s+(?<nodes>\\S+)\\s+(?<tasks>\\S+)\\s+(?<memory>\\S+)\\s+(?<limit>\\S+)\\s+(?<state>[A-Z])\\s+(?<elapsed>\\S+)(?:\\s+(?<hosts>\\S+))?\\s*$'
  }
} as const;

/** Tables cut a long name of the server and mark it: `1234.polaris-pb*`. */
export const PBS_CUT_ID: FieldSource = {
  from: 'id',
  as: 'text',
  match: '^[^*]+?(?=\\.?\\*|$)'
};

export const PBS_ENDINGS = [
  // Rows tell that it ended, not how; the full layout or the history does.
  {
    if: { id: '\\[\\]', state: '^[FXC]$' },
    then: 'UNKNOWN',
    final: true,
    container: true
  },
  {
    if: { state: '^[FXC]$', comment: 'exceeded resource walltime' },
    then: 'TIMEOUT'
  },
  {
    if: {
      state: '^[FXC]$',
      comment: 'exceeded resource (v?mem|pmem|pvmem)|mem exceeded'
    },
    then: 'OUT_OF_MEMORY'
  },
  { if: { state: '^[FXC]$', comment: 'terminated by' }, then: 'CANCELLED' },
  { if: { state: '^[FXC]$', exit: '^0$' }, then: 'COMPLETED' },
  { if: { state: '^[FXC]$', exit: '^-29$' }, then: 'TIMEOUT' },
  { if: { state: '^[FXC]$', exit: '^(265|271)$' }, then: 'CANCELLED' },
  { if: { state: '^[FXC]$', exit: '^-?\\d+$' }, then: 'FAILED' },
  { if: { state: '^[FXC]$', exit: '^$' }, then: 'CANCELLED' },
  { if: { state: '^[FXC]$' }, then: 'UNKNOWN', final: true },
  {
    if: { state: '^H$', substate: '^22$' },
    then: 'HELD',
    pending: 'dependency',
    stuck: false
  },
  { if: { state: '^B$' }, then: 'RUNNING', container: true },
  { if: { state: '^W$' }, then: 'PENDING', pending: 'begin', stuck: false }
] as const;

export const PBS_PENDING = [
  { pattern: 'Can Never Run', reason: 'resources', stuck: true },
  {
    pattern: 'Queue not started|queue is stopped',
    reason: 'partition',
    stuck: true
  },
  {
    pattern: 'has reached .*limit|limit reached|would exceed',
    reason: 'limit'
  },
  {
    pattern:
      'Not enough (free nodes|of the right type of nodes)|nodes? (is|are) down|offline|ineligible state',
    reason: 'node'
  },
  {
    pattern:
      'Insufficient amount|No available resources|too few free resources',
    reason: 'resources'
  },
  { pattern: 'higher priority|starving job', reason: 'priority' },
  { pattern: 'held by', reason: 'held', stuck: true },
  { pattern: 'reservation', reason: 'reservation' },
  { pattern: 'dedicated time|prime', reason: 'reservation' }
] as const;

export const PBS_UNREACHABLE = [
  'cannot connect to server',
  "Couldn't connect to cluster",
  'Cannot connect to specified server host',
  'Unable to communicate with',
  'Connection refused',
  'Unknown Host',
  'could not connect to trqauthd',
  'No Permission|cannot connect to trqauthd',
  'socket_connect_unix failed'
];

export const PBS_ORDER_ANSWERS = [
  {
    pattern:
      '(?:Unknown Job Id|nonexistent job id)(?: Error)?(?: MSG=.*)?:? (?:.* )?(?<id>\\d\\S*)$',
    code: 'GONE'
  },
  { pattern: 'Job has finished (?<id>\\d\\S*)$', code: 'GONE' },
  { pattern: 'invalid state for job - COMPLETE (?<id>\\d\\S*)$', code: 'GONE' },
  { pattern: 'Invalid request (?<id>\\d+\\[\\d+\\]\\S*)$', code: 'GONE' },
  {
    pattern:
      'Unauthorized Request.*?(?<id>\\d+(?:\\[\\d*\\])?(?:\\.\\S+)?)\\s*$',
    code: 'DENIED'
  },
  {
    pattern:
      'Request invalid for state of job.*?(?<id>\\d+(?:\\[\\d*\\])?\\.\\S+)\\s*$',
    code: 'ERROR'
  },
  { pattern: 'could not connect to MOM (?<id>\\d\\S*)', code: 'UNCERTAIN' },
  { pattern: 'illegally formed job identifier: (?<id>\\S+)', code: 'ERROR' },
  { pattern: 'Unknown/illegal signal name (?<id>\\d\\S*)', code: 'ERROR' },
  { pattern: '^usage:', code: 'ERROR' }
] as const;

export const PBS_REJECTIONS = [
  {
    pattern:
      'Unknown queue|Queue is not enabled|queue is disabled|ACL rejected|Access to queue is denied',
    reason: 'partition',
    field: 'queue'
  },
  {
    pattern: 'max walltime requirement',
    reason: 'limit',
    field: 'walltimeSeconds'
  },
  { pattern: 'max mem requirement', reason: 'limit', field: 'memory' },
  {
    pattern: 'cannot locate feasible nodes',
    reason: 'resources',
    field: 'nodes'
  },
  {
    pattern: '(Resource_List\\.|select\\.|resource value )walltime',
    reason: 'syntax',
    field: 'walltimeSeconds'
  },
  {
    pattern: '(Resource_List|select)\\.(p?v?mem)\\b',
    reason: 'syntax',
    field: 'memory'
  },
  {
    pattern: '(Resource_List|select)\\.(ncpus|ppn|mpiprocs)',
    reason: 'syntax',
    field: 'cpusPerTask'
  },
  {
    pattern: '(Resource_List|select)\\.(ngpus|gpus)',
    reason: 'syntax',
    field: 'gpusPerTask'
  },
  { pattern: 'Resource_List\\.place', reason: 'syntax', field: 'placement' },
  {
    pattern: 'Resource_List\\.(select|nodes)|Command syntax invalid',
    reason: 'syntax',
    field: 'nodes'
  },
  { pattern: 'resource value project', reason: 'syntax', field: 'project' },
  {
    pattern:
      'would exceed|maximum number of jobs|limit.*already (been )?reached|has reached',
    reason: 'quota'
  },
  {
    pattern:
      'violates queue and/or server resource limits|exceeds queue (and\\/or server )?resource limits',
    reason: 'limit'
  },
  { pattern: 'Array job exceeds', reason: 'limit', field: 'array' },
  {
    pattern: 'Unknown resource|Cannot be used with select or place',
    reason: 'syntax',
    field: 'native'
  },
  {
    pattern: 'Bad [UG]ID for job execution|Invalid account',
    reason: 'account'
  },
  { pattern: 'Invalid project', reason: 'account', field: 'project' },
  { pattern: 'rejected by all possible destinations', reason: 'resources' },
  {
    pattern: 'illegal -N value|Job name is too long',
    reason: 'syntax',
    field: 'name'
  },
  {
    pattern: 'illegal -[Jt] value|Bad Job Array Request|The -J option',
    reason: 'syntax',
    field: 'array'
  },
  {
    pattern: 'illegal -W|Invalid Job Dependency',
    reason: 'syntax',
    field: 'dependsOn'
  },
  { pattern: 'illegal -p value', reason: 'syntax', field: 'priority' },
  { pattern: 'illegal -r value', reason: 'syntax', field: 'requeue' },
  {
    pattern:
      'illegal -[a-zA-Z] value|invalid option|requires an argument|directive error|not a valid option|Error \\(15002\\)',
    reason: 'syntax',
    field: 'native'
  },
  {
    pattern: 'script file|script not a file',
    reason: 'syntax',
    field: 'script'
  },
  {
    pattern: 'Unauthorized Request|can not be run as root',
    reason: 'permission'
  },
  { pattern: 'Illegal attribute or resource value', reason: 'syntax' }
] as const;

export const PBS_DEPENDENCY = {
  ok: 'afterok:',
  notOk: 'afternotok:',
  any: 'afterany:',
  started: 'after:',
  idSeparator: ':',
  separator: ','
} as const;

/** `list queue` of qmgr and `qstat -Q -f`: the same keys in blocks. */
export const PBS_QUEUE_FIELDS: Record<string, FieldSource> = {
  name: '$id',
  enabled: 'enabled',
  started: 'started',
  maxWalltime: { from: 'resources_max.walltime', as: 'durationClock' },
  maxNodes: 'resources_max.nodect',
  maxCpus: 'resources_max.ncpus',
  maxGpus: 'resources_max.ngpus',
  maxMemory: 'resources_max.mem'
};

export const PBS_OPTIONS: SystemFactsInput['options'] = {
  aliases: [],
  exclusive: [],
  keyed: ['-l', '-W']
};
