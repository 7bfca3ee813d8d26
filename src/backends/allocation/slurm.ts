/** An allocation of Slurm (specs/launchers-and-allocations.md §3, §6). */
import {
  Inconsistent,
  type AllocatedNode,
  type Environment
} from './allocation.js';
import { expandCounts } from './counts.js';
import { expandHostList } from './hostlist.js';
import {
  allocationOf,
  deviceNames,
  MIB,
  node,
  sameHost,
  set,
  whole,
  type Inside,
  type SystemReader
} from './reader.js';

export const slurmReader: SystemReader = {
  kind: 'slurm',
  jobId: env => {
    const id = set(env, 'SLURM_JOB_ID') ?? set(env, 'SLURM_JOBID');
    return id !== null && /^[1-9]\d{0,14}$/u.test(id) ? id : null;
  },
  read: (id, { env, readFile }) => {
    const warnings: string[] = [];
    const source = new Set<string>();
    const size = whole(env, 'SLURM_HET_SIZE') ?? whole(env, 'SLURM_PACK_SIZE');
    if (size !== null && (size < 1 || size > 10_000)) {
      throw new Inconsistent(`a heterogeneous job of ${size} components`);
    }
    const family =
      whole(env, 'SLURM_HET_SIZE') === null ? '_PACK_GROUP_' : '_HET_GROUP_';
    const suffixes =
      size === null
        ? ['']
        : Array.from({ length: size }, (_, at) => `${family}${at}`);
    const groups = suffixes.map(suffix => ({
      id: set(env, `SLURM_JOB_ID${suffix}`) ?? id,
      nodes: readGroup({ env, readFile }, suffix, { source, warnings })
    }));
    const arrayId = set(env, 'SLURM_ARRAY_JOB_ID');
    const index = set(env, 'SLURM_ARRAY_TASK_ID');
    return allocationOf({
      kind: 'slurm',
      id,
      incarnation: whole(env, 'SLURM_RESTART_COUNT') ?? 0,
      array: arrayId !== null && index !== null ? { id: arrayId, index } : null,
      nodes: groups.flatMap(group => group.nodes),
      groups,
      source: [...source],
      warnings
    });
  }
};

/** One component; the plain variables describe the first one only. */
function readGroup(
  { env, readFile }: Pick<Inside, 'env' | 'readFile'>,
  suffix: string,
  told: { source: Set<string>; warnings: string[] }
): AllocatedNode[] {
  const first = (...names: string[]): [string, string] | null => {
    for (const name of names) {
      const text = set(env, name + suffix);
      if (text !== null) {
        told.source.add(name + suffix);
        return [name + suffix, text];
      }
    }
    return null;
  };
  const list = first('SLURM_JOB_NODELIST', 'SLURM_NODELIST');
  if (list === null) {
    throw new Inconsistent(`SLURM_JOB_NODELIST${suffix} is missing`);
  }
  const hosts = expandHostList(list[1]);
  if (hosts.length === 0) {
    throw new Inconsistent(`${list[0]} names no nodes`);
  }
  if (new Set(hosts).size !== hosts.length) {
    throw new Inconsistent(`${list[0]} names a node twice`);
  }
  const count = whole(env, `SLURM_JOB_NUM_NODES${suffix}`);
  if (count !== null && count !== hosts.length) {
    throw new Inconsistent(
      `SLURM_JOB_NUM_NODES${suffix} is ${count}, ${list[0]} has ${hosts.length}`
    );
  }
  const perNode = (counted: [string, string] | null): number[] | null => {
    if (counted === null) {
      return null;
    }
    const counts = expandCounts(counted[1]);
    if (counts.length !== hosts.length) {
      throw new Inconsistent(
        `${counted[0]} counts ${counts.length} nodes, ${list[0]} has ${hosts.length}`
      );
    }
    return counts;
  };
  const cpus = perNode(first('SLURM_JOB_CPUS_PER_NODE'));
  // Inside a step this variable tells of the step, not of the job.
  const step = set(env, 'SLURM_STEP_ID') ?? set(env, 'SLURM_STEPID');
  const tasks = step === null ? perNode(first('SLURM_TASKS_PER_NODE')) : null;
  const here = set(env, 'SLURMD_NODENAME');
  const isHere = (host: string): boolean =>
    here === null ? false : sameHost(host, here);
  return hosts.map((host, at) => {
    const gpus = gpusOf(env, suffix, {
      host: isHere(host),
      only: hosts.length === 1 && suffix === '',
      source: told.source
    });
    return node(host, {
      tasks: tasks?.[at] ?? null,
      cpus: cpus?.[at] ?? null,
      memBytes: memoryOf(env, suffix, {
        cpus: cpus?.[at] ?? null,
        gpus: gpus?.length ?? null,
        wholeNode: isHere(host) ? readFile : null,
        source: told.source
      }),
      gpus
    });
  });
}

/** MiB without unit; 0 is the whole node, whose memory only the node itself knows. */
function memoryOf(
  env: Environment,
  suffix: string,
  known: {
    cpus: number | null;
    gpus: number | null;
    wholeNode: Inside['readFile'] | null;
    source: Set<string>;
  }
): number | null {
  const read = (name: string): number | null => {
    const value = whole(env, name + suffix);
    if (value !== null) {
      known.source.add(name + suffix);
    }
    return value;
  };
  const perNode = read('SLURM_MEM_PER_NODE');
  if (perNode === 0) {
    return known.wholeNode === null ? null : realMemory(known.wholeNode);
  }
  if (perNode !== null) {
    return perNode * MIB;
  }
  const perCpu = read('SLURM_MEM_PER_CPU');
  if (perCpu !== null && perCpu > 0 && known.cpus !== null) {
    return perCpu * known.cpus * MIB;
  }
  const perGpu = read('SLURM_MEM_PER_GPU');
  return perGpu !== null && perGpu > 0 && known.gpus !== null
    ? perGpu * known.gpus * MIB
    : null;
}

function realMemory(readFile: Inside['readFile']): number | null {
  const total = /(?:^|\n)MemTotal:\s+(\d{1,15}) kB(?:\n|$)/u.exec(
    readFile('/proc/meminfo') ?? ''
  );
  return total === null ? null : Number(total[1]) * 1024;
}

/** Slurm names devices for the node one is on only. */
function gpusOf(
  env: Environment,
  suffix: string,
  known: { host: boolean; only: boolean; source: Set<string> }
): string[] | null {
  const named = set(env, 'SLURM_JOB_GPUS') ?? set(env, 'SLURM_STEP_GPUS');
  const count = whole(env, 'SLURM_GPUS_ON_NODE');
  if (named === null && count === null) {
    return null;
  }
  if (!known.host && !known.only) {
    return null;
  }
  if (suffix !== '' && !known.host) {
    return null;
  }
  known.source.add(named === null ? 'SLURM_GPUS_ON_NODE' : 'SLURM_JOB_GPUS');
  const gpus =
    named === null
      ? Array.from({ length: count ?? 0 }, (_, at) => String(at))
      : deviceNames(named);
  if (count !== null && named !== null && count !== gpus.length) {
    throw new Inconsistent(
      `SLURM_GPUS_ON_NODE is ${count}, SLURM_JOB_GPUS names ${gpus.length}`
    );
  }
  return gpus;
}
