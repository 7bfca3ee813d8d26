/**
 * B10's sides in a process of their own, one side per run: our store through its interface, the
 * same SQLite without group commit, WAL, and the bare disk. Prints one JSON object.
 *
 * argv: side, folder, concurrency, milliseconds.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import {
  sampleCluster,
  sampleJob
} from '../../src/bridge/store/fixtures/sample-records.js';
import { openStore } from '../../src/bridge/store/sqlite-store.js';
import {
  isStoreWorker,
  runStoreWorker
} from '../../src/bridge/store/store-thread.js';

/** Rows that are written over and over: the file does not grow with the length of the run. */
const JOBS = 500;

type Result = { latencies: number[]; seconds: number; loopDelayP99: number };

async function ours(
  folder: string,
  concurrency: number,
  ms: number
): Promise<Result> {
  const store = await openStore({
    file: join(folder, 'ours.db'),
    backupsFolder: join(folder, 'backups'),
    backupEveryMs: 0
  });
  await store.transaction([{ type: 'put-cluster', cluster: sampleCluster(1) }]);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const latencies: number[] = [];
  let next = 0;
  delay.enable();
  const begun = performance.now();
  const writer = async (): Promise<void> => {
    for (;;) {
      const started = performance.now();
      if (started - begun >= ms) {
        return;
      }
      const n = next++;
      await store.transaction([
        { type: 'put-job', job: sampleJob(1_000 + (n % JOBS), 1, n) }
      ]);
      latencies.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, writer));
  const seconds = (performance.now() - begun) / 1_000;
  delay.disable();
  await store.close();
  return { latencies, seconds, loopDelayP99: delay.percentile(99) / 1e6 };
}

/** One transaction per operation on the calling thread: what a careful program without us does. */
function plain(folder: string, wal: boolean, ms: number): Result {
  const database = new DatabaseSync(join(folder, wal ? 'wal.db' : 'plain.db'));
  database.exec(
    `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = ${wal ? 'WAL' : 'DELETE'};
     PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;
     CREATE TABLE IF NOT EXISTS clusters (id TEXT NOT NULL UNIQUE, record TEXT NOT NULL CHECK (json_valid(record))) STRICT;
     CREATE TABLE IF NOT EXISTS jobs (id TEXT NOT NULL UNIQUE, cluster TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
       record TEXT NOT NULL CHECK (json_valid(record))) STRICT;
     CREATE INDEX IF NOT EXISTS jobs_by_cluster ON jobs (cluster)`
  );
  const cluster = sampleCluster(1);
  database
    .prepare(
      'INSERT INTO clusters (id, record) VALUES (?, ?) ON CONFLICT DO NOTHING'
    )
    .run(cluster.id, JSON.stringify(cluster));
  const put = database.prepare(
    `INSERT INTO jobs (id, cluster, record) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET cluster = excluded.cluster, record = excluded.record`
  );
  const latencies: number[] = [];
  const begun = performance.now();
  for (let n = 0; performance.now() - begun < ms; n++) {
    const job = sampleJob(1_000 + (n % JOBS), 1, n);
    const started = performance.now();
    database.exec('BEGIN IMMEDIATE');
    put.run(job.id, job.cluster, JSON.stringify(job));
    database.exec('COMMIT');
    latencies.push(performance.now() - started);
  }
  const seconds = (performance.now() - begun) / 1_000;
  database.close();
  return { latencies, seconds, loopDelayP99: 0 };
}

/** Append and fdatasync of the same bytes: what the disk allows. */
function disk(folder: string, ms: number): Result {
  const descriptor = openSync(join(folder, 'raw'), 'a', 0o600);
  const latencies: number[] = [];
  const begun = performance.now();
  for (let n = 0; performance.now() - begun < ms; n++) {
    const bytes = Buffer.from(JSON.stringify(sampleJob(1_000 + n, 1, n)));
    const started = performance.now();
    writeSync(descriptor, bytes);
    fdatasyncSync(descriptor);
    latencies.push(performance.now() - started);
  }
  const seconds = (performance.now() - begun) / 1_000;
  closeSync(descriptor);
  return { latencies, seconds, loopDelayP99: 0 };
}

async function measure(): Promise<Result> {
  const [side = '', folder = '', concurrency = '1', ms = '1000'] =
    process.argv.slice(2);
  switch (side) {
    case 'ours':
      return ours(folder, Number(concurrency), Number(ms));
    case 'plain':
      return plain(folder, false, Number(ms));
    case 'wal':
      return plain(folder, true, Number(ms));
    case 'disk':
      return disk(folder, Number(ms));
    default:
      throw new Error(`unknown side ${side}`);
  }
}

if (isStoreWorker()) {
  runStoreWorker();
} else {
  const { latencies, seconds, loopDelayP99 } = await measure();
  latencies.sort((a, b) => a - b);
  const at = (p: number): number =>
    latencies[
      Math.min(latencies.length - 1, Math.floor(latencies.length * p))
    ] ?? NaN;
  process.stdout.write(
    JSON.stringify({
      operations: latencies.length,
      perSecond: latencies.length / seconds,
      p50: at(0.5),
      p99: at(0.99),
      loopDelayP99
    })
  );
}
