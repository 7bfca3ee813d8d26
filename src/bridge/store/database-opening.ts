/**
 * Opening the database: the lock before anything else, then whole or replaced, then the pragmas,
 * set and read back (specs/reliability-and-security.md R9).
 */
import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { MusterError } from '../../protocol/index.js';
import { fileSystemType } from '../host/file-system.js';
import {
  createPrivateFile,
  verifyPrivateFile
} from '../security/private-files.js';
import {
  type Backup,
  hasCompanion,
  listBackups,
  noteReplacement,
  placeNewestBackup,
  readReplacement,
  setAside,
  wasSetAside
} from './backups.js';
import { isBusy, isDamage, StoreLockedError } from './store-failure.js';

export type OpenedDatabase = {
  database: DatabaseSync;
  /** Why it is not the one that was closed; null: it is, or there never was one. */
  restored: string | null;
};

export type OpeningOptions = {
  file: string;
  backupsFolder: string;
  /** The newest schema we know. */
  schema: number;
  /** How long to wait for a lock, e.g. for a self-check of a bridge that just ended. */
  lockTimeoutMs: number;
  now: Date;
};

/** Pragma → how it reads when it is set. */
const PRAGMAS = [
  ['locking_mode', 'EXCLUSIVE', 'exclusive'],
  ['journal_mode', 'DELETE', 'delete'],
  ['synchronous', 'FULL', 2],
  ['foreign_keys', 'ON', 1],
  ['trusted_schema', 'OFF', 0]
] as const;

/**
 * @throws StoreLockedError where another process holds it; MusterError `bridge-unavailable` where
 * it cannot be held safely.
 */
export function openDatabase(options: OpeningOptions): OpenedDatabase {
  const { file, lockTimeoutMs } = options;
  // Two bridges that find the same damaged file must not both replace it: whoever replaces holds
  // this second lock, from before the first look until the database's own lock is held.
  const gate = lockGate(`${file}-opening`, lockTimeoutMs, file);
  try {
    return openBehindGate(options);
  } finally {
    gate.close();
  }
}

function openBehindGate(options: OpeningOptions): OpenedDatabase {
  const { file, now } = options;
  const size = sizeOf(file);
  if (size === null || size === 0) {
    const lost = size === null ? 'was gone' : 'was empty';
    if (hasBackupOrAside(options)) {
      // An empty file of a bridge that is just now making it is held by its lock.
      if (size !== null) {
        lock(file, options.lockTimeoutMs).close();
      }
      return replace(options, `the state database ${lost}`);
    }
    if (size === null && hasCompanion(file)) {
      // A journal without its database must never be played into another one.
      setAside(file, now);
      return replace(
        options,
        'the state database was gone, only its journal was left'
      );
    }
    if (size === null) {
      createPrivateFile(file, '');
    }
  }
  verifyPrivateFile(file);
  try {
    return {
      database: lockAndCheck(options),
      // A replacement that was killed before its first transaction.
      restored: readReplacement(file)
    };
  } catch (error) {
    if (!isDamage(error)) {
      throw error;
    }
    return replace(
      options,
      `the state database was damaged (${(error as Error).message})`
    );
  }
}

/** Sets the file aside and loads the newest backup, or begins anew; says so. */
function replace(options: OpeningOptions, why: string): OpenedDatabase {
  const { file, backupsFolder, schema, now } = options;
  const aside =
    sizeOf(file) !== null || hasCompanion(file) ? setAside(file, now) : null;
  let restored = why;
  placeNewestBackup({
    file,
    folder: backupsFolder,
    schema,
    before: backup => {
      restored = [
        why,
        aside === null ? null : `it was set aside as ${aside}`,
        backup === null
          ? 'no usable backup was found, so the records begin anew'
          : `the backup of ${readable(backup)} was loaded`
      ]
        .filter(part => part !== null)
        .join('; ');
      noteReplacement(file, restored);
    }
  });
  return { database: lockAndCheck(options), restored };
}

/** @returns the database, locked, whole, with all pragmas as they must be. */
function lockAndCheck(options: OpeningOptions): DatabaseSync {
  const { file, lockTimeoutMs } = options;
  const database = lock(file, lockTimeoutMs);
  try {
    refuseSharedWal(database, file);
    for (const [name, value] of PRAGMAS) {
      database.exec(`PRAGMA ${name} = ${value}`);
    }
    // Leaving WAL, or a new file, may have taken the lock anew: hold it before going on.
    database.exec('BEGIN EXCLUSIVE; COMMIT');
    verifyPragmas(database, file);
    const problems = database.prepare('PRAGMA quick_check(5)').all();
    if (problems.length !== 1 || problems[0]?.['quick_check'] !== 'ok') {
      throw Object.assign(
        new Error(
          `quick_check: ${problems.map(row => String(row['quick_check'])).join(', ')}`
        ),
        { errcode: 11 }
      );
    }
    return database;
  } catch (error) {
    database.close();
    throw isBusy(error) ? new StoreLockedError(file, error) : error;
  }
}

/** The exclusive lock is only taken by the first access, hence a transaction at once. */
function lock(file: string, timeoutMs: number): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: timeoutMs });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    // Also rolls a hot journal back.
    database.exec('BEGIN EXCLUSIVE; COMMIT');
    return database;
  } catch (error) {
    database.close();
    throw isBusy(error) ? new StoreLockedError(file, error) : error;
  }
}

function lockGate(path: string, timeoutMs: number, file: string): DatabaseSync {
  try {
    createPrivateFile(path, '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw error;
    }
    verifyPrivateFile(path);
  }
  const gate = new DatabaseSync(path, { timeout: timeoutMs });
  try {
    gate.exec('BEGIN EXCLUSIVE');
    return gate;
  } catch (error) {
    gate.close();
    throw isBusy(error) ? new StoreLockedError(file, error) : error;
  }
}

/** A file in WAL mode may be open on another host whose shared memory we cannot see. */
function refuseSharedWal(database: DatabaseSync, file: string): void {
  const mode = database.prepare('PRAGMA journal_mode').get()?.['journal_mode'];
  if (mode !== 'wal') {
    return;
  }
  const type = fileSystemType(dirname(file));
  if (type.kind !== 'local') {
    throw new MusterError({
      code: 'bridge-unavailable',
      message: `${file} is in WAL mode on a shared file system (${type.name}); another host may have it open`,
      hint: `make sure no other program uses it, then: sqlite3 '${file}' 'PRAGMA journal_mode=DELETE'`,
      details: { file, fileSystem: type.name }
    });
  }
}

function verifyPragmas(database: DatabaseSync, file: string): void {
  for (const [name, , expected] of PRAGMAS) {
    const row = database.prepare(`PRAGMA ${name}`).get();
    const actual = row?.[name];
    if (actual !== expected) {
      throw new MusterError({
        code: 'bridge-unavailable',
        message: `${file}: PRAGMA ${name} is ${String(actual)} where it must be ${String(expected)}; records would not be safe`,
        hint: 'this Node brings an SQLite that Muster does not know; use the Node that comes with Muster',
        details: { file, pragma: name, actual: String(actual) }
      });
    }
  }
}

function hasBackupOrAside(options: OpeningOptions): boolean {
  return (
    wasSetAside(options.file) ||
    // Any backup, also one that turns out unreadable: then it says so.
    listBackups(options.backupsFolder).length > 0
  );
}

/** null: there is no such file. Never opens it. */
function sizeOf(file: string): number | null {
  return lstatSync(file, { throwIfNoEntry: false })?.size ?? null;
}

function readable(backup: Backup): string {
  const s = backup.stamp;
  return `${s.slice(0, 4)}-${s.slice(4, 6)}-${s.slice(6, 8)} ${s.slice(9, 11)}:${s.slice(11, 13)} UTC (epoch ${backup.epoch})`;
}
