/** Allocations of PBS Pro, OpenPBS and Torque (specs/launchers-and-allocations.md §3). */
import {
  Inconsistent,
  type AllocatedNode,
  type Environment
} from './allocation.js';
import { readNodeFile, readPbsSize } from './counts.js';
import { isHostName, shown } from './hostlist.js';
import {
  allocationOf,
  answered,
  node,
  sameHost,
  set,
  sum,
  whole,
  type Inside,
  type SystemReader
} from './reader.js';

const JOB_ID = /^\d{1,12}(?:\[\d{1,9}\])?(?:\.[\p{L}\p{N}_.-]+)?$/u;

/** Torque says so itself, or by variables PBS Pro does not have. */
function isTorque(env: Environment): boolean {
  return (
    set(env, 'PBS_VERSION')?.startsWith('TORQUE') === true ||
    (set(env, 'PBS_NUM_PPN') !== null && set(env, 'PBS_NP') !== null)
  );
}

function pbsId(env: Environment): string | null {
  const id = set(env, 'PBS_JOBID');
  return id !== null && JOB_ID.test(id) ? id : null;
}

function arrayOf(
  id: string,
  index: string | null
): { id: string; index: string } | null {
  const match = /^(\d+)\[(\d+)\](.*)$/u.exec(id);
  if (match === null) {
    return null;
  }
  const [, base = '', own = '', server = ''] = match;
  if (index !== null && index !== own) {
    throw new Inconsistent(
      `PBS_JOBID is '${id}' but the array index is ${index}`
    );
  }
  return { id: `${base}[]${server}`, index: own };
}

export const pbsReader: SystemReader = {
  kind: 'pbs',
  jobId: env => (isTorque(env) ? null : pbsId(env)),
  read: (id, inside) => {
    const { env, readFile } = inside;
    const ask = ['qstat', '-f', '-F', 'json', id];
    const answer = answered(inside, ask);
    const vnodes = answer === undefined ? null : readVnodes(answer.stdout, id);
    const file = set(env, 'PBS_NODEFILE');
    const text = file === null ? null : readFile(file);
    const array = arrayOf(id, set(env, 'PBS_ARRAY_INDEX'));
    const source: string[] = [];
    let nodes: AllocatedNode[];
    if (text !== null) {
      source.push('PBS_NODEFILE');
      const entries = readNodeFile(text, 'PBS_NODEFILE');
      const cpus = whole(env, 'NCPUS');
      if (cpus !== null) {
        source.push('NCPUS');
      }
      // NCPUS is of the chunk the script runs on, the first host of the file.
      nodes = entries.map((one, at) => {
        const more = vnodeOf(vnodes, one.host);
        return node(one.host, {
          tasks: one.slots,
          cpus: more?.cpus ?? (at === 0 && cpus !== 0 ? cpus : null),
          memBytes: more?.memBytes ?? null,
          gpus: more?.gpus ?? null
        });
      });
    } else if (vnodes !== null && vnodes.size > 0) {
      nodes = [...vnodes].map(([host, one]) => node(host, { ...one }));
    } else {
      return {
        ask: [ask],
        why:
          file === null
            ? 'PBS_NODEFILE is not set'
            : `the file of PBS_NODEFILE cannot be read`
      };
    }
    if (vnodes !== null && vnodes.size > 0) {
      source.push('exec_vnode');
    }
    return allocationOf({
      kind: 'pbs',
      id,
      array,
      nodes,
      nodeFile: text === null ? null : file,
      source
    });
  }
};

/** Node files may have full names where exec_vnode has short ones. */
function vnodeOf(
  vnodes: ReadonlyMap<string, Vnode> | null,
  host: string
): Vnode | undefined {
  const alike = [...(vnodes ?? [])].filter(([name]) => sameHost(name, host));
  return vnodes?.get(host) ?? (alike.length === 1 ? alike[0]?.[1] : undefined);
}

type Vnode = Omit<AllocatedNode, 'host' | 'tasks'>;

/**
 * `(n1:ncpus=4:mem=8gb:ngpus=1)+(n2:ncpus=4)`; chunks of one host are added, vnodes `n1[0]` are of
 * host n1. null where the answer does not tell. @throws Inconsistent
 */
export function readExecVnode(text: string): Map<string, Vnode> {
  const found = new Map<string, Vnode>();
  for (const chunk of text.replace(/\s/gu, '').split('+')) {
    const parts = chunk.replace(/[()]/gu, '').split(':');
    const host = (parts[0] ?? '').replace(/\[\d+\]$/u, '');
    if (!isHostName(host)) {
      throw new Inconsistent(`exec_vnode '${shown(text)}' is malformed`);
    }
    const amounts = new Map<string, string>();
    for (const part of parts.slice(1)) {
      const equals = part.indexOf('=');
      if (equals < 0) {
        throw new Inconsistent(`exec_vnode '${shown(text)}' is malformed`);
      }
      amounts.set(part.slice(0, equals), part.slice(equals + 1));
    }
    const number = (key: string): number => {
      const value = amounts.get(key) ?? '0';
      if (!/^\d{1,9}$/u.test(value)) {
        throw new Inconsistent(`exec_vnode '${shown(text)}' is malformed`);
      }
      return Number(value);
    };
    const before = found.get(host);
    const memory = amounts.get('mem');
    const bytes = memory === undefined ? null : readPbsSize(memory);
    const gpus = number('ngpus') + (before?.gpus?.length ?? 0);
    found.set(host, {
      cpus: number('ncpus') + (before?.cpus ?? 0),
      memBytes:
        bytes === null
          ? (before?.memBytes ?? null)
          : bytes + (before?.memBytes ?? 0),
      gpus: Array.from({ length: gpus }, (_, at) => String(at))
    });
  }
  return found;
}

function readVnodes(stdout: string, id: string): Map<string, Vnode> | null {
  const text = pbsJob(stdout, id)?.['exec_vnode'];
  return typeof text === 'string' ? readExecVnode(text) : null;
}

/** The record of one job in the answer of `qstat -f -F json`; null where it is not there. */
export function pbsJob(
  stdout: string,
  id: string
): Record<string, unknown> | null {
  try {
    const jobs = field(JSON.parse(stdout), 'Jobs');
    const known =
      field(jobs, id) ??
      Object.entries(jobs ?? {}).find(
        ([name]) => name.split('.')[0] === id.split('.')[0]
      )?.[1];
    return typeof known === 'object' && known !== null
      ? (known as Record<string, unknown>)
      : null;
  } catch {
    // Not JSON: PBS Pro before 18 has no -F, and hostile values have broken its JSON before.
    return null;
  }
}

function field(value: unknown, name: string): Record<string, unknown> | null {
  if (
    typeof value !== 'object' ||
    value === null ||
    !Object.hasOwn(value, name)
  ) {
    return null;
  }
  const found = (value as Record<string, unknown>)[name];
  return typeof found === 'object' && found !== null
    ? (found as Record<string, unknown>)
    : null;
}

export const torqueReader: SystemReader = {
  kind: 'torque',
  jobId: env => (isTorque(env) ? pbsId(env) : null),
  read: (id, inside) => readTorque(id, inside)
};

function readTorque(
  id: string,
  { env, readFile }: Inside
): ReturnType<SystemReader['read']> {
  const file = set(env, 'PBS_NODEFILE');
  const text = file === null ? null : readFile(file);
  if (text === null) {
    return {
      ask: [],
      why:
        file === null
          ? 'PBS_NODEFILE is not set'
          : 'the file of PBS_NODEFILE cannot be read'
    };
  }
  const warnings: string[] = [];
  const entries = readNodeFile(text, 'PBS_NODEFILE');
  const counted = whole(env, 'PBS_NP');
  if (counted !== null && counted !== sum(entries)) {
    warnings.push(
      `PBS_NP is ${counted}, PBS_NODEFILE has ${sum(entries)} lines; the file counts`
    );
  }
  const gpuFile = set(env, 'PBS_GPUFILE');
  const gpuText = gpuFile === null ? null : readFile(gpuFile);
  const gpus = gpuText === null ? null : readGpuFile(gpuText);
  return allocationOf({
    kind: 'torque',
    id,
    array: arrayOf(id, set(env, 'PBS_ARRAYID')),
    // A slot of Torque is a processor.
    nodes: entries.map(one =>
      node(one.host, {
        tasks: one.slots,
        cpus: one.slots,
        gpus: gpus === null ? null : (gpus.get(one.host) ?? [])
      })
    ),
    nodeFile: file,
    source: ['PBS_NODEFILE', ...(gpus === null ? [] : ['PBS_GPUFILE'])],
    warnings
  });
}

/** Lines `host-gpu0`. @throws Inconsistent */
function readGpuFile(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split('\n').map(one => one.trim())) {
    if (line === '') {
      continue;
    }
    const match = /^(\S+)-gpu(\d{1,4})$/u.exec(line);
    const [, host = '', index = ''] = match ?? [];
    if (match === null || !isHostName(host)) {
      throw new Inconsistent(
        `the file of PBS_GPUFILE has the line '${shown(line)}'`
      );
    }
    found.set(host, [...(found.get(host) ?? []), index]);
  }
  return found;
}
