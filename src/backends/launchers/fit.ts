/**
 * A launch and an allocation: which nodes it uses, and whether it fits
 * (specs/launchers-and-allocations.md §1, rule 6). Several launches at the same time are the
 * caller's to sum; one after another each may use everything.
 */
import type {
  AllocatedNode,
  Allocation,
  AllocationGroup
} from '../allocation/allocation.js';
import { sameHost } from '../allocation/reader.js';
import type { SpecProblem } from '../batch/errors.js';
import type { LaunchHost, LaunchSpec, LaunchSpecInput } from './launch-spec.js';

/**
 * What is not asked for is what the allocation has: all its nodes, and on each the tasks the batch
 * system wants there. Tasks alone go evenly on all nodes, or on the first where they do not divide.
 */
export function filledFrom(
  input: LaunchSpecInput,
  allocation: Allocation
): LaunchSpecInput {
  const { nodes, tasks, tasksPerNode, hosts } = input;
  if (hosts !== undefined || nodes !== undefined) {
    return input;
  }
  const group = groupOf(allocation, input.group ?? 0);
  const all = group?.nodes ?? [];
  if (all.length === 0) {
    return input;
  }
  if (tasks !== undefined && tasksPerNode !== undefined) {
    return input;
  }
  if (tasks !== undefined) {
    return {
      ...input,
      nodes: tasks >= all.length && tasks % all.length === 0 ? all.length : 1
    };
  }
  if (tasksPerNode !== undefined) {
    return { ...input, nodes: all.length };
  }
  const slots = all.map(one => one.tasks);
  if (slots.some(one => one === null || one < 1)) {
    return { ...input, nodes: all.length, tasksPerNode: 1 };
  }
  return {
    ...input,
    hosts: all.map(one => ({ host: one.host, slots: one.tasks ?? 1 }))
  };
}

export function groupOf(
  allocation: Allocation,
  group: number
): AllocationGroup | null {
  return allocation.groups[group] ?? null;
}

/**
 * The hosts a launch uses: those it names, else the first that are large enough, so that a small
 * node does not refuse what others can carry.
 */
export function choose(
  spec: LaunchSpec,
  allocation: Allocation
): { hosts: LaunchHost[]; pinned: boolean; problems: SpecProblem[] } {
  const group = groupOf(allocation, spec.group);
  if (group === null) {
    return {
      hosts: [],
      pinned: false,
      problems: [
        {
          field: 'group',
          message: `the allocation has ${allocation.groups.length} groups, counted from 0`
        }
      ]
    };
  }
  const problems: SpecProblem[] = [];
  const { nodes } = group;
  if (spec.nodes > nodes.length) {
    const elsewhere =
      allocation.groups.length > 1 && spec.nodes <= allocation.nodes.length;
    problems.push({
      field: 'nodes',
      message: `${spec.nodes} nodes are asked for, the allocation has ${nodes.length}${
        elsewhere ? ' in this group; one launch does not span groups' : ''
      }`
    });
    return { hosts: [], pinned: false, problems };
  }
  const chosen: { node: AllocatedNode; slots: number | null }[] = [];
  if (spec.hosts === null) {
    const each = spec.tasksPerNode ?? 1;
    const large = nodes.filter(one => misfits(spec, one, each).length === 0);
    const from = large.length >= spec.nodes ? large : nodes;
    chosen.push(
      ...from.slice(0, spec.nodes).map(node => ({ node, slots: each }))
    );
  } else {
    for (const one of spec.hosts) {
      const alike = nodes.filter(node => sameHost(node.host, one.host));
      const node =
        nodes.find(other => other.host === one.host) ??
        (alike.length === 1 ? alike[0] : undefined);
      if (node === undefined) {
        problems.push({
          field: 'hosts',
          message: `${one.host} is not in the allocation`
        });
      } else {
        chosen.push({ node, slots: one.slots });
      }
    }
  }
  for (const { node, slots } of chosen) {
    problems.push(...misfits(spec, node, slots ?? spec.tasksPerNode ?? 1));
  }
  const hosts = chosen.map(({ node, slots }) => ({ host: node.host, slots }));
  return {
    hosts,
    pinned:
      hosts.length !== nodes.length ||
      hosts.some((one, at) => one.host !== nodes[at]?.host),
    problems: distinct(problems)
  };
}

/** K × C ≤ cpus, K × G ≤ gpus, K × M ≤ memory; what the allocation does not tell is not judged. */
function misfits(
  spec: LaunchSpec,
  node: AllocatedNode,
  tasks: number
): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const over = (
    field: string,
    what: string,
    each: number,
    has: number | null
  ): void => {
    if (has !== null && tasks * each > has) {
      problems.push({
        field,
        message: `${tasks} tasks × ${each} ${what} are more than the ${has} of ${node.host}`
      });
    }
  };
  if (!spec.oversubscribe) {
    over('cpusPerTask', 'cpus', spec.cpusPerTask, node.cpus);
  }
  if (spec.gpusPerTask > 0) {
    over('gpusPerTask', 'gpus', spec.gpusPerTask, node.gpus?.length ?? null);
  }
  if (spec.memoryPerTask !== undefined) {
    over('memoryPerTask', 'bytes', spec.memoryPerTask, node.memBytes);
  }
  return problems;
}

function distinct(problems: SpecProblem[]): SpecProblem[] {
  const seen = new Set<string>();
  return problems.filter(one => {
    const key = `${one.field} ${one.message}`;
    return seen.has(key) ? false : (seen.add(key), true);
  });
}
