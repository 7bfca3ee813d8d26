/**
 * Folders and files only their owner can read (specs/reliability-and-security.md S13–S15): 0700
 * and 0600, never through a symbolic link, never another user's.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { MusterError } from '../../protocol/index.js';

/** Longest path of a unix socket we use; sun_path has 108 bytes on Linux, 104 on macOS. */
export const MAXIMUM_SOCKET_PATH_BYTES = 100;

/**
 * Makes the folder (and missing parents) 0700, or checks that it is a private one already.
 * @throws MusterError `forbidden` naming the fix, where it is a link, another user's or open to others.
 */
export function ensurePrivateFolder(path: string): void {
  try {
    // Parents as the umask says; the folder itself is checked below.
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') {
      throw error;
    }
    verifyPrivateFolder(path);
    return;
  }
  // mkdir's mode is cut by the umask; a umask of 0777 would leave a folder we cannot use.
  chmodSync(path, 0o700);
  verifyPrivateFolder(path);
}

/** @throws MusterError `forbidden` naming the fix; the system's own error where it does not exist. */
export function verifyPrivateFolder(path: string): void {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) {
    refuse(path, 'is not a folder (or is a symbolic link)', [
      `remove ${path}, or name another folder`
    ]);
  }
  verifyOwner(path, stats, 'folder', 0o700);
}

/**
 * Looks by lstat, never by opening: closing a descriptor of the database drops its locks (R9).
 * @throws MusterError `forbidden` naming the fix; the system's own error where it does not exist.
 */
export function verifyPrivateFile(path: string): void {
  const stats = lstatSync(path);
  if (!stats.isFile()) {
    refuse(path, 'is not a plain file', [`remove ${path}`]);
  }
  verifyOwner(path, stats, 'file', 0o600);
}

/**
 * Replaces a file's contents in one step: exclusive create 0600 beside it, fsync, rename, fsync of
 * the folder. A reader sees the old or the new text, also after a power loss.
 */
export function writePrivateFile(
  path: string,
  contents: string | Uint8Array
): void {
  const temporary = join(
    dirname(path),
    `.${basename(path)}.${randomBytes(8).toString('hex')}`
  );
  createPrivateFile(temporary, contents);
  try {
    renameSync(temporary, path);
  } catch (error) {
    unlinkSync(temporary);
    throw error;
  }
  syncFolder(dirname(path));
}

/**
 * As `writePrivateFile`, but only where there is none yet.
 * @returns false where the file exists; it is left as it is.
 */
export function writePrivateFileOnce(
  path: string,
  contents: string | Uint8Array
): boolean {
  const temporary = join(
    dirname(path),
    `.${basename(path)}.${randomBytes(8).toString('hex')}`
  );
  createPrivateFile(temporary, contents);
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') {
      return false;
    }
    throw error;
  } finally {
    unlinkSync(temporary);
  }
  syncFolder(dirname(path));
  return true;
}

/** Exclusive create 0600, all bytes, fsync. @throws EEXIST where there is something of that name. */
export function createPrivateFile(
  path: string,
  contents: string | Uint8Array
): void {
  // 'wx' is O_CREAT | O_EXCL: a symbolic link of that name is not followed.
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    const bytes =
      typeof contents === 'string' ? Buffer.from(contents) : contents;
    for (let written = 0; written < bytes.length;) {
      written += writeSync(descriptor, bytes, written);
    }
    fsyncSync(descriptor);
  } catch (error) {
    unlinkSync(path);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Makes renames and creations in a folder durable. */
export function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } catch (error) {
    // Some network file systems do not know fsync of a folder.
    if (!['EINVAL', 'ENOTSUP', 'EBADF'].includes(codeOf(error) ?? '')) {
      throw error;
    }
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Where a socket goes: `<folder>/<name>`, or, where that is too long for the system (which would
 * cut it silently or answer EINVAL), a short folder named by a hash of the long one.
 * The returned folder is made and checked 0700.
 * @param temporaryFolder usually os.tmpdir(); `/tmp` is tried after it.
 * @throws MusterError `internal` where not even the short path fits.
 */
export function placeSocket(options: {
  folder: string;
  name: string;
  temporaryFolder: string;
}): string {
  const { folder, name, temporaryFolder } = options;
  const uid = process.getuid?.() ?? 0;
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  const candidates = [
    folder,
    join(temporaryFolder, `muster-${uid}-${hash}`),
    join('/tmp', `muster-${uid}-${hash}`)
  ];
  for (const candidate of candidates) {
    const path = join(candidate, name);
    if (socketPathFits(path)) {
      ensurePrivateFolder(candidate);
      return path;
    }
  }
  throw new MusterError({
    code: 'internal',
    message: `no socket path of at most ${MAXIMUM_SOCKET_PATH_BYTES} bytes can be made for ${folder}`,
    hint: 'set XDG_RUNTIME_DIR or TMPDIR to a folder with a shorter name'
  });
}

export function socketPathFits(path: string): boolean {
  return Buffer.byteLength(path) <= MAXIMUM_SOCKET_PATH_BYTES;
}

function verifyOwner(
  path: string,
  stats: Stats,
  noun: string,
  mode: number
): void {
  const uid = process.getuid?.();
  if (uid !== undefined && stats.uid !== uid) {
    refuse(path, `belongs to another user (uid ${stats.uid})`, [
      `remove ${path}, or name another ${noun}`
    ]);
  }
  if ((stats.mode & 0o077) !== 0) {
    refuse(
      path,
      `can be used by others (mode ${(stats.mode & 0o777).toString(8)})`,
      [`chmod ${mode.toString(8)} '${path}'`]
    );
  }
}

function refuse(path: string, what: string, fixes: string[]): never {
  throw new MusterError({
    code: 'forbidden',
    message: `${path} ${what}; Muster does not use it`,
    hint: fixes.join('; '),
    details: { path }
  });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
