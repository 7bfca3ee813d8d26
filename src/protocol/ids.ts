/**
 * Identifiers. Sixteen random characters of a 32-letter alphabet (80 bits); nothing of the time is
 * in them, because tokens and labels are cut from them (specs/api.md §1).
 */
import { z } from 'zod';

/** Digits and lower-case letters without `i l o u` (Crockford's base 32). */
export const ID_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
export const ID_LENGTH = 16;
const ID_PATTERN = new RegExp(`^[${ID_ALPHABET}]{${ID_LENGTH}}$`);

export const clusterIdSchema = z
  .string()
  .regex(ID_PATTERN)
  .brand<'ClusterId'>();
export const jobIdSchema = z.string().regex(ID_PATTERN).brand<'JobId'>();

/** A cluster, for ever: never used again, also not after the cluster was forgotten. */
export type ClusterId = z.infer<typeof clusterIdSchema>;
/** One attempt to have one job; a replacement is another job. */
export type JobId = z.infer<typeof jobIdSchema>;
/** `<job id>-<index>`: also the Dask worker name. Never numeric, never used twice. */
export type WorkerId = string & z.BRAND<'WorkerId'>;

/** Is this text shaped like one of our ids? */
export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}

/**
 * An id from random bytes.
 * @param bytes at least 16 uniformly random bytes; five bits of each are used.
 */
export function idFromBytes(bytes: Uint8Array): string {
  if (bytes.length < ID_LENGTH) {
    throw new RangeError(`an id needs ${ID_LENGTH} bytes, got ${bytes.length}`);
  }
  let id = '';
  for (const byte of bytes.subarray(0, ID_LENGTH)) {
    id += ID_ALPHABET.charAt(byte & 31);
  }
  return id;
}

export function workerId(job: JobId, index: number): WorkerId {
  return `${job}-${index}` as WorkerId;
}

/** The job and index of a worker name of ours, or null for anybody else's. */
export function parseWorkerId(
  name: string
): { job: JobId; index: number } | null {
  const match = /^([0-9a-hjkmnp-tv-z]{16})-(0|[1-9]\d{0,5})$/.exec(name);
  if (match === null) {
    return null;
  }
  return { job: match[1] as JobId, index: Number(match[2]) };
}

/** The mark our things carry in a resource manager: `muster-<cluster>-<job>`. */
export function tokenOf(cluster: ClusterId, job: JobId): string {
  return `muster-${cluster}-${job}`;
}

export function parseToken(
  token: string
): { cluster: ClusterId; job: JobId } | null {
  const match = /^muster-([0-9a-z]{16})-([0-9a-z]{16})$/.exec(token);
  if (match === null || !isId(match[1] ?? '') || !isId(match[2] ?? '')) {
    return null;
  }
  return { cluster: match[1] as ClusterId, job: match[2] as JobId };
}
