/** An allocation of Cobalt (specs/launchers-and-allocations.md §3; not recorded, from its manual). */
import { Inconsistent } from './allocation.js';
import { expandIndices, readNodeFile } from './counts.js';
import { allocationOf, node, set, whole, type SystemReader } from './reader.js';

export const cobaltReader: SystemReader = {
  kind: 'cobalt',
  jobId: env => {
    const id = set(env, 'COBALT_JOBID');
    return id !== null && /^[1-9]\d{0,14}$/u.test(id) ? id : null;
  },
  read: (id, { env, readFile }) => {
    const file = set(env, 'COBALT_NODEFILE');
    const text = file === null ? null : readFile(file);
    const part = set(env, 'COBALT_PARTNAME');
    const warnings: string[] = [];
    let hosts: string[];
    if (text !== null) {
      hosts = readNodeFile(text, 'COBALT_NODEFILE').map(one => one.host);
    } else if (part !== null) {
      // Node numbers of a Cray: 1 is nid00001.
      hosts = expandIndices(part).map(
        number => `nid${String(number).padStart(5, '0')}`
      );
    } else {
      throw new Inconsistent(
        'neither COBALT_NODEFILE nor COBALT_PARTNAME names a host'
      );
    }
    const told = whole(env, 'COBALT_JOBSIZE');
    if (told !== null && told !== hosts.length) {
      warnings.push(
        `COBALT_JOBSIZE is ${told}, the list of nodes has ${hosts.length}`
      );
    }
    return allocationOf({
      kind: 'cobalt',
      id,
      nodes: hosts.map(host => node(host)),
      nodeFile: text === null ? null : file,
      source: [text === null ? 'COBALT_PARTNAME' : 'COBALT_NODEFILE'],
      warnings
    });
  }
};
