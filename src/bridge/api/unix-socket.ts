/** Listening on the bridge's socket file: short path, private mode, no window in between. */
import { lstat, unlink } from 'node:fs/promises';
import type { Server } from 'node:http';

/** Bytes; the kernel's limit is 108, and Node cuts longer paths without a word. */
export const MAXIMUM_SOCKET_PATH = 100;

/**
 * Removes a stale socket and listens. The caller owns the lease and lock: nobody else listens here.
 * @throws Error where the path is too long or something other than a socket of ours lies there.
 */
export async function listenOnSocket(
  server: Server,
  path: string
): Promise<void> {
  const length = Buffer.byteLength(path);
  if (length > MAXIMUM_SOCKET_PATH) {
    throw new Error(
      `the socket path has ${length} bytes, at most ${MAXIMUM_SOCKET_PATH} are possible: ${path} (set XDG_RUNTIME_DIR or a shorter temporary directory)`
    );
  }
  await removeStale(path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // bind(2) happens inside `listen`, synchronously: the mask holds for exactly that moment.
    const mask = process.umask(0o177);
    try {
      server.listen(path, () => {
        server.off('error', reject);
        resolve();
      });
    } finally {
      process.umask(mask);
    }
  });
}

async function removeStale(path: string): Promise<void> {
  let found;
  try {
    found = await lstat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return;
    }
    throw error;
  }
  if (!found.isSocket() || found.uid !== process.getuid?.()) {
    throw new Error(`${path} is not a socket of this user; it is left alone`);
  }
  await unlink(path);
}

/** Which file is the socket: another inode, or none, means that it was removed under us. */
export async function socketIdentity(path: string): Promise<string | null> {
  try {
    const found = await lstat(path);
    return found.isSocket() ? `${found.dev}:${found.ino}` : null;
  } catch {
    return null;
  }
}
