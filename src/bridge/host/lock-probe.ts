/** Do file locks work where the state is? Asked once per folder and mount (R10). */
import { randomBytes } from 'node:crypto';
import { readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { MusterError } from '../../protocol/index.js';
import {
  createPrivateFile,
  writePrivateFile
} from '../security/private-files.js';
import { checkExclusive } from '../store/exclusive-check.js';
import {
  fileSystemType,
  type FileSystemType,
  hidingLockOptions,
  mountOf
} from './file-system.js';

export type LockProbe = {
  fileSystem: FileSystemType;
  /** Another process was kept out; null: that could not be found out. */
  locksWork: boolean | null;
  /** Mount options that hide locks from other hosts. */
  hiding: string[];
};

const RESULT_NAME = 'lock-probe.json';

/**
 * Locks a probe file and lets a child process try to read it. The result is kept in the folder and
 * asked again when something else is mounted there.
 */
export async function probeLocks(
  folder: string,
  nodePath: string
): Promise<LockProbe> {
  const fileSystem = fileSystemType(folder);
  const mount = mountOf(realpathSync(folder));
  const hiding = mount === null ? [] : hidingLockOptions(mount);
  const key = `${fileSystem.name} ${mount?.id ?? ''}`;
  const resultFile = join(folder, RESULT_NAME);
  if (keptResult(resultFile) === key) {
    return { fileSystem, locksWork: true, hiding };
  }
  const file = join(folder, `.lock-probe-${randomBytes(6).toString('hex')}`);
  createPrivateFile(file, '');
  const database = new DatabaseSync(file);
  let locksWork: boolean | null;
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE; CREATE TABLE probe (x); COMMIT');
    const check = await checkExclusive(file, nodePath);
    locksWork = check.type === 'unknown' ? null : check.type === 'exclusive';
  } finally {
    database.close();
    rmSync(file, { force: true });
    rmSync(`${file}-journal`, { force: true });
  }
  if (locksWork === true) {
    // Only the good answer is kept: after a remount or a fix the question is asked again.
    writePrivateFile(resultFile, `${JSON.stringify({ key })}\n`);
  }
  return { fileSystem, locksWork, hiding };
}

/**
 * @param allowUnsafeLocks the user's setting: the lease alone is protection enough.
 * @throws MusterError `bridge-unavailable` with the fix, where the state would not be safe.
 */
export function requireLocks(
  folder: string,
  probe: LockProbe,
  allowUnsafeLocks: boolean
): void {
  if (
    allowUnsafeLocks ||
    (probe.locksWork !== false && probe.hiding.length === 0)
  ) {
    return;
  }
  throw new MusterError({
    code: 'bridge-unavailable',
    message:
      probe.locksWork === false
        ? `file locks do not work in ${folder} (${probe.fileSystem.name})`
        : `${folder} is mounted with ${probe.hiding.join(', ')}: other hosts do not see file locks there`,
    hint: 'set MUSTER_STATE_DIR to a folder on a file system with locks or on a local disk; or set allowUnsafeLocks if only one host ever uses it',
    details: { folder, ...probe }
  });
}

function keptResult(path: string): string | null {
  try {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as { key?: unknown };
    return typeof kept.key === 'string' ? kept.key : null;
  } catch {
    // None, or not readable: ask again.
    return null;
  }
}
