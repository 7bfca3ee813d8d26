/** Why sbatch refuses a job, and which field of it the words mean. */
import type { SystemFactsInput } from './specification.js';

export const SLURM_REJECTIONS: SystemFactsInput['submit']['rejections'] = [
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
    pattern:
      'generic resource|Invalid --gpus|Invalid GRES|GRES option|--gpus-per-task',
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
];
