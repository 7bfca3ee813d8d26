/** What can go wrong with the store, by name, and its way out of the store's thread. */
import { MusterError } from '../../protocol/index.js';

/** Exit status of a bridge that found out it is not the owner any more (R8). */
export const FENCED_EXIT_CODE = 75;

/** Another process holds the database. Not a fault: the other one is the bridge. */
export class StoreLockedError extends MusterError {
  constructor(file: string, cause?: unknown) {
    super({
      code: 'conflict',
      message: `another Muster bridge holds ${file}`,
      hint: 'use that bridge; if its host is gone, the file server keeps its lock until its own lease time is over (often 90 s), then try again',
      details: { file },
      cause
    });
    this.name = 'StoreLockedError';
  }
}

/** The database was written by a later Muster than this one. */
export class StoreNewerError extends MusterError {
  constructor(options: {
    file: string;
    schema: number;
    ours: number;
    writtenBy: string;
  }) {
    super({
      code: 'bridge-unavailable',
      message: `${options.file} was written by Muster ${options.writtenBy} (schema ${options.schema}); this one knows schemas up to ${options.ours}`,
      hint: `upgrade to Muster ${options.writtenBy} or later`,
      details: { ...options }
    });
    this.name = 'StoreNewerError';
  }
}

/** This bridge does not own the state any more: exit with FENCED_EXIT_CODE, write nothing. */
export class OwnershipLostError extends MusterError {
  constructor(message: string, details: Record<string, unknown> = {}) {
    super({
      code: 'conflict',
      message,
      hint: 'another bridge took over; this one ends',
      details
    });
    this.name = 'OwnershipLostError';
  }
}

/** SQLite's primary result codes (sqlite.org/rescode.html) that are the disk's fault. */
const DISK: ReadonlyMap<number, { name: string; sentence: string }> = new Map([
  [
    7,
    {
      name: 'SQLITE_NOMEM',
      sentence: 'there is not enough memory for the state store'
    }
  ],
  [
    8,
    {
      name: 'SQLITE_READONLY',
      sentence: 'the state folder is on a read-only file system'
    }
  ],
  [
    10,
    {
      name: 'SQLITE_IOERR',
      sentence: 'the file system of the state folder reports an error'
    }
  ],
  [11, { name: 'SQLITE_CORRUPT', sentence: 'the state database is damaged' }],
  [
    13,
    {
      name: 'SQLITE_FULL',
      sentence: 'the disk (or your quota) of the state folder is full'
    }
  ],
  [
    14,
    {
      name: 'SQLITE_CANTOPEN',
      sentence: 'the state database cannot be opened'
    }
  ],
  [26, { name: 'SQLITE_NOTADB', sentence: 'the state database is damaged' }]
]);

/** The system's own errors that mean the same when our own file calls meet them. */
const SYSTEM: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'the disk of the state folder is full'],
  ['EDQUOT', 'your quota on the disk of the state folder is used up'],
  ['EROFS', 'the state folder is on a read-only file system'],
  ['EIO', 'the file system of the state folder reports an error'],
  ['ESTALE', 'the file server of the state folder has lost it'],
  ['EACCES', 'the state folder cannot be written'],
  ['EPERM', 'the state folder cannot be written'],
  ['ENOENT', 'the state folder is gone']
]);

/** The primary result code of a node:sqlite error, or null for any other error. */
export function sqliteCode(error: unknown): number | null {
  // By shape: an error made by Node itself may be of another realm than our `Error`.
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 5 || code === 6;
}

export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 11 || code === 26;
}

/** The disk's or the lock's doing, not the operation's: neighbours may fail with it. */
export function isOfTheDisk(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== null && (DISK.has(code) || isBusy(error));
}

/** Any error of the store as one a user can act on. */
export function toStoreError(error: unknown, file: string): MusterError {
  if (error instanceof MusterError) {
    return error;
  }
  const message = String(
    (error as { message?: unknown } | null)?.message ?? error
  );
  const code = sqliteCode(error);
  const systemCode = (error as NodeJS.ErrnoException | null)?.code;
  const disk = code === null ? undefined : DISK.get(code);
  const sentence =
    disk?.sentence ??
    (systemCode === undefined ? undefined : SYSTEM.get(systemCode));
  if (sentence !== undefined) {
    return new MusterError({
      code: 'backend-unavailable',
      message: `${sentence}: nothing new can be recorded (${message})`,
      hint: `make room or repair the file system of ${file}; what runs goes on, and Muster tries again at the next request`,
      details: {
        file,
        sqlite: disk?.name ?? null,
        system: systemCode ?? null
      },
      cause: error
    });
  }
  return new MusterError({
    code: 'internal',
    message: `the state store refused: ${message}`,
    details: { file, sqliteCode: code },
    cause: error
  });
}

/** A MusterError as plain data, for a message between threads. */
export type StoreFailure = {
  kind: 'locked' | 'newer' | 'lost' | 'other';
  code: MusterError['code'];
  message: string;
  hint: string | null;
  details: Record<string, unknown> | null;
};

export function packFailure(error: unknown, file: string): StoreFailure {
  const made = toStoreError(error, file);
  return {
    kind:
      made instanceof StoreLockedError
        ? 'locked'
        : made instanceof StoreNewerError
          ? 'newer'
          : made instanceof OwnershipLostError
            ? 'lost'
            : 'other',
    code: made.code,
    message: made.message,
    hint: made.hint ?? null,
    details: made.details ?? null
  };
}

export function unpackFailure(failure: StoreFailure): MusterError {
  const details = failure.details ?? {};
  const text = (key: string): string =>
    typeof details[key] === 'string' ? details[key] : '';
  switch (failure.kind) {
    case 'locked':
      return new StoreLockedError(text('file'));
    case 'newer':
      return new StoreNewerError({
        file: text('file'),
        schema: Number(details['schema']),
        ours: Number(details['ours']),
        writtenBy: text('writtenBy')
      });
    case 'lost':
      return new OwnershipLostError(failure.message, details);
    case 'other':
      return new MusterError({
        code: failure.code,
        message: failure.message,
        ...(failure.hint === null ? {} : { hint: failure.hint }),
        ...(failure.details === null ? {} : { details: failure.details })
      });
    default: {
      const never: never = failure.kind;
      throw new Error(`unknown failure ${String(never)}`);
    }
  }
}
