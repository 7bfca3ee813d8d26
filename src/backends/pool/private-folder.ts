/** Folders and files nobody else can read, squat or redirect (reliability-and-security.md S14, S15). */
import { constants } from 'node:fs';
import { lstat, mkdir, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A folder or file that is not safe to use; the message says the fix. */
export class UnsafeFolderError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnsafeFolderError';
  }
}

/**
 * A real folder of ours, closed to others.
 * @throws UnsafeFolderError, or the system's error when it cannot be looked at.
 */
export async function checkPrivateFolder(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (!found.isDirectory()) {
    throw new UnsafeFolderError(
      `${folder} is not a folder (a link is refused)`
    );
  }
  const uid = process.geteuid?.();
  if (uid !== undefined && found.uid !== uid) {
    throw new UnsafeFolderError(
      `${folder} belongs to another user (uid ${found.uid})`
    );
  }
  if ((found.mode & 0o077) !== 0) {
    throw new UnsafeFolderError(
      `${folder} is open to others; run: chmod 700 ${folder}`
    );
  }
}

/** Make the folder where it is missing (its parent must exist), and check it. */
export async function makePrivateFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw error;
    }
  }
  await checkPrivateFolder(folder);
}

/** Replace a file as a whole, readable by its owner only; its folder is a private one. */
export async function writePrivateFile(
  path: string,
  text: string
): Promise<void> {
  const temporary = join(
    dirname(path),
    `.${basename(path)}.${process.pid}.${Math.random().toString(36).slice(2)}`
  );
  const file = await open(
    temporary,
    constants.O_WRONLY |
      constants.O_CREAT |
      constants.O_EXCL |
      constants.O_NOFOLLOW,
    0o600
  );
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}
