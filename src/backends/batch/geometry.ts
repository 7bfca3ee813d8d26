/** How many nodes, tasks, cpus and how much memory a job asks for: solved once, used everywhere. */
import type { SpecProblem } from './errors.js';

export const MEMORY_SCOPES = ['job', 'node', 'cpu', 'task', 'gpu'] as const;
export type MemoryScope = (typeof MEMORY_SCOPES)[number];

export type Geometry = {
  nodes: number;
  tasks: number;
  tasksPerNode: number;
  cpusPerTask: number;
  cpusPerNode: number;
  cpus: number;
  gpusPerTask: number;
  gpusPerNode: number;
  gpus: number;
};

export type GeometryRequest = {
  nodes?: number | undefined;
  tasks?: number | undefined;
  tasksPerNode?: number | undefined;
  cpusPerTask?: number | undefined;
  gpusPerTask?: number | undefined;
};

/**
 * Solves nodes × tasksPerNode = tasks. What is not said is one node and one task; tasks alone are
 * put on one node, because workers share its memory.
 */
export function solveGeometry(
  request: GeometryRequest
): Geometry | { problems: SpecProblem[] } {
  const { nodes, tasks, tasksPerNode } = request;
  const solved = solveThree(nodes, tasks, tasksPerNode);
  if (typeof solved === 'string') {
    return { problems: [{ field: 'tasks', message: solved }] };
  }
  const cpusPerTask = request.cpusPerTask ?? 1;
  const gpusPerTask = request.gpusPerTask ?? 0;
  const perNode = solved.tasks / solved.nodes;
  return {
    ...solved,
    tasksPerNode: perNode,
    cpusPerTask,
    cpusPerNode: perNode * cpusPerTask,
    cpus: solved.tasks * cpusPerTask,
    gpusPerTask,
    gpusPerNode: perNode * gpusPerTask,
    gpus: solved.tasks * gpusPerTask
  };
}

function solveThree(
  nodes: number | undefined,
  tasks: number | undefined,
  perNode: number | undefined
): { nodes: number; tasks: number } | string {
  if (tasks === undefined) {
    const many = nodes ?? 1;
    return { nodes: many, tasks: many * (perNode ?? 1) };
  }
  const count = nodes ?? (perNode === undefined ? 1 : tasks / perNode);
  if (!Number.isInteger(count) || count < 1) {
    return `${tasks} tasks cannot be put ${perNode ?? 1} on each node`;
  }
  if (perNode !== undefined && count * perNode !== tasks) {
    return `${count} nodes × ${perNode} tasks per node is not ${tasks} tasks`;
  }
  return tasks % count === 0
    ? { nodes: count, tasks }
    : `${tasks} tasks cannot be put evenly on ${count} nodes`;
}

/**
 * The same request per another scope, in bytes, rounded up.
 * @returns null where there is nothing to count by (memory per GPU without GPUs).
 */
export function memoryPer(
  scope: MemoryScope,
  request: { bytes: number; per: MemoryScope },
  geometry: Geometry
): number | null {
  const units: Record<MemoryScope, number> = {
    job: 1,
    node: geometry.nodes,
    cpu: geometry.cpus,
    task: geometry.tasks,
    gpu: geometry.gpus
  };
  const total = units[request.per] * request.bytes;
  const parts = units[scope];
  return units[request.per] === 0 || parts === 0
    ? null
    : Math.ceil(total / parts);
}

/**
 * What each worker of a job may use: floored, minus a share for interpreter and nanny, so that the
 * sum never exceeds what the job has.
 * @param headRoom fraction of the job's memory that no worker gets, 0..1.
 */
export function workerShare(
  jobBytes: number,
  workers: number,
  headRoom: number
): number {
  return Math.floor((jobBytes * (1 - headRoom)) / workers);
}
