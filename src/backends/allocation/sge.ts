/** An allocation of Grid Engine (specs/launchers-and-allocations.md §3). */
import { Inconsistent } from './allocation.js';
import { isHostName, shown } from './hostlist.js';
import { allocationOf, node, set, whole, type SystemReader } from './reader.js';

export const sgeReader: SystemReader = {
  kind: 'sge',
  jobId: env => {
    const id = set(env, 'JOB_ID');
    // The name is anybody's: it counts only beside a variable of Grid Engine.
    const ours =
      set(env, 'SGE_ROOT') !== null || set(env, 'SGE_TASK_ID') !== null;
    return id !== null && ours && /^[1-9]\d{0,9}$/u.test(id) ? id : null;
  },
  read: (id, { env, readFile }) => {
    const warnings: string[] = [];
    const task = set(env, 'SGE_TASK_ID');
    const array =
      task === null || task === 'undefined' ? null : { id, index: task };
    if (array !== null && !/^[1-9]\d{0,9}$/u.test(array.index)) {
      throw new Inconsistent(`SGE_TASK_ID='${shown(array.index)}'`);
    }
    const slots = whole(env, 'NSLOTS');
    const common = {
      kind: 'sge' as const,
      id,
      incarnation: whole(env, 'RESTARTED'),
      array
    };
    const file = set(env, 'PE_HOSTFILE');
    const text = file === null ? null : readFile(file);
    if (text === null) {
      const host = set(env, 'HOSTNAME');
      if (file !== null && slots !== 1) {
        // A parallel job whose file is on another node or gone: nothing else names its hosts.
        return { ask: [], why: 'the file of PE_HOSTFILE cannot be read' };
      }
      if (host === null || !isHostName(host)) {
        throw new Inconsistent('neither PE_HOSTFILE nor HOSTNAME names a host');
      }
      const count = slots ?? 1;
      if (count < 1) {
        throw new Inconsistent('NSLOTS is 0');
      }
      return allocationOf({
        ...common,
        nodes: [node(host, { tasks: count, cpus: count })],
        source: ['HOSTNAME', ...(slots === null ? [] : ['NSLOTS'])]
      });
    }
    const entries = readHostFile(text);
    const total = entries.reduce((all, one) => all + one.slots, 0);
    if (slots !== null && slots !== total) {
      warnings.push(
        `NSLOTS is ${slots}, PE_HOSTFILE has ${total} slots; the file counts`
      );
    }
    return allocationOf({
      ...common,
      nodes: entries.map(one =>
        node(one.host, { tasks: one.slots, cpus: one.cores ?? one.slots })
      ),
      source: ['PE_HOSTFILE'],
      warnings
    });
  }
};

type Entry = { host: string; slots: number; cores: number | null };

/** `host slots queue binding`; a host may have a line per queue. @throws Inconsistent */
export function readHostFile(text: string): Entry[] {
  const entries = new Map<string, Entry>();
  for (const line of text.split('\n')) {
    if (line.trim() === '') {
      continue;
    }
    const [host = '', slots = '', , binding] = line.trim().split(/\s+/u);
    if (!isHostName(host) || !/^[1-9]\d{0,6}$/u.test(slots)) {
      throw new Inconsistent(`PE_HOSTFILE has the line '${shown(line)}'`);
    }
    const before = entries.get(host);
    const cores = readBinding(binding ?? 'UNDEFINED');
    entries.set(host, {
      host,
      slots: Number(slots) + (before?.slots ?? 0),
      cores:
        before === undefined
          ? cores
          : before.cores === null || cores === null
            ? null
            : before.cores + cores
    });
  }
  if (entries.size === 0) {
    throw new Inconsistent('the file of PE_HOSTFILE is empty');
  }
  return [...entries.values()];
}

/** `0,0:0,1`: socket and core of each bound core; UNDEFINED, NULL: not bound. */
function readBinding(text: string): number | null {
  return /^\d+,\d+(:\d+,\d+)*$/u.test(text) ? text.split(':').length : null;
}
