import { describe, expect, test, beforeEach, afterEach } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import type { ClusterId, JobId } from '../../protocol/index.js';
import {
  sampleCluster,
  sampleEvent,
  sampleId,
  sampleJob
} from './fixtures/sample-records.js';
import { MIGRATIONS } from './schema.js';
import type { StoreOperation } from './store.js';
import { StoreEngine, type StoreEngineOptions } from './store-engine.js';
import {
  OwnershipLostError,
  StoreLockedError,
  StoreNewerError
} from './store-failure.js';

let folder: string;
let file: string;
let backupsFolder: string;
const opened: StoreEngine[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-store-'));
  file = join(folder, 'muster.db');
  backupsFolder = join(folder, 'backups');
});

afterEach(() => {
  for (const engine of opened.splice(0)) {
    engine.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

function open(options: Partial<StoreEngineOptions> = {}): StoreEngine {
  const engine = StoreEngine.open({
    file,
    backupsFolder,
    version: '1.2.3',
    lockTimeoutMs: 0,
    ...options
  });
  opened.push(engine);
  return engine;
}

function commit(engine: StoreEngine, ...operations: StoreOperation[]): void {
  expect(engine.commit([operations])).toEqual([null]);
}

/** Runs SQL on the database from another process; its output, or the error's text. */
function elsewhere(sql: string, path = file): string {
  return execFileSync(
    process.execPath,
    [
      '-e',
      `const {DatabaseSync}=require('node:sqlite');
       try { const d=new DatabaseSync(process.argv[1]); console.log(JSON.stringify(d.prepare(process.argv[2]).all())); }
       catch (error) { console.log('error ' + error.errcode); }`,
      path,
      sql
    ],
    { encoding: 'utf8' }
  ).trim();
}

function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('what was committed', () => {
  test('is there after the store was closed and opened again, in the order it was first recorded', () => {
    const first = open();
    commit(
      first,
      { type: 'put-cluster', cluster: sampleCluster(2) },
      { type: 'put-cluster', cluster: sampleCluster(1) },
      { type: 'put-job', job: sampleJob(11, 1) },
      { type: 'append-event', event: sampleEvent(5, 1) },
      {
        type: 'put-idempotency',
        key: 'k',
        bodyHash: 'h',
        cluster: sampleId(1) as ClusterId,
        createdAt: '2026-08-01T10:00:00.000Z'
      },
      { type: 'raise-seq', to: 40 }
    );
    commit(first, { type: 'put-cluster', cluster: sampleCluster(2, 7) });
    const before = first.load();
    first.close();
    const second = open();
    const after = second.load();
    expect(after).toEqual({ ...before, epoch: before.epoch + 1 });
    expect(after.clusters).toEqual([sampleCluster(2, 7), sampleCluster(1)]);
    expect(after.jobs).toEqual([sampleJob(11, 1)]);
    expect(after.seq).toBe(40);
    expect(after.restored).toBeNull();
    expect(second.events({ cluster: null, after: 0, limit: 10 })).toEqual([
      sampleEvent(5, 1)
    ]);
  });

  test('equals a map in memory after any sequence of operations and openings', () => {
    const id = fc.integer({ min: 1, max: 4 });
    const command = fc.oneof(
      fc.record({
        type: fc.constant('put-cluster' as const),
        n: id,
        revision: fc.nat(9)
      }),
      fc.record({ type: fc.constant('delete-cluster' as const), n: id }),
      fc.record({
        type: fc.constant('put-job' as const),
        n: id,
        cluster: id,
        attempt: fc.nat(9)
      }),
      fc.record({ type: fc.constant('delete-job' as const), n: id }),
      fc.record({ type: fc.constant('event' as const), cluster: id }),
      fc.record({ type: fc.constant('prune' as const), keep: fc.nat(3) }),
      fc.record({ type: fc.constant('seq' as const), to: fc.nat(60) }),
      fc.record({
        type: fc.constant('key' as const),
        key: id,
        cluster: id,
        hour: fc.nat(9)
      }),
      fc.record({ type: fc.constant('old-keys' as const), hour: fc.nat(9) }),
      fc.record({ type: fc.constant('reopen' as const) })
    );
    const time = (hour: number): string => `2026-08-01T0${hour}:00:00.000Z`;
    fc.assert(
      fc.property(fc.array(command, { maxLength: 30 }), commands => {
        rmSync(folder, { recursive: true, force: true });
        folder = mkdtempSync(join(tmpdir(), 'muster-store-'));
        file = join(folder, 'muster.db');
        let engine = open();
        const clusters = new Map<number, number>();
        const jobs = new Map<number, { cluster: number; attempt: number }>();
        const keys = new Map<number, { cluster: number; hour: number }>();
        let events: { seq: number; cluster: number }[] = [];
        let seq = 0;
        let raised = 0;
        for (const c of commands) {
          switch (c.type) {
            case 'put-cluster':
              commit(engine, {
                type: 'put-cluster',
                cluster: sampleCluster(c.n, c.revision)
              });
              clusters.set(c.n, c.revision);
              break;
            case 'delete-cluster':
              commit(engine, {
                type: 'delete-cluster',
                id: sampleId(c.n) as ClusterId
              });
              clusters.delete(c.n);
              for (const [n, job] of jobs) {
                if (job.cluster === c.n) jobs.delete(n);
              }
              for (const [n, key] of keys) {
                if (key.cluster === c.n) keys.delete(n);
              }
              events = events.filter(event => event.cluster !== c.n);
              break;
            case 'put-job': {
              const job = sampleJob(100 + c.n, c.cluster, c.attempt);
              const [result] = engine.commit([[{ type: 'put-job', job }]]);
              // A job of a cluster nobody knows is refused, and nothing changes.
              expect(result === null).toBe(clusters.has(c.cluster));
              if (result === null) {
                jobs.set(c.n, { cluster: c.cluster, attempt: c.attempt });
              }
              break;
            }
            case 'delete-job':
              commit(engine, {
                type: 'delete-job',
                id: sampleId(100 + c.n) as JobId
              });
              jobs.delete(c.n);
              break;
            case 'event':
              commit(engine, {
                type: 'append-event',
                event: sampleEvent(++seq, c.cluster)
              });
              events.push({ seq, cluster: c.cluster });
              break;
            case 'prune':
              commit(engine, { type: 'prune-events', keep: c.keep });
              events = events.filter(
                event =>
                  clusters.has(event.cluster) &&
                  events.filter(
                    other =>
                      other.cluster === event.cluster && other.seq > event.seq
                  ).length < c.keep
              );
              break;
            case 'seq':
              commit(engine, { type: 'raise-seq', to: c.to });
              raised = Math.max(raised, c.to);
              break;
            case 'key': {
              const [result] = engine.commit([
                [
                  {
                    type: 'put-idempotency',
                    key: `key ${c.key}`,
                    bodyHash: 'hash',
                    cluster: sampleId(c.cluster) as ClusterId,
                    createdAt: time(c.hour)
                  }
                ]
              ]);
              expect(result === null).toBe(clusters.has(c.cluster));
              if (result === null) {
                keys.set(c.key, { cluster: c.cluster, hour: c.hour });
              }
              break;
            }
            case 'old-keys':
              commit(engine, {
                type: 'delete-idempotency-before',
                time: time(c.hour)
              });
              for (const [n, key] of keys) {
                if (key.hour < c.hour) keys.delete(n);
              }
              break;
            case 'reopen':
              engine.close();
              engine = open();
              break;
          }
        }
        const loaded = engine.load();
        expect(
          new Map(
            loaded.clusters.map(cluster => [cluster.id, cluster.revision])
          )
        ).toEqual(
          new Map([...clusters].map(([n, revision]) => [sampleId(n), revision]))
        );
        expect(new Map(loaded.jobs.map(job => [job.id, job]))).toEqual(
          new Map(
            [...jobs].map(([n, job]) => [
              sampleId(100 + n),
              sampleJob(100 + n, job.cluster, job.attempt)
            ])
          )
        );
        expect(
          new Map(loaded.idempotency.map(key => [key.key, key.createdAt]))
        ).toEqual(
          new Map([...keys].map(([n, key]) => [`key ${n}`, time(key.hour)]))
        );
        expect(engine.events({ cluster: null, after: 0, limit: 1000 })).toEqual(
          events.map(event => sampleEvent(event.seq, event.cluster))
        );
        expect(loaded.seq).toBe(
          Math.max(raised, ...events.map(event => event.seq), 0)
        );
        engine.close();
      }),
      { numRuns: 60 }
    );
  });

  test('leaves its journal in place with a zeroed header', () => {
    const engine = open();
    commit(engine, { type: 'put-cluster', cluster: sampleCluster(1) });
    expect(existsSync(`${file}-journal`)).toBe(true);
    expect(
      readFileSync(`${file}-journal`)
        .subarray(0, 8)
        .every(byte => byte === 0)
    ).toBe(true);
  });
});

describe('a group of operation sets', () => {
  test('loses only the set that fails, and that one wholly', () => {
    const engine = open();
    const results = engine.commit([
      [{ type: 'put-cluster', cluster: sampleCluster(1) }],
      [
        { type: 'put-cluster', cluster: sampleCluster(2) },
        { type: 'put-job', job: sampleJob(11, 9) }
      ],
      [{ type: 'put-cluster', cluster: sampleCluster(3) }]
    ]);
    expect(results[0]).toBeNull();
    expect(results[1]).toMatchObject({ code: 'internal' });
    expect(results[2]).toBeNull();
    expect(engine.load().clusters.map(cluster => cluster.id)).toEqual([
      sampleId(1),
      sampleId(3)
    ]);
  });

  test('loses only the set the disk has no room for', () => {
    const engine = open();
    const big = sampleCluster(2);
    big.cause = 'x'.repeat(400_000);
    // A limit of SQLite's own stands for the full disk: same result code, same rollback.
    limitPages(engine, 40);
    const results = engine.commit([
      [{ type: 'put-cluster', cluster: sampleCluster(1) }],
      [{ type: 'put-cluster', cluster: big }],
      [{ type: 'put-cluster', cluster: sampleCluster(3) }]
    ]);
    expect(results[0]).toBeNull();
    expect(results[1]).toMatchObject({
      code: 'backend-unavailable',
      message: expect.stringContaining('full'),
      details: { sqlite: 'SQLITE_FULL' }
    });
    expect(results[2]).toBeNull();
    engine.close();
    expect(open().load().clusters).toEqual([
      sampleCluster(1),
      sampleCluster(3)
    ]);
  });
});

function limitPages(engine: StoreEngine, pages: number): void {
  // The engine keeps its connection to itself; the test reaches it through the prototype of node:sqlite.
  const prepare = DatabaseSync.prototype.prepare;
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
    this.exec(`PRAGMA max_page_count = ${pages}`);
    return prepare.call(this, sql);
  };
  try {
    engine.load();
  } finally {
    DatabaseSync.prototype.prepare = prepare;
  }
}

describe('one owner', () => {
  test('another process cannot even read while the store is open', () => {
    const engine = open();
    commit(engine, { type: 'put-cluster', cluster: sampleCluster(1) });
    expect(elsewhere('SELECT count(*) AS n FROM clusters')).toBe('error 5');
    engine.close();
    expect(elsewhere('SELECT count(*) AS n FROM clusters')).toBe('[{"n":1}]');
  });

  test('a second opener is told that another bridge holds the store', () => {
    open();
    const error = thrown(() => open());
    expect(error).toBeInstanceOf(StoreLockedError);
    expect(error).toMatchObject({ code: 'conflict' });
  });

  test('the epoch grows with every opening and is never below the lease’s', () => {
    expect(open().epoch).toBe(1);
    opened.pop()?.close();
    expect(open({ minimumEpoch: 7 }).epoch).toBe(7);
    opened.pop()?.close();
    expect(open({ minimumEpoch: 3 }).epoch).toBe(8);
  });

  test('a lock that was lost silently is noticed before the next write', () => {
    const engine = open();
    commit(engine, { type: 'put-cluster', cluster: sampleCluster(1) });
    // Any open and close in the holder's process drops its POSIX locks (R9) …
    closeSync(openSync(file, 'r'));
    // … and another bridge takes over.
    expect(
      elsewhere('UPDATE epoch SET value = value + 1 RETURNING value')
    ).toBe('[{"value":2}]');
    expect(
      thrown(() =>
        engine.commit([[{ type: 'put-cluster', cluster: sampleCluster(2) }]])
      )
    ).toBeInstanceOf(OwnershipLostError);
    engine.close();
    expect(elsewhere('SELECT count(*) AS n FROM clusters')).toBe('[{"n":1}]');
  });
});

describe('a damaged database', () => {
  function damage(): void {
    const descriptor = openSync(file, 'r+');
    try {
      for (let at = 0; at < statSync(file).size; at += 512) {
        writeSync(descriptor, Buffer.alloc(300, 0x5a), 0, 300, at);
      }
    } finally {
      closeSync(descriptor);
    }
  }

  test('is set aside with its journal, the newest backup is loaded and says so', () => {
    const first = open();
    commit(first, { type: 'put-cluster', cluster: sampleCluster(1) });
    first.backup();
    commit(first, { type: 'put-cluster', cluster: sampleCluster(2) });
    first.backup();
    commit(first, { type: 'put-cluster', cluster: sampleCluster(3) });
    const { stream } = first.load();
    first.close();
    writeFileSync(`${file}-journal`, Buffer.alloc(512), { mode: 0o600 });
    damage();
    const second = open({ minimumEpoch: 9 });
    const loaded = second.load();
    expect(loaded.clusters.map(cluster => cluster.id)).toEqual([
      sampleId(1),
      sampleId(2)
    ]);
    expect(loaded.restored).toContain('damaged');
    expect(loaded.restored).toContain('backup of');
    expect(loaded.stream).not.toBe(stream);
    expect(loaded.epoch).toBe(9);
    const aside = readdirSync(folder).filter(name =>
      name.includes('.damaged-')
    );
    expect(aside).toHaveLength(2);
    expect(aside.some(name => name.endsWith('-journal'))).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    // Until discovery is done the next opening says it again.
    second.close();
    const third = open();
    expect(third.load().restored).toBe(loaded.restored);
    expect(third.load().stream).toBe(loaded.stream);
    commit(third, { type: 'acknowledge-restore' });
    third.close();
    expect(open().load().restored).toBeNull();
  });

  test('with a damaged newest backup goes back to the one before', () => {
    const first = open();
    commit(first, { type: 'put-cluster', cluster: sampleCluster(1) });
    first.backup();
    commit(first, { type: 'put-cluster', cluster: sampleCluster(2) });
    const newest = first.backup();
    first.close();
    truncateSync(newest, 5000);
    damage();
    expect(
      open()
        .load()
        .clusters.map(cluster => cluster.id)
    ).toEqual([sampleId(1)]);
  });

  test('without a backup begins anew, never silently', () => {
    open().close();
    damage();
    const loaded = open().load();
    expect(loaded.clusters).toEqual([]);
    expect(loaded.restored).toContain('begin anew');
  });

  test.each(['gone', 'empty'])('%s, is restored too', how => {
    const first = open();
    commit(first, { type: 'put-cluster', cluster: sampleCluster(1) });
    first.backup();
    first.close();
    if (how === 'gone') {
      unlinkSync(file);
    } else {
      truncateSync(file, 0);
    }
    const loaded = open().load();
    expect(loaded.clusters).toEqual([sampleCluster(1)]);
    expect(loaded.restored).toContain(how);
  });

  test('a journal without its database is never played into another one', () => {
    writeFileSync(`${file}-journal`, 'left over', { mode: 0o600 });
    const loaded = open().load();
    expect(loaded.restored).toContain('only its journal');
    expect(
      readdirSync(folder).some(name => /\.damaged-.*-journal$/.test(name))
    ).toBe(true);
  });

  test('a first start is not a restore', () => {
    expect(open().load().restored).toBeNull();
  });
});

describe('the schema', () => {
  const NEXT = `
    ALTER TABLE jobs ADD COLUMN note TEXT NOT NULL DEFAULT 'old';
    CREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT;`;

  test('is brought forward in one step after a backup of the old one', () => {
    const first = open();
    commit(first, { type: 'put-cluster', cluster: sampleCluster(1) });
    first.close();
    const second = open({ migrations: [...MIGRATIONS, NEXT] });
    expect(second.load().clusters).toEqual([sampleCluster(1)]);
    second.close();
    const [backup] = readdirSync(backupsFolder);
    expect(backup).toMatch(/-migration\.db$/);
    expect(
      elsewhere('PRAGMA user_version', join(backupsFolder, backup ?? ''))
    ).toBe('[{"user_version":1}]');
    expect(elsewhere('PRAGMA user_version')).toBe('[{"user_version":2}]');
  });

  test('stays as it was where a step fails', () => {
    const first = open();
    commit(first, { type: 'put-cluster', cluster: sampleCluster(1) });
    first.close();
    expect(() =>
      open({
        migrations: [...MIGRATIONS, `${NEXT} SELECT no_such_column FROM jobs;`]
      })
    ).toThrow();
    expect(elsewhere('PRAGMA user_version')).toBe('[{"user_version":1}]');
    expect(open().load().clusters).toEqual([sampleCluster(1)]);
  });

  test('of a later Muster is refused, naming the version that wrote it', () => {
    open({ migrations: [...MIGRATIONS, NEXT], version: '9.8.7' }).close();
    const error = thrown(() => open());
    expect(error).toBeInstanceOf(StoreNewerError);
    expect((error as Error).message).toContain('9.8.7');
    // Refused is not changed.
    expect(elsewhere('SELECT value FROM epoch')).toBe('[{"value":1}]');
  });

  test('a database of another program is left alone', () => {
    elsewhere('CREATE TABLE recipes (name TEXT)');
    chmodSync(file, 0o600);
    expect(thrown(() => open())).toMatchObject({ code: 'bridge-unavailable' });
    expect(elsewhere('SELECT count(*) AS n FROM recipes')).toBe('[{"n":0}]');
  });

  test('two backups of a kind are kept', () => {
    const engine = open();
    for (let i = 0; i < 4; i++) {
      engine.backup();
    }
    const names = readdirSync(backupsFolder);
    expect(names).toHaveLength(2);
    for (const name of names) {
      expect(statSync(join(backupsFolder, name)).mode & 0o777).toBe(0o600);
    }
  });
});

describe('opening', () => {
  test('turns a file in WAL mode on a local disk back to a rollback journal', () => {
    const engine = open();
    commit(engine, { type: 'put-cluster', cluster: sampleCluster(1) });
    engine.close();
    const wal = new DatabaseSync(file);
    wal.exec('PRAGMA journal_mode = WAL');
    wal.exec('UPDATE meta SET value = value');
    wal.close();
    expect(readFileSync(file)[18]).toBe(2);
    expect(open().load().clusters).toEqual([sampleCluster(1)]);
    opened.pop()?.close();
    expect(readFileSync(file)[18]).toBe(1);
    expect(existsSync(`${file}-wal`)).toBe(false);
  });

  test('refuses a database others can read and says the fix', () => {
    open().close();
    chmodSync(file, 0o644);
    const error = thrown(() => open());
    expect(error).toMatchObject({
      code: 'forbidden',
      hint: expect.stringContaining('chmod 600')
    });
  });

  test('makes files only their owner can read, whatever the umask', () => {
    const before = process.umask(0);
    try {
      const engine = open();
      commit(engine, { type: 'put-cluster', cluster: sampleCluster(1) });
      for (const name of readdirSync(folder)) {
        expect([name, statSync(join(folder, name)).mode & 0o077]).toEqual([
          name,
          0
        ]);
      }
    } finally {
      process.umask(before);
    }
  });
});

describe('events', () => {
  test('are read after a seq, oldest first, and the newest of a cluster', () => {
    const engine = open();
    commit(
      engine,
      ...[1, 2].map(n => ({
        type: 'put-cluster' as const,
        cluster: sampleCluster(n)
      })),
      ...[1, 2, 3, 4, 5, 6].map(seq => ({
        type: 'append-event' as const,
        event: sampleEvent(seq, seq % 2 === 0 ? 2 : 1)
      }))
    );
    const cluster = sampleId(2) as ClusterId;
    const seqs = (events: { seq: number }[]): number[] =>
      events.map(event => event.seq);
    expect(seqs(engine.events({ cluster: null, after: 2, limit: 3 }))).toEqual([
      3, 4, 5
    ]);
    expect(seqs(engine.events({ cluster, after: 2, limit: 9 }))).toEqual([
      4, 6
    ]);
    expect(seqs(engine.latestEvents({ cluster, limit: 2 }))).toEqual([4, 6]);
  });
});
