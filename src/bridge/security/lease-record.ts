/**
 * The lease: which bridge owns a state folder, decided between hosts (specs/reliability-and-
 * security.md R7, R8). On one host the database's lock and the socket decide.
 *
 * The file `lease` is a hard link of the holder's own `lease.<nonce>`. A holder renews by writing
 * into its own name, so a holder that was paused while another took over writes into a file nobody
 * looks at, never over the new holder's. Observers use only their own monotonic clock.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import { verifyPrivateFile } from './private-files.js';

export const LEASE_NAME = 'lease';
export const RENEW_MS = 5_000;
/** A lease is over when an observer saw no change for this long. */
export const EXPIRY_MS = 30_000;
/** A holder whose last renewal is older than this writes nothing any more. */
export const FENCE_MS = 20_000;
/** How long the sight of our own nonce in the file counts. */
export const LOOK_MS = 5_000;

export const leaseRecordSchema = z.object({
  epoch: z.int().nonnegative(),
  host: z.string(),
  bootId: z.string(),
  /** Of the holder's container, where there is such a thing: pids mean nothing outside. */
  pidNamespace: z.string().nullable(),
  pid: z.int().positive(),
  /** As `processStartTime` says it. */
  startTime: z.string(),
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  /** Grows with every renewal: what observers see change. */
  renewals: z.int().nonnegative(),
  /** Given back by its holder: free at once. */
  released: z.boolean()
});

export type LeaseRecord = z.infer<typeof leaseRecordSchema>;

/** The holder, as it describes itself. */
export type LeaseHolder = Pick<
  LeaseRecord,
  'host' | 'bootId' | 'pidNamespace' | 'pid' | 'startTime'
>;

/** Milliseconds that never go back; `performance.now` outside tests. */
export type MonotonicClock = () => number;

/** One renewal is one write of this many bytes, so that a reader does not meet half of two. */
const RECORD_BYTES = 1_024;

/** The lease in a state folder; null: there is none. A half-written or foreign one: `unreadable`. */
export type LeaseSight =
  | { type: 'absent' }
  | { type: 'held'; record: LeaseRecord; text: string }
  | { type: 'unreadable'; text: string };

/** @throws MusterError `forbidden` where others can read or write it (S15); the system's own errors. */
export async function readLease(folder: string): Promise<LeaseSight> {
  const path = join(folder, LEASE_NAME);
  let text: string;
  try {
    verifyPrivateFile(path);
    // Opened anew each time: that is when NFS asks the server (R11).
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return { type: 'absent' };
    }
    throw error;
  }
  const record = leaseRecordSchema.safeParse(parseJson(text));
  return record.success
    ? { type: 'held', record: record.data, text }
    : { type: 'unreadable', text };
}

/** The record as the file's whole text. @throws RangeError where it does not fit. */
export function formatLease(record: LeaseRecord): string {
  const text = JSON.stringify(record);
  if (Buffer.byteLength(text) >= RECORD_BYTES) {
    throw new RangeError('the lease record is too long');
  }
  return `${text}${' '.repeat(RECORD_BYTES - 1 - Buffer.byteLength(text))}\n`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function monotonic(): number {
  return performance.now();
}
