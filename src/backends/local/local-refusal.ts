/** Translates what can go wrong while starting into the contract's answers. */
import { constants } from 'node:os';
import { PoolRequestError } from '../pool/pool-client.js';
import { PoolStartError } from '../pool/pool-starter.js';
import { UnsafeFolderError } from '../pool/private-folder.js';
import type { RequestResult } from '../resource-manager.js';

const RETRY_MS = 5000;
const { EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC, EDQUOT, EIO, EROFS, EACCES } =
  constants.errno;
const TRANSIENT = new Set([
  EAGAIN,
  ENOMEM,
  EMFILE,
  ENFILE,
  ENOSPC,
  EDQUOT,
  EIO,
  EROFS
]);

/** Nothing was started when this is asked. */
export function refusalOf(
  error: unknown
): Exclude<RequestResult, { type: 'accepted' | 'uncertain' }> {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UnsafeFolderError) {
    return { type: 'rejected', reasonClass: 'permission', message };
  }
  if (error instanceof PoolStartError) {
    return error.code === 'python' || error.code === 'failed'
      ? {
          type: 'rejected',
          reasonClass: 'environment',
          message,
          hint: 'Choose another Python environment, or repair this one.'
        }
      : { type: 'unavailable', message, retryAfterMs: RETRY_MS };
  }
  if (error instanceof PoolRequestError) {
    return error.code === 'bad-request'
      ? { type: 'rejected', reasonClass: 'other', message }
      : { type: 'unavailable', message, retryAfterMs: RETRY_MS };
  }
  const number = Math.abs((error as NodeJS.ErrnoException).errno ?? 0);
  if (TRANSIENT.has(number) || number === 0) {
    return { type: 'unavailable', message, retryAfterMs: RETRY_MS };
  }
  return {
    type: 'rejected',
    reasonClass: number === EACCES ? 'permission' : 'environment',
    message
  };
}
