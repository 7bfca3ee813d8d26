/**
 * Cores and memory this process may really use: affinity and cgroup limits respected, because a
 * container or a batch allocation is smaller than its host.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';

export type HostResources = {
  cores: number;
  memory: number;
  /** What lowered them, for people. */
  limitedBy: string[];
};

type Read = (path: string) => string | null;

const readOrNull: Read = path => {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
};

/** @param read for tests; null means there is no such file. */
export function hostResources(
  read: Read = readOrNull,
  host = { cores: availableParallelism(), memory: totalmem() }
): HostResources {
  const limitedBy: string[] = [];
  let { cores, memory } = host;
  for (const folder of cgroupFolders(read)) {
    const quota = cpuQuota(read, folder);
    if (quota !== null && quota < cores) {
      cores = Math.max(1, Math.floor(quota));
      limitedBy.push(`${folder.path}: ${quota} cores`);
    }
    const limit = memoryLimit(read, folder);
    if (limit !== null && limit < memory) {
      memory = limit;
      limitedBy.push(`${folder.path}: ${limit} bytes of memory`);
    }
  }
  return { cores, memory, limitedBy };
}

type CgroupFolder = { version: 1 | 2; path: string };

/** Ours and all above it: the least of them is in force. Version 1 has one tree per controller. */
function cgroupFolders(read: Read): CgroupFolder[] {
  const folders: CgroupFolder[] = [];
  for (const line of (read('/proc/self/cgroup') ?? '').split('\n')) {
    const match = /^\d+:([^:]*):(.*)$/.exec(line);
    if (match === null) {
      continue;
    }
    const controllers = (match[1] ?? '').split(',');
    const version = match[1] === '' ? 2 : 1;
    const roots =
      version === 2
        ? ['/sys/fs/cgroup', '/sys/fs/cgroup/unified']
        : controllers
            .filter(name => name === 'memory' || name === 'cpu')
            .map(name => `/sys/fs/cgroup/${name}`);
    const parts = (match[2] ?? '').split('/').filter(part => part !== '');
    for (const root of roots) {
      for (let depth = parts.length; depth >= 0; depth--) {
        folders.push({ version, path: join(root, ...parts.slice(0, depth)) });
      }
    }
  }
  return folders;
}

function cpuQuota(read: Read, folder: CgroupFolder): number | null {
  if (folder.version === 2) {
    const [quota, period] = (read(join(folder.path, 'cpu.max')) ?? '').split(
      ' '
    );
    return quotient(quota, period);
  }
  return quotient(
    read(join(folder.path, 'cpu.cfs_quota_us')) ?? undefined,
    read(join(folder.path, 'cpu.cfs_period_us')) ?? undefined
  );
}

function quotient(
  quota: string | undefined,
  period: string | undefined
): number | null {
  const value = Number(quota) / Number(period);
  return Number.isFinite(value) && value > 0 ? value : null;
}

function memoryLimit(read: Read, folder: CgroupFolder): number | null {
  const text = read(
    join(
      folder.path,
      folder.version === 2 ? 'memory.max' : 'memory.limit_in_bytes'
    )
  );
  const value = Number(text ?? Number.NaN);
  return Number.isSafeInteger(value) && value > 0 ? value : null;
}
