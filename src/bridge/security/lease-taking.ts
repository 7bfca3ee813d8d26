/** Taking the lease by link(2): exclusive create alone was historically unsafe on NFS (R7). */
import { randomBytes } from 'node:crypto';
import {
  link,
  lstat,
  readdir,
  readFile,
  rename,
  unlink
} from 'node:fs/promises';
import { join } from 'node:path';
import { Lease, type LeaseOptions } from './lease.js';
import {
  EXPIRY_MS,
  formatLease,
  LEASE_NAME,
  type LeaseHolder,
  type LeaseRecord,
  type LeaseSight,
  monotonic
} from './lease-record.js';
import { createPrivateFile } from './private-files.js';

export type TakeLeaseOptions = LeaseOptions & {
  holder: LeaseHolder;
  /** What was seen and found free: absent, expired, or its holder positively dead. */
  over: LeaseSight;
};

/**
 * Takes the lease where it is still exactly what `over` says.
 * @returns null where somebody else was faster: look again.
 */
export async function takeLease(
  options: TakeLeaseOptions
): Promise<Lease | null> {
  const { folder, over } = options;
  const nonce = randomBytes(16).toString('hex');
  const record: LeaseRecord = {
    ...options.holder,
    epoch: (over.type === 'held' ? over.record.epoch : 0) + 1,
    nonce,
    renewals: 0,
    released: false
  };
  const own = join(folder, `${LEASE_NAME}.${nonce}`);
  const path = join(folder, LEASE_NAME);
  createPrivateFile(own, formatLease(record));
  const startedAt = (options.clock ?? monotonic)();
  try {
    if (over.type !== 'absent' && !(await moveAway(folder, nonce, over))) {
      await removeIfThere(own);
      return null;
    }
    let refusal: Error | null = null;
    try {
      await link(own, path);
    } catch (error) {
      // On NFS the answer may be lost although the link was made: only the count tells.
      refusal = error as Error;
    }
    if ((await lstat(own)).nlink !== 2) {
      if (refusal !== null && codeOf(refusal) !== 'EEXIST') {
        throw refusal;
      }
      await removeIfThere(own);
      return null;
    }
  } catch (error) {
    await removeIfThere(own);
    throw error;
  }
  if (over.type === 'held') {
    await removeIfThere(join(folder, `${LEASE_NAME}.${over.record.nonce}`));
  }
  await removeStrays(folder, nonce);
  return new Lease(options, record, startedAt);
}

/**
 * Moves the old lease out of the way, if it is still the one that was judged.
 * @returns false where it is not: whatever was moved by mistake is put back.
 */
async function moveAway(
  folder: string,
  nonce: string,
  over: Exclude<LeaseSight, { type: 'absent' }>
): Promise<boolean> {
  const path = join(folder, LEASE_NAME);
  const aside = join(folder, `${LEASE_NAME}.old-${nonce}`);
  try {
    await rename(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return true;
    }
    throw error;
  }
  const found = await readFile(aside, 'utf8');
  if (found === over.text) {
    await removeIfThere(aside);
    return true;
  }
  // Renewed or taken in this very moment. Its holder may notice the gap and end itself: safe.
  try {
    await link(aside, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') {
      throw error;
    }
  }
  await removeIfThere(aside);
  return false;
}

/** Names left by holders and takers that were killed; a live holder's name is never touched. */
async function removeStrays(folder: string, nonce: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const match = /^lease\.(?:old-)?([0-9a-f]{32})$/.exec(name);
    if (match === null || match[1] === nonce) {
      continue;
    }
    const path = join(folder, name);
    // A taker just now at work has a young file; ages are compared on the server's clock only.
    const [stray, own] = await Promise.all([
      lstat(path).catch(() => null),
      lstat(join(folder, `${LEASE_NAME}.${nonce}`))
    ]);
    if (stray !== null && own.mtimeMs - stray.mtimeMs > 10 * EXPIRY_MS) {
      await removeIfThere(path);
    }
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') {
      throw error;
    }
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}
