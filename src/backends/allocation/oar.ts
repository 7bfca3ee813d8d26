/** An allocation of OAR: a line per resource, usually a core (specs/launchers-and-allocations.md §3). */
import { Inconsistent, type Environment } from './allocation.js';
import { readNodeFile } from './counts.js';
import { allocationOf, MIB, node, set, type SystemReader } from './reader.js';

export const oarReader: SystemReader = {
  kind: 'oar',
  jobId: env => {
    const id = set(env, 'OAR_JOB_ID') ?? set(env, 'OAR_JOBID');
    return id !== null && /^[1-9]\d{0,14}$/u.test(id) ? id : null;
  },
  read: (id, { env, readFile }) => {
    const name = ['OAR_NODEFILE', 'OAR_NODE_FILE', 'OAR_FILE_NODES'].find(
      one => set(env, one) !== null
    );
    const file = name === undefined ? null : set(env, name);
    const text = file === null ? null : readFile(file);
    if (name === undefined || text === null) {
      return {
        ask: [],
        why:
          name === undefined
            ? 'OAR_NODEFILE is not set'
            : `the file of ${name} cannot be read`
      };
    }
    const entries = readNodeFile(text, name);
    const propertiesName = set(env, 'OAR_RESOURCE_PROPERTIES_FILE');
    const properties =
      propertiesName === null ? null : readFile(propertiesName);
    const memory = properties === null ? null : readMemory(properties);
    return allocationOf({
      kind: 'oar',
      id,
      array: arrayOf(id, env),
      nodes: entries.map(one =>
        node(one.host, {
          tasks: one.slots,
          cpus: one.slots,
          memBytes: memory?.get(one.host) ?? null
        })
      ),
      nodeFile: file,
      source: [
        name,
        ...(memory === null ? [] : ['OAR_RESOURCE_PROPERTIES_FILE'])
      ]
    });
  }
};

/** Set for single jobs too, with the own id and 1, which therefore says nothing. */
function arrayOf(
  id: string,
  env: Environment
): { id: string; index: string } | null {
  const array = set(env, 'OAR_ARRAY_ID') ?? set(env, 'OAR_ARRAYID');
  const index = set(env, 'OAR_ARRAY_INDEX') ?? set(env, 'OAR_ARRAYINDEX');
  if (array === null || index === null || (array === id && index === '1')) {
    return null;
  }
  if (!/^\d{1,15}$/u.test(array) || !/^\d{1,9}$/u.test(index)) {
    throw new Inconsistent('OAR_ARRAY_ID and OAR_ARRAY_INDEX are not numbers');
  }
  return { id: array, index };
}

/**
 * ` key = 'value' , …` per resource, in random order. `mem` is the memory of the node in MiB where
 * the site has that property; its GPU properties have names of their own and are not guessed.
 */
function readMemory(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split('\n')) {
    const values = new Map(
      [...line.matchAll(/([A-Za-z_]\w*) = '([^']*)'/gu)].map(one => [
        one[1] ?? '',
        one[2] ?? ''
      ])
    );
    const host = values.get('network_address') ?? values.get('host');
    const memory = values.get('mem');
    if (
      host !== undefined &&
      memory !== undefined &&
      /^[1-9]\d{0,11}$/u.test(memory)
    ) {
      found.set(host, Number(memory) * MIB);
    }
  }
  return found;
}
