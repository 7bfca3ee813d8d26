import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test
} from '@jest/globals';
import {
  type ChildProcess,
  execFile,
  spawn,
  spawnSync
} from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { checkExclusive } from './exclusive-check.js';
import { sampleCluster, sampleId } from './fixtures/sample-records.js';
import { openStore, type SqliteStore } from './sqlite-store.js';
import { StoreEngine } from './store-engine.js';
import { OwnershipLostError, StoreLockedError } from './store-failure.js';
import { threadOf } from './store-thread.js';

const run = promisify(execFile);
let bundleFolder: string;
let bundle: string;
let folder: string;
let file: string;
let backupsFolder: string;
const stores: SqliteStore[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  bundleFolder = mkdtempSync(join(tmpdir(), 'muster-bundle-'));
  bundle = join(bundleFolder, 'store-process.mjs');
  await build({
    entryPoints: [
      join(process.cwd(), 'src/bridge/store/fixtures/store-process.ts')
    ],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    outfile: bundle,
    banner: {
      js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);"
    }
  });
});

afterAll(() => {
  rmSync(bundleFolder, { recursive: true, force: true });
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-store-'));
  file = join(folder, 'muster.db');
  backupsFolder = join(folder, 'backups');
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
  }
  await Promise.all(stores.splice(0).map(store => store.close()));
  rmSync(folder, { recursive: true, force: true });
});

async function open(
  options: Partial<Parameters<typeof openStore>[0]> = {}
): Promise<SqliteStore> {
  const store = await openStore({
    file,
    backupsFolder,
    createWorker: threadOf(bundle),
    backupEveryMs: 0,
    ...options
  });
  stores.push(store);
  return store;
}

/** Runs writers for a while, kills them without warning, and says what they had acknowledged. */
async function killedWriter(first: number, afterMs: number): Promise<number[]> {
  const child = spawn(
    process.execPath,
    [bundle, 'commit-for-ever', file, backupsFolder, String(first)],
    { stdio: ['ignore', 'pipe', 'inherit'] }
  );
  children.push(child);
  let output = '';
  const opened = new Promise<void>(resolve => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('open')) {
        resolve();
      }
    });
  });
  await opened;
  await new Promise(resolve => setTimeout(resolve, afterMs));
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
  return [...output.matchAll(/^ack (\d+)$/gm)].map(match => Number(match[1]));
}

describe('a bridge killed at any moment', () => {
  test('has lost nothing it had acknowledged', async () => {
    const acknowledged: number[] = [];
    for (let round = 0; round < 12; round++) {
      const found = await killedWriter(
        1 + round * 100_000,
        20 + Math.random() * 120
      );
      acknowledged.push(...found);
      const engine = StoreEngine.open({ file, backupsFolder, version: '0' });
      const loaded = engine.load();
      const events = engine.events({
        cluster: null,
        after: 0,
        limit: 10_000_000
      });
      engine.close();
      const clusters = new Set(
        loaded.clusters.map(cluster => `${cluster.id} ${cluster.revision}`)
      );
      const seqs = new Set(events.map(event => event.seq));
      const missing = acknowledged.filter(
        number =>
          !clusters.has(`${sampleId(number)} ${number}`) || !seqs.has(number)
      );
      expect(missing).toEqual([]);
      // A set is whole: never the cluster without its event.
      expect(seqs.size).toBe(clusters.size);
      expect(loaded.seq).toBeGreaterThanOrEqual(Math.max(...seqs));
      expect(loaded.restored).toBeNull();
    }
    // The rounds did commit something, else nothing was tested.
    expect(acknowledged.length).toBeGreaterThan(100);
  });
});

describe('a bridge killed while it replaces a damaged database', () => {
  test('never leaves records silently empty', async () => {
    for (let round = 0; round < 25; round++) {
      const place = mkdtempSync(join(folder, 'round-'));
      const damaged = join(place, 'muster.db');
      const backups = join(place, 'backups');
      const options = { file: damaged, backupsFolder: backups, version: '0' };
      const before = StoreEngine.open(options);
      before.commit([[{ type: 'put-cluster', cluster: sampleCluster(1) }]]);
      before.backup();
      before.close();
      writeFileSync(damaged, Buffer.alloc(20_000, 0x5a));
      const child = spawn(
        process.execPath,
        [bundle, 'try-to-open', damaged, backups],
        { stdio: ['ignore', 'pipe', 'ignore'] }
      );
      children.push(child);
      const ended = once(child, 'close');
      // Killed at some moment after the first file was moved: what comes before is no crash point.
      const begun = Date.now();
      while (
        !readdirSync(place).some(name => name.includes('.damaged-')) &&
        Date.now() - begun < 10_000
      ) {
        await new Promise(resolve => setImmediate(resolve));
      }
      await new Promise(resolve => setTimeout(resolve, Math.random() * 12));
      child.kill('SIGKILL');
      await ended;
      const after = StoreEngine.open(options);
      const loaded = after.load();
      after.close();
      expect(loaded.clusters).toEqual([sampleCluster(1)]);
      // Said by the killed one and kept, or said now: never forgotten.
      expect(loaded.restored).not.toBeNull();
      expect(
        readdirSync(place).filter(name => name.includes('.damaged-'))
      ).not.toEqual([]);
    }
  });
});

describe('the lock', () => {
  test('of a live bridge turns a second one away, and is free when it was killed', async () => {
    const child = spawn(
      process.execPath,
      [bundle, 'commit-for-ever', file, backupsFolder],
      { stdio: ['ignore', 'pipe', 'inherit'] }
    );
    children.push(child);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    await expect(open()).rejects.toBeInstanceOf(StoreLockedError);
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
    const store = await open();
    expect(store.epoch).toBe(2);
  });

  test('goes to exactly one of several bridges that start at once', async () => {
    for (let round = 0; round < 3; round++) {
      const owners = await Promise.all(
        Array.from({ length: 4 }, () =>
          killable([
            'commit-for-ever',
            file,
            backupsFolder,
            String(1 + round * 1_000_000)
          ])
        )
      );
      expect(owners.filter(said => said === 'open')).toHaveLength(1);
      for (const child of children.splice(0)) {
        const ended =
          child.exitCode === null && child.signalCode === null
            ? once(child, 'close')
            : Promise.resolve();
        child.kill('SIGKILL');
        await ended;
      }
    }
  });

  test('that was dropped by opening and closing the file is found by the self-check', async () => {
    const lost: unknown[] = [];
    const store = await open({ onLost: error => lost.push(error) });
    await store.transaction([
      { type: 'put-cluster', cluster: sampleCluster(1) }
    ]);
    await expect(checkExclusive(file, process.execPath)).resolves.toEqual({
      type: 'exclusive'
    });
    await expect(store.selfCheck(process.execPath)).resolves.toEqual({
      type: 'exclusive'
    });
    expect(lost).toEqual([]);
    closeSync(openSync(file, 'r'));
    await expect(store.selfCheck(process.execPath)).resolves.toMatchObject({
      type: 'shared'
    });
    expect(lost).toHaveLength(1);
    expect(lost[0]).toBeInstanceOf(OwnershipLostError);
    await expect(
      store.transaction([{ type: 'put-cluster', cluster: sampleCluster(2) }])
    ).rejects.toBeInstanceOf(OwnershipLostError);
  });

  test('holds while a backup is taken', async () => {
    const store = await open();
    const [path, second] = await Promise.all([
      store.backup(),
      run(process.execPath, [bundle, 'try-to-open', file, backupsFolder])
    ]);
    expect(second.stdout.trim()).toBe('locked');
    await expect(
      run(process.execPath, [bundle, 'try-to-open', path, backupsFolder])
    ).resolves.toMatchObject({ stdout: 'epoch 2\n' });
  });
});

/** The first word of a writer that keeps running; a failed one says its error. */
async function killable(args: string[]): Promise<string> {
  const child = spawn(process.execPath, [bundle, ...args], {
    stdio: ['ignore', 'pipe', 'inherit']
  });
  children.push(child);
  return new Promise(resolve => {
    child.stdout.once('data', (chunk: Buffer) => {
      resolve(chunk.toString().split('\n')[0] ?? '');
    });
    child.once('close', () => {
      resolve('ended');
    });
  });
}

describe('one commit', () => {
  const strace = spawnSync('strace', ['-V']).status === 0;

  (strace ? test : test.skip)(
    'syncs the journal before the database and its zeroed header after it',
    async () => {
      const trace = join(folder, 'trace');
      await run('strace', [
        '-f',
        '-e',
        'trace=fsync,fdatasync,unlink,unlinkat,ftruncate,write',
        '-y',
        '-o',
        trace,
        process.execPath,
        bundle,
        'commit-once',
        file,
        backupsFolder
      ]);
      const lines = readFileSync(trace, 'utf8').split('\n');
      const begin = lines.findIndex(line => line.includes('mark begin'));
      const end = lines.findIndex(line => line.includes('mark end'));
      const between = lines.slice(begin + 1, end);
      const syncs = between
        .filter(line => /\bf(data)?sync\(/.test(line))
        .map(line =>
          line.includes('muster.db-journal') ? 'journal' : 'database'
        );
      expect(begin).toBeGreaterThan(0);
      expect(end).toBeGreaterThan(begin);
      expect(syncs).toEqual(['journal', 'journal', 'database', 'journal']);
      expect(between.filter(line => line.includes('unlink'))).toEqual([]);
    }
  );
});

describe('the thread', () => {
  test('opens and closes twenty times without leaving anything behind', async () => {
    const handles = (): number =>
      process
        .getActiveResourcesInfo()
        .filter(name => name === 'MessagePort' || name === 'Worker').length;
    const before = handles();
    for (let i = 1; i <= 20; i++) {
      const store = await open();
      expect(store.epoch).toBe(i);
      await store.close();
    }
    expect(handles()).toBe(before);
  });

  test('that dies ends the store’s ownership and answers what waited', async () => {
    const lost: unknown[] = [];
    const workers: { terminate(): Promise<unknown> }[] = [];
    const create = threadOf(bundle);
    const store = await open({
      createWorker: data => {
        const worker = create(data);
        workers.push(worker);
        return worker;
      },
      onLost: error => lost.push(error)
    });
    const waiting = store.transaction([
      { type: 'put-cluster', cluster: sampleCluster(1) }
    ]);
    const outcome = waiting.then(
      () => 'acknowledged',
      (error: unknown) => (error as { code: string }).code
    );
    await workers[0]?.terminate();
    expect(['acknowledged', 'backend-unavailable']).toContain(await outcome);
    expect(lost).toHaveLength(1);
    await expect(store.load()).rejects.toMatchObject({
      code: 'backend-unavailable'
    });
  });
});
