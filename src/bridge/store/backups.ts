/**
 * Copies of the database: made by `VACUUM INTO`, never by copying the file; and the ways of setting
 * a damaged database aside. A database and its journal are one thing: neither is moved alone (R9).
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  createPrivateFile,
  ensurePrivateFolder,
  syncFolder,
  writePrivateFile
} from '../security/private-files.js';

/** `migration`: taken before a schema change; `regular`: taken from time to time. */
export type BackupKind = 'migration' | 'regular';

export type Backup = {
  path: string;
  kind: BackupKind;
  epoch: number;
  /** UTC, compact: `20260801T101500000Z`. */
  stamp: string;
};

/** Of each kind this many are kept. */
export const BACKUPS_KEPT = 2;

const NAME = /^muster-(\d{10})-(\d{8}T\d{9}Z)-(migration|regular)\.db$/;
/** Companions of a database file that belong to its contents. */
const COMPANIONS = ['-journal', '-wal', '-shm'];

/** Newest first. The epoch orders before the clock, which may have been set back. */
export function listBackups(folder: string): Backup[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return [];
    }
    throw error;
  }
  return names
    .flatMap(name => {
      const match = NAME.exec(name);
      return match === null
        ? []
        : [
            {
              path: join(folder, name),
              epoch: Number(match[1]),
              stamp: match[2] ?? '',
              kind: match[3] as BackupKind
            }
          ];
    })
    .sort((a, b) => b.epoch - a.epoch || (a.stamp < b.stamp ? 1 : -1));
}

/**
 * Writes a whole and durable copy of an open database and drops the oldest of its kind. Works while
 * the exclusive lock is held; must not run inside a transaction.
 */
export function takeBackup(
  database: DatabaseSync,
  options: { folder: string; kind: BackupKind; epoch: number; now: Date }
): string {
  const { folder, kind, epoch, now } = options;
  ensurePrivateFolder(folder);
  const name = `muster-${String(epoch).padStart(10, '0')}-${compact(now)}-${kind}.db`;
  const path = join(folder, name);
  const temporary = `${path}.part-${randomBytes(6).toString('hex')}`;
  // VACUUM INTO fills an empty file and leaves its mode: 0600 from the first byte on.
  createPrivateFile(temporary, '');
  try {
    database.prepare('VACUUM INTO ?').run(temporary);
    syncFile(temporary);
    renameSync(temporary, path);
  } catch (error) {
    removeIfThere(temporary);
    throw error;
  }
  syncFolder(folder);
  const ofKind = listBackups(folder).filter(backup => backup.kind === kind);
  for (const old of ofKind.slice(BACKUPS_KEPT)) {
    removeIfThere(old.path);
  }
  removeLeftovers(folder, name);
  return path;
}

/** Renames the database, then its journal, out of the way; the pair keeps belonging together. */
export function setAside(file: string, now: Date): string {
  const aside = `${file}.damaged-${compact(now)}-${randomBytes(3).toString('hex')}`;
  // The database first: a damaged one without its journal might pass for a whole one.
  for (const companion of ['', ...COMPANIONS]) {
    try {
      renameSync(`${file}${companion}`, `${aside}${companion}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        throw error;
      }
    }
  }
  syncFolder(dirname(file));
  return aside;
}

/**
 * Why the database is being replaced, written down before it is: a bridge killed between the
 * replacement and its first transaction must not leave it unsaid.
 */
export function noteReplacement(file: string, note: string): void {
  writePrivateFile(replacementNote(file), note);
}

/** The note of a replacement whose first transaction has not been committed; null: none. */
export function readReplacement(file: string): string | null {
  try {
    return readFileSync(replacementNote(file), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return null;
    }
    throw error;
  }
}

/** The note is in the database now. */
export function forgetReplacement(file: string): void {
  removeIfThere(replacementNote(file));
}

function replacementNote(file: string): string {
  return `${file}-replaced`;
}

/** Was a database once set aside here? */
export function wasSetAside(file: string): boolean {
  const prefix = `${basename(file)}.damaged-`;
  return readdirSync(dirname(file)).some(name => name.startsWith(prefix));
}

/**
 * Puts the newest whole backup of a schema we know in the place of a missing database.
 * @param before called with the backup, or null where there is none that can be read, before
 *   anything is put there.
 */
export function placeNewestBackup(options: {
  file: string;
  folder: string;
  schema: number;
  before: (backup: Backup | null) => void;
}): void {
  const { file, folder, schema } = options;
  for (const backup of listBackups(folder)) {
    const candidate = `${file}.restoring`;
    removeIfThere(candidate);
    removeIfThere(`${candidate}-journal`);
    copyFileSync(backup.path, candidate, constants.COPYFILE_EXCL);
    syncFile(candidate);
    if (isWhole(candidate, schema)) {
      options.before(backup);
      renameSync(candidate, file);
      syncFolder(dirname(file));
      return;
    }
    removeIfThere(candidate);
  }
  options.before(null);
  createPrivateFile(file, '');
}

export function hasCompanion(file: string): boolean {
  return COMPANIONS.some(companion => existsSync(`${file}${companion}`));
}

function isWhole(path: string, schema: number): boolean {
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const version = database.prepare('PRAGMA user_version').get();
    const check = database.prepare('PRAGMA quick_check(1)').get();
    return (
      Number(version?.['user_version']) >= 1 &&
      Number(version?.['user_version']) <= schema &&
      check?.['quick_check'] === 'ok'
    );
  } catch {
    // Not readable is not whole; the caller tries the next one.
    return false;
  } finally {
    database?.close();
  }
}

function syncFile(path: string): void {
  const descriptor = openSync(path, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Parts of copies that a crash cut short. */
function removeLeftovers(folder: string, except: string): void {
  for (const name of readdirSync(folder)) {
    if (/\.db\.part-[0-9a-f]+(-journal)?$/.test(name) && name !== except) {
      removeIfThere(join(folder, name));
    }
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw error;
    }
  }
}

function compact(time: Date): string {
  return time.toISOString().replace(/[-:.]/g, '');
}
