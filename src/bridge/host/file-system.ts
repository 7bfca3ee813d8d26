/** What kind of file system a path is on: locks and attribute caches differ (R10). */
import { readFileSync, statfsSync } from 'node:fs';

export type FileSystemKind = 'local' | 'network' | 'unknown';

export type FileSystemType = {
  /** `ext4`, `nfs`, `lustre`, …, or the number in hexadecimal. */
  name: string;
  kind: FileSystemKind;
};

/**
 * `f_type` of statfs(2) → name and kind. Numbers of linux/magic.h and statfs(2); GPFS's from its
 * users' reports (unverified). FUSE may be anything: a local disk or sshfs, hence unknown.
 */
const LINUX_TYPES: ReadonlyMap<number, FileSystemType> = new Map(
  (
    [
      [0xef53, 'ext4', 'local'],
      [0x58465342, 'xfs', 'local'],
      [0x9123683e, 'btrfs', 'local'],
      [0x01021994, 'tmpfs', 'local'],
      [0x858458f6, 'ramfs', 'local'],
      [0x794c7630, 'overlayfs', 'local'],
      [0x2fc12fc1, 'zfs', 'local'],
      [0xf2f52010, 'f2fs', 'local'],
      [0xca451a4e, 'bcachefs', 'local'],
      [0x52654973, 'reiserfs', 'local'],
      [0x3153464a, 'jfs', 'local'],
      [0x6969, 'nfs', 'network'],
      [0x0bd00bd0, 'lustre', 'network'],
      [0x47504653, 'gpfs', 'network'],
      [0xff534d42, 'cifs', 'network'],
      [0xfe534d42, 'smb2', 'network'],
      [0x517b, 'smb', 'network'],
      [0x00c36400, 'ceph', 'network'],
      [0x5346414f, 'afs', 'network'],
      [0x6b414653, 'kafs', 'network'],
      [0x73757245, 'coda', 'network'],
      [0x01021997, '9p', 'network'],
      [0x19830326, 'beegfs', 'network'],
      [0x7461636f, 'ocfs2', 'network'],
      [0x01161970, 'gfs2', 'network'],
      [0x65735546, 'fuse', 'unknown']
    ] as const
  ).map(([magic, name, kind]) => [magic, { name, kind }])
);

/** @throws where the path does not exist or cannot be looked at. */
export function fileSystemType(path: string): FileSystemType {
  const magic = statfsSync(path).type >>> 0;
  return fileSystemOfMagic(magic, process.platform);
}

export function fileSystemOfMagic(
  magic: number,
  platform: NodeJS.Platform
): FileSystemType {
  const known = platform === 'linux' ? LINUX_TYPES.get(magic) : undefined;
  return known ?? { name: `0x${magic.toString(16)}`, kind: 'unknown' };
}

export type Mount = {
  /** Changes when something else is mounted there. */
  id: string;
  source: string;
  type: string;
  /** Mount and super-block options together. */
  options: string[];
};

/** The mount a path is on, out of the text of `/proc/self/mountinfo` (proc(5)); null: not found. */
export function findMount(mountinfo: string, path: string): Mount | null {
  let best: Mount | null = null;
  let bestLength = -1;
  for (const line of mountinfo.split('\n')) {
    const [left, right] = line.split(' - ');
    const fields = left?.split(' ') ?? [];
    const tail = right?.split(' ') ?? [];
    const point = fields[4]?.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(parseInt(octal, 8))
    );
    if (point === undefined || tail[0] === undefined) {
      continue;
    }
    const prefix = point.endsWith('/') ? point : `${point}/`;
    // Of two mounts on one point the later one is seen.
    if (
      (path === point || path.startsWith(prefix)) &&
      point.length >= bestLength
    ) {
      bestLength = point.length;
      best = {
        id: `${fields[2]} ${tail[0]} ${tail[1] ?? ''}`,
        source: tail[1] ?? '',
        type: tail[0],
        options: [
          ...(fields[5] ?? '').split(','),
          ...(tail[2] ?? '').split(',')
        ].filter(option => option !== '')
      };
    }
  }
  return best;
}

/** The mount of a real path; null where the system does not say. */
export function mountOf(realPath: string): Mount | null {
  try {
    return findMount(readFileSync('/proc/self/mountinfo', 'utf8'), realPath);
  } catch {
    return null;
  }
}

/**
 * Mount options under which a lock is not seen by other hosts; a probe from one host cannot find
 * that out (nfs(5): `nolock`, `local_lock`; lustre: `localflock`, `noflock`).
 */
export function hidingLockOptions(mount: Mount): string[] {
  return mount.options.filter(
    option =>
      option === 'nolock' ||
      option === 'localflock' ||
      option === 'noflock' ||
      option === 'local_lock=all' ||
      option === 'local_lock=posix'
  );
}
