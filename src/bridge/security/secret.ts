/**
 * The bridge's secret and the record by which its clients find it (`bridge.json` in the runtime
 * folder, 0600; specs/jupyterlab-extension.md §9). A new secret at every start; never logged.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { MusterError } from '../../protocol/index.js';
import { verifyPrivateFile, writePrivateFile } from './private-files.js';

export const BRIDGE_RECORD_NAME = 'bridge.json';

export const bridgeRecordSchema = z.object({
  pid: z.int().positive(),
  /** As `processStartTime` says it. */
  startTime: z.string(),
  host: z.string(),
  bootId: z.string(),
  epoch: z.int().nonnegative(),
  protocol: z.int(),
  /** 64 hexadecimal characters: `Authorization: Bearer <secret>`. */
  secret: z.string().regex(/^[0-9a-f]{64}$/),
  /** Of the Muster that wrote it. */
  version: z.string().optional()
});

export type BridgeRecord = z.infer<typeof bridgeRecordSchema>;

/** 32 random bytes as hexadecimal. */
export function newSecret(): string {
  return randomBytes(32).toString('hex');
}

/** Compares in a time that tells nothing of either text, also not their lengths. */
export function secretsEqual(given: string, expected: string): boolean {
  const digest = (text: string): Buffer =>
    createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(given), digest(expected));
}

export function writeBridgeRecord(
  runtimeFolder: string,
  record: BridgeRecord
): void {
  writePrivateFile(
    join(runtimeFolder, BRIDGE_RECORD_NAME),
    `${JSON.stringify(record)}\n`
  );
}

/**
 * null: there is none.
 * @throws MusterError `forbidden` where others could have read or written it, `internal` where it
 * is not a record.
 */
export function readBridgeRecord(runtimeFolder: string): BridgeRecord | null {
  const path = join(runtimeFolder, BRIDGE_RECORD_NAME);
  let text: string;
  try {
    verifyPrivateFile(path);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return null;
    }
    throw error;
  }
  // A parse error's message may quote the text, and with it the secret: it is not passed on.
  const parsed = bridgeRecordSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new MusterError({
      code: 'internal',
      message: `${path} is not a bridge's record`,
      hint: `remove ${path}; the next start writes it anew`
    });
  }
  return parsed.data;
}

/**
 * Removes the record if it is still the one with this secret; another bridge's stays.
 * @returns whether it was removed.
 */
export function removeBridgeRecord(
  runtimeFolder: string,
  secret: string
): boolean {
  let record: BridgeRecord | null;
  try {
    record = readBridgeRecord(runtimeFolder);
  } catch {
    // Not readable as ours, so not ours to remove.
    return false;
  }
  if (record === null || !secretsEqual(record.secret, secret)) {
    return false;
  }
  try {
    unlinkSync(join(runtimeFolder, BRIDGE_RECORD_NAME));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false;
    }
    throw error;
  }
  return true;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
