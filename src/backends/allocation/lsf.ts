/** An allocation of LSF: its counts are slots, not cores (specs/launchers-and-allocations.md §3). */
import { Inconsistent } from './allocation.js';
import {
  expandIndices,
  readLsfCounts,
  readLsfHosts,
  readNodeFile,
  type HostSlots
} from './counts.js';
import { isHostName, shown } from './hostlist.js';
import {
  allocationOf,
  node,
  set,
  sum,
  whole,
  type Inside,
  type SystemReader
} from './reader.js';

export const lsfReader: SystemReader = {
  kind: 'lsf',
  jobId: env => {
    const id = set(env, 'LSB_JOBID');
    return id !== null && /^[1-9]\d{0,14}$/u.test(id) ? id : null;
  },
  read: (id, inside) => {
    const { env, readFile } = inside;
    const found = hostsOf(inside);
    if (found === null) {
      throw new Inconsistent(
        'none of LSB_MCPU_HOSTS, LSB_DJOB_HOSTFILE and LSB_HOSTS names a host'
      );
    }
    const warnings: string[] = [];
    const affinityName = set(env, 'LSB_AFFINITY_HOSTFILE');
    const affinityText = affinityName === null ? null : readFile(affinityName);
    const cores = affinityText === null ? null : readAffinity(affinityText);
    const { entries, launchNode } = withoutLaunchNode(found.entries, cores);
    const told = whole(env, 'LSB_DJOB_NUMPROC');
    if (told !== null && told !== sum(entries) && told !== sum(found.entries)) {
      warnings.push(
        `LSB_DJOB_NUMPROC is ${told}, ${found.name} has ${sum(entries)} slots`
      );
    }
    if (cores !== null) {
      for (const { host } of entries) {
        if (!cores.has(host)) {
          throw new Inconsistent(
            `host ${host} of ${found.name} is not in LSB_AFFINITY_HOSTFILE`
          );
        }
      }
    }
    const index = whole(env, 'LSB_JOBINDEX');
    const file = set(env, 'LSB_DJOB_HOSTFILE');
    return allocationOf({
      kind: 'lsf',
      id,
      array:
        index === null || index === 0 ? null : { id, index: String(index) },
      nodes: entries.map(one =>
        node(one.host, { tasks: one.slots, cpus: cores?.get(one.host) ?? null })
      ),
      nodeFile: file !== null && readFile(file) !== null ? file : null,
      launchNode,
      source: [
        found.name,
        ...(cores === null ? [] : ['LSB_AFFINITY_HOSTFILE'])
      ],
      warnings
    });
  }
};

function hostsOf({
  env,
  readFile
}: Inside): { name: string; entries: HostSlots[] } | null {
  const counts = set(env, 'LSB_MCPU_HOSTS');
  if (counts !== null) {
    return { name: 'LSB_MCPU_HOSTS', entries: readLsfCounts(counts) };
  }
  const file = set(env, 'LSB_DJOB_HOSTFILE');
  const text = file === null ? null : readFile(file);
  if (text !== null) {
    return {
      name: 'LSB_DJOB_HOSTFILE',
      entries: readNodeFile(text, 'LSB_DJOB_HOSTFILE')
    };
  }
  const list = set(env, 'LSB_HOSTS');
  return list === null
    ? null
    : { name: 'LSB_HOSTS', entries: readLsfHosts(list) };
}

/**
 * Sites with separate launch nodes put one of them first with a single slot. It is known by its
 * absence from the affinity file, or by its name where every other host has more slots.
 */
function withoutLaunchNode(
  entries: HostSlots[],
  cores: ReadonlyMap<string, number> | null
): { entries: HostSlots[]; launchNode: string | null } {
  const [first, ...others] = entries;
  if (first?.slots !== 1 || others.length === 0) {
    return { entries, launchNode: null };
  }
  const launches =
    cores === null
      ? /^(?:batch|launch|login)\d*(?:\.|$)/u.test(first.host) &&
        others.every(one => one.slots > 1)
      : !cores.has(first.host) && others.every(one => cores.has(one.host));
  return launches
    ? { entries: others, launchNode: first.host }
    : { entries, launchNode: null };
}

/** One line per task: host, its cpus (`0,1,2` or `0-6`), NUMA nodes, policy. @throws Inconsistent */
export function readAffinity(text: string): Map<string, number> {
  const cores = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line.trim() === '') {
      continue;
    }
    const [host = '', list = ''] = line.trim().split(/\s+/u);
    if (!isHostName(host) || list === '') {
      throw new Inconsistent(
        `LSB_AFFINITY_HOSTFILE has the line '${shown(line)}'`
      );
    }
    cores.set(host, (cores.get(host) ?? 0) + expandIndices(list).length);
  }
  return cores;
}
