/** How squeue and sacct write jobs. */
import type { SystemFactsInput } from './specification.js';

export const UNIT = '\u001f';
export const LETTERS =
  '%\\.?\\d*(?<column>[A-Za-z!])(?<separator>[^%A-Za-z0-9.]*)';
export const COLUMNS = ['i', 't', 'r', 'l', 'L', 'S', 'e', 'V', 'N', 'k', 'j'];

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

export const SLURM_FORMS: SystemFactsInput['status']['forms'] = [
  {
    name: 'json',
    argv: ['--json'],
    text: '^[ \\t]*\\{',
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
    text: '^[ \\t]*STEPID\\s+NAME',
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
    text: '^[ \\t]*JOBID\\s.*\\sSTART_TIME\\s',
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
    text: '^[ \\t]*JOBID\\s+PARTITION\\s',
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
];

export const SLURM_HISTORY_FORMS: SystemFactsInput['status']['forms'] = [
  {
    name: 'json',
    argv: ['--json'],
    text: '^[ \\t]*\\{',
    reader: { type: 'json', at: ['jobs'] },
    // 22.05 prints SUCCESS 0 as exit code of failed jobs: only the newer form is believed.
    fields: fields({
      ...JSON_FIELDS,
      exit: { from: 'exit_code.return_code.number', as: 'exitNumber' }
    })
  },
  {
    name: 'default table',
    text: '^[ \\t]*JobID +JobName',
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
      columnPattern: '(?<column>[A-Za-z]+)(?:%-?\\d+)?',
      only: '^\\d',
      banner: '^[Jj]ob[Ii][Dd](?:[Rr]aw)?\\|'
    },
    fields: {
      id: { from: ['JobID', 'jobid'] },
      name: { from: ['JobName', 'jobname'] },
      token: 'Comment',
      state: { from: ['State', 'state'], match: '^[^|]+' },
      reason: { from: ['Reason', 'reason'] },
      exit: { from: ['ExitCode', 'exitcode'], as: 'exitPair', match: '^[^|]+' },
      submit: { from: ['Submit', 'submit'], as: 'time' },
      start: { from: ['Start', 'start'], as: 'time' },
      end: { from: ['End', 'end'], as: 'time' },
      limit: { from: ['Timelimit', 'timelimit'], as: 'durationSlurm' },
      used: { from: ['Elapsed', 'elapsed'], as: 'durationSlurm' },
      nodes: { from: ['NodeList', 'nodelist'], as: 'hosts' }
    },
    ignore: { id: '\\.' }
  }
];
