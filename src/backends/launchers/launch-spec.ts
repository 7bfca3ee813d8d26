/**
 * How a program is to be started in parallel, in one vocabulary for all launchers
 * (specs/resource-manager.md §3). Nodes, tasks, tasks per node, cpus and gpus per task are separate
 * numbers; "workers per job" is another one and lives in the JobSpec.
 */
import { z } from 'zod';
import { formatPath, parseBytes } from '../../protocol/index.js';
import { isHostName } from '../allocation/hostlist.js';
import { SpecError, type SpecProblem } from '../batch/errors.js';

export const BINDINGS = ['core', 'none'] as const;
export const MPI_FLAVOURS = ['pmix', 'pmi2', 'cray_shasta', 'none'] as const;

const count = (most: number) => z.number().int().min(1).max(most);

/** Words of a command line: anything but NUL, which ends an argument. */
const word = z.string().regex(/^[^\0]*$/, { error: 'must not contain NUL' });

const hostName = z
  .string()
  .max(255)
  .refine(isHostName, { error: 'is not a host name' });

export const launchSpecSchema = z.strictObject({
  nodes: count(100_000).optional(),
  tasks: count(10_000_000).optional(),
  tasksPerNode: count(100_000).optional(),
  cpusPerTask: count(100_000).default(1),
  gpusPerTask: z.number().int().min(0).max(1024).default(0),
  /** Only checked against the allocation; no launcher needs it. */
  memoryPerTask: z
    .union([z.number(), z.string().max(64)])
    .transform((value, context) => {
      const size = parseBytes(value);
      if (size === null || size < 0) {
        context.addIssue({ code: 'custom', message: 'is not a size' });
        return z.NEVER;
      }
      return size;
    })
    .optional(),
  /** Each task on cores of its own, or wherever the operating system likes. */
  bind: z.enum(BINDINGS).default('core'),
  /** Only these, in this order; `slots`: this many tasks there. */
  hosts: z
    .array(
      z.union([
        hostName,
        z.strictObject({ host: hostName, slots: count(100_000) })
      ])
    )
    .min(1)
    .max(100_000)
    .optional(),
  /** Added to the environment of every task. Values never enter a command line. */
  env: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
        error: 'is not a variable name'
      }),
      word
    )
    .default({}),
  workdir: word.min(1).optional(),
  /** Prefix each line of output with its rank. */
  label: z.boolean().default(false),
  /** More tasks than slots or cores. */
  oversubscribe: z.boolean().default(false),
  /** How the MPI library finds its peers under srun; `none`: the program is not MPI. */
  mpi: z.enum(MPI_FLAVOURS).optional(),
  /** Beside a step that already runs on the same cpus (srun). */
  overlap: z.boolean().default(false),
  /** Which component of a heterogeneous allocation. */
  group: z.number().int().min(0).max(10_000).default(0),
  /** First task slot to use (ibrun). */
  offset: z.number().int().min(0).max(10_000_000).default(0),
  /** For the launcher itself; they go after ours and before the program. */
  extraArgs: z.array(word).default([]),
  /** Further programs of the same launch; their ranks follow those of the first. */
  mpmd: z
    .array(
      z.strictObject({
        tasks: count(10_000_000),
        command: z.array(word).min(1)
      })
    )
    .default([])
});

export type LaunchSpecInput = z.input<typeof launchSpecSchema>;

export type LaunchHost = { host: string; slots: number | null };

/** Solved: `tasksPerNode` is null where nodes carry different numbers, which `hosts` then tell. */
export type LaunchSpec = Omit<
  z.output<typeof launchSpecSchema>,
  'nodes' | 'tasks' | 'tasksPerNode' | 'hosts'
> & {
  nodes: number;
  tasks: number;
  tasksPerNode: number | null;
  hosts: LaunchHost[] | null;
};

/** Checked and solved. @throws SpecError naming every problem at once. */
export function parseLaunchSpec(input: unknown): LaunchSpec {
  const parsed = launchSpecSchema.safeParse(input);
  if (!parsed.success) {
    throw new SpecError(
      parsed.error.issues.flatMap(issue =>
        issue.code === 'unrecognized_keys'
          ? issue.keys.map(key => ({ field: key, message: 'is not a field' }))
          : [{ field: formatPath(issue.path), message: issue.message }]
      )
    );
  }
  const { hosts: given, ...spec } = parsed.data;
  const hosts =
    given?.map(one =>
      typeof one === 'string' ? { host: one, slots: null } : one
    ) ?? null;
  const shape = solve(spec, hosts);
  if ('field' in shape) {
    throw new SpecError([shape]);
  }
  return { ...spec, ...shape };
}

type Shape = Pick<LaunchSpec, 'nodes' | 'tasks' | 'tasksPerNode' | 'hosts'>;

/** nodes × tasksPerNode = tasks: solved where one is missing, refused where they are unequal. */
function solve(
  asked: Pick<
    z.output<typeof launchSpecSchema>,
    'nodes' | 'tasks' | 'tasksPerNode'
  >,
  given: LaunchHost[] | null
): Shape | SpecProblem {
  const { tasks, tasksPerNode } = asked;
  if (
    given !== null &&
    new Set(given.map(one => one.host)).size !== given.length
  ) {
    return { field: 'hosts', message: 'a host is given twice' };
  }
  if (
    given !== null &&
    asked.nodes !== undefined &&
    asked.nodes > given.length
  ) {
    return {
      field: 'nodes',
      message: `${asked.nodes} nodes are asked for, but only ${given.length} hosts given`
    };
  }
  const fromTasks =
    tasks !== undefined && tasksPerNode !== undefined
      ? tasks / tasksPerNode
      : undefined;
  const nodes = asked.nodes ?? given?.length ?? fromTasks ?? 1;
  const hosts = given?.slice(0, nodes) ?? null;
  const slots = slotsOf(hosts);
  if (
    slots !== null &&
    tasksPerNode === undefined &&
    (tasks === undefined || tasks === slots.total)
  ) {
    return {
      nodes,
      tasks: slots.total,
      tasksPerNode: slots.even ? slots.total / nodes : null,
      hosts
    };
  }
  if (!Number.isInteger(nodes)) {
    return {
      field: 'tasks',
      message: `${tasks ?? 0} tasks cannot be put ${tasksPerNode ?? 1} on each node`
    };
  }
  const total = tasks ?? nodes * (tasksPerNode ?? 1);
  const each = tasksPerNode ?? total / nodes;
  if (nodes * each !== total || !Number.isInteger(each)) {
    return {
      field: 'tasks',
      message:
        tasksPerNode === undefined
          ? `${total} tasks cannot be put evenly on ${nodes} nodes; give hosts with slots, or tasksPerNode`
          : `${nodes} nodes × ${tasksPerNode} tasks per node is not ${total} tasks`
    };
  }
  return {
    nodes,
    tasks: total,
    tasksPerNode: each,
    hosts: hosts?.map(one => ({ host: one.host, slots: each })) ?? null
  };
}

function slotsOf(
  hosts: LaunchHost[] | null
): { total: number; even: boolean } | null {
  if (hosts === null) {
    return null;
  }
  const slots = hosts.map(one => one.slots).filter(one => one !== null);
  return slots.length === hosts.length && slots.length > 0
    ? {
        total: slots.reduce((sum, one) => sum + one, 0),
        even: new Set(slots).size === 1
      }
    : null;
}
