/**
 * The store on the thread that owns the database: everything synchronous, all SQL (with
 * operation-writer and schema). One engine is the only opener of its file.
 */
import { randomBytes } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { ClusterEvent, ClusterId } from '../../protocol/index.js';
import { MusterError } from '../../protocol/index.js';
import { type BackupKind, forgetReplacement, takeBackup } from './backups.js';
import { openDatabase } from './database-opening.js';
import { OperationWriter } from './operation-writer.js';
import type { ClusterRecord, JobRecord } from './records.js';
import { META, MIGRATIONS } from './schema.js';
import type { StoreOperation, StoreSnapshot } from './store.js';
import {
  isOfTheDisk,
  OwnershipLostError,
  StoreNewerError,
  toStoreError
} from './store-failure.js';

export type StoreEngineOptions = {
  /** Absolute; its folder exists and is private. */
  file: string;
  backupsFolder: string;
  /** Of the running Muster; a later schema names it. */
  version: string;
  /** The epoch is at least this: the lease's. */
  minimumEpoch?: number;
  lockTimeoutMs?: number;
  /** Only for tests of the migration itself. */
  migrations?: readonly string[];
};

/** One operation set's end: null is committed. */
export type CommitResult = MusterError | null;

/** A restore that nobody acknowledged is forgotten after this time. */
const RESTORE_NOTE_MS = 24 * 3_600_000;

export class StoreEngine {
  /**
   * Takes the lock, checks, migrates and writes the new epoch.
   * @throws StoreLockedError, StoreNewerError, or a MusterError a user can act on.
   */
  static open(options: StoreEngineOptions): StoreEngine {
    const migrations = options.migrations ?? MIGRATIONS;
    try {
      const { database, restored } = openDatabase({
        file: options.file,
        backupsFolder: options.backupsFolder,
        schema: migrations.length,
        lockTimeoutMs: options.lockTimeoutMs ?? 500,
        now: new Date()
      });
      try {
        migrate(database, options, migrations);
        return new StoreEngine(database, options, restored);
      } catch (error) {
        database.close();
        throw error;
      }
    } catch (error) {
      throw toStoreError(error, options.file);
    }
  }

  private constructor(
    database: DatabaseSync,
    options: StoreEngineOptions,
    restored: string | null
  ) {
    this.#database = database;
    this.#options = options;
    this.epoch = Math.max(readEpoch(database) + 1, options.minimumEpoch ?? 1);
    this.#restored = this.#begin(restored);
    forgetReplacement(options.file);
    this.#writer = new OperationWriter(database);
  }

  readonly epoch: number;
  readonly #database: DatabaseSync;
  readonly #options: StoreEngineOptions;
  readonly #writer: OperationWriter;
  #restored: string | null;

  /**
   * Commits several operation sets in one transaction; each is all or nothing, and a set that
   * fails leaves its neighbours alone. A set whose result is null is on the disk.
   * @throws OwnershipLostError where the epoch in the file is not ours: nothing was written.
   */
  commit(sets: readonly (readonly StoreOperation[])[]): CommitResult[] {
    try {
      return this.#commitTogether(sets);
    } catch (error) {
      if (error instanceof OwnershipLostError) {
        throw error;
      }
      if (sets.length === 1) {
        return [toStoreError(error, this.#options.file)];
      }
      // The transaction as a whole failed (disk full, I/O): each set once more by itself.
      return sets.map(set => this.commit([set])[0] ?? null);
    }
  }

  load(): StoreSnapshot {
    return this.#guard(() => {
      const records = <T>(sql: string): T[] =>
        this.#database
          .prepare(sql)
          .all()
          .map(row => JSON.parse(text(row['record'])) as T);
      return {
        stream: this.#meta(META.stream) ?? '',
        epoch: this.epoch,
        seq: Math.max(
          Number(this.#meta(META.seq) ?? 0),
          Number(
            this.#database
              .prepare('SELECT coalesce(max(seq), 0) AS seq FROM events')
              .get()?.['seq']
          )
        ),
        // In the order they were first recorded.
        clusters: records<ClusterRecord>(
          'SELECT record FROM clusters ORDER BY rowid'
        ),
        jobs: records<JobRecord>('SELECT record FROM jobs ORDER BY rowid'),
        idempotency: this.#database
          .prepare(
            'SELECT key, body_hash, cluster, created_at FROM idempotency ORDER BY created_at, key'
          )
          .all()
          .map(row => ({
            key: text(row['key']),
            bodyHash: text(row['body_hash']),
            cluster: text(row['cluster']) as ClusterId,
            createdAt: text(row['created_at'])
          })),
        restored: this.#restored
      };
    });
  }

  events(query: {
    cluster: ClusterId | null;
    after: number;
    limit: number;
  }): ClusterEvent[] {
    return this.#guard(() => {
      const rows =
        query.cluster === null
          ? this.#database
              .prepare(
                'SELECT record FROM events WHERE seq > ? ORDER BY seq LIMIT ?'
              )
              .all(query.after, query.limit)
          : this.#database
              .prepare(
                'SELECT record FROM events WHERE cluster = ? AND seq > ? ORDER BY seq LIMIT ?'
              )
              .all(query.cluster, query.after, query.limit);
      return rows.map(row => JSON.parse(text(row['record'])) as ClusterEvent);
    });
  }

  latestEvents(query: { cluster: ClusterId; limit: number }): ClusterEvent[] {
    return this.#guard(() =>
      this.#database
        .prepare(
          'SELECT record FROM events WHERE cluster = ? ORDER BY seq DESC LIMIT ?'
        )
        .all(query.cluster, query.limit)
        .map(row => JSON.parse(text(row['record'])) as ClusterEvent)
        .reverse()
    );
  }

  /** A whole copy in the backups folder. @returns its path. */
  backup(kind: BackupKind = 'regular'): string {
    return this.#guard(() => {
      this.#verifyEpoch();
      return takeBackup(this.#database, {
        folder: this.#options.backupsFolder,
        kind,
        epoch: this.epoch,
        now: new Date()
      });
    });
  }

  close(): void {
    if (this.#database.isOpen) {
      this.#database.close();
    }
  }

  #commitTogether(
    sets: readonly (readonly StoreOperation[])[]
  ): CommitResult[] {
    const database = this.#database;
    if (database.isTransaction) {
      // Left by a commit that failed half way; SQLite keeps such a transaction open.
      database.exec('ROLLBACK');
    }
    this.#verifyEpoch();
    database.exec('BEGIN IMMEDIATE');
    try {
      const results = sets.map(set => this.#applySet(set));
      database.exec('COMMIT');
      return results;
    } catch (error) {
      if (database.isTransaction) {
        database.exec('ROLLBACK');
      }
      throw error;
    }
  }

  /** @throws errors of the disk; those of the operations themselves are the result. */
  #applySet(set: readonly StoreOperation[]): CommitResult {
    const database = this.#database;
    database.exec('SAVEPOINT one');
    try {
      for (const operation of set) {
        this.#writer.apply(operation);
      }
      database.exec('RELEASE one');
      return null;
    } catch (error) {
      // Also where SQLite rolled the whole transaction back by itself.
      if (isOfTheDisk(error) || !database.isTransaction) {
        throw error;
      }
      database.exec('ROLLBACK TO one; RELEASE one');
      return toStoreError(error, this.#options.file);
    }
  }

  /**
   * Reads the epoch from the file, not from SQLite's page cache: under an exclusive lock SQLite
   * trusts its cache for ever, and a lock that was lost would never be noticed.
   */
  #verifyEpoch(): void {
    this.#database.exec('PRAGMA shrink_memory');
    const found = readEpoch(this.#database);
    if (found !== this.epoch) {
      throw new OwnershipLostError(
        `${this.#options.file} is in epoch ${found}, this bridge's is ${this.epoch}`,
        { found, ours: this.epoch }
      );
    }
  }

  /** The first transaction: epoch, stream, version. @returns the restore note in force. */
  #begin(restored: string | null): string | null {
    const database = this.#database;
    const set = database.prepare(
      `INSERT INTO meta (key, value) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value`
    );
    database.exec('BEGIN IMMEDIATE');
    try {
      database.prepare('UPDATE epoch SET value = ?').run(this.epoch);
      set.run(META.writtenBy, this.#options.version);
      if (restored !== null || this.#meta(META.stream) === null) {
        set.run(META.stream, randomBytes(16).toString('hex'));
      }
      if (restored !== null) {
        set.run(
          META.restored,
          JSON.stringify({ note: restored, at: Date.now() })
        );
      }
      database.exec('COMMIT');
    } catch (error) {
      if (database.isTransaction) {
        database.exec('ROLLBACK');
      }
      throw error;
    }
    const kept = this.#meta(META.restored);
    if (kept === null) {
      return null;
    }
    const { note, at } = JSON.parse(kept) as { note: string; at: number };
    if (Date.now() - at > RESTORE_NOTE_MS) {
      database.prepare('DELETE FROM meta WHERE key = ?').run(META.restored);
      return null;
    }
    return note;
  }

  #meta(key: string): string | null {
    const row = this.#database
      .prepare('SELECT value FROM meta WHERE key = ?')
      .get(key);
    return row === undefined ? null : text(row['value']);
  }

  #guard<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      throw toStoreError(error, this.#options.file);
    }
  }
}

/** Brings the schema up to ours, forward only, in one transaction, after a backup. */
function migrate(
  database: DatabaseSync,
  options: StoreEngineOptions,
  migrations: readonly string[]
): void {
  const version = Number(
    database.prepare('PRAGMA user_version').get()?.['user_version']
  );
  if (version > migrations.length) {
    throw new StoreNewerError({
      file: options.file,
      schema: version,
      ours: migrations.length,
      writtenBy: writerOf(database)
    });
  }
  if (version === migrations.length) {
    return;
  }
  const tables = Number(
    database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n']
  );
  if (version === 0 && tables > 0) {
    throw new MusterError({
      code: 'bridge-unavailable',
      message: `${options.file} is a database of another program`,
      hint: 'move it away, or set MUSTER_STATE_DIR to another folder',
      details: { file: options.file }
    });
  }
  if (version > 0) {
    takeBackup(database, {
      folder: options.backupsFolder,
      kind: 'migration',
      epoch: readEpoch(database),
      now: new Date()
    });
  }
  // A step may rebuild a table others refer to; the references are checked before the commit.
  database.exec('PRAGMA foreign_keys = OFF');
  try {
    database.exec('BEGIN IMMEDIATE');
    try {
      for (const step of migrations.slice(version)) {
        database.exec(step);
      }
      const broken = database.prepare('PRAGMA foreign_key_check').all();
      if (broken.length > 0) {
        throw new Error(
          `the new schema would leave ${broken.length} rows without what they refer to`
        );
      }
      database.exec(`PRAGMA user_version = ${migrations.length}`);
      database.exec('COMMIT');
    } catch (error) {
      if (database.isTransaction) {
        database.exec('ROLLBACK');
      }
      throw error;
    }
  } finally {
    database.exec('PRAGMA foreign_keys = ON');
  }
}

function readEpoch(database: DatabaseSync): number {
  return Number(
    database.prepare('SELECT value FROM epoch WHERE id = 1').get()?.['value']
  );
}

function writerOf(database: DatabaseSync): string {
  try {
    const row = database
      .prepare('SELECT value FROM meta WHERE key = ?')
      .get(META.writtenBy);
    return row === undefined ? 'of a later version' : text(row['value']);
  } catch {
    // A later schema may keep it elsewhere.
    return 'of a later version';
  }
}

function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') {
    throw new TypeError(`expected text in the database, found ${typeof value}`);
  }
  return value;
}
