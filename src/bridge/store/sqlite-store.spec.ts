import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClusterId } from '../../protocol/index.js';
import {
  sampleCluster,
  sampleEvent,
  sampleId,
  sampleJob
} from './fixtures/sample-records.js';
import {
  MAXIMUM_GROUP,
  openStore,
  type OpenStoreOptions,
  type SqliteStore
} from './sqlite-store.js';
import {
  inSameThread,
  type StoreCall,
  type StoreWorker
} from './store-thread.js';

let folder: string;
let calls: StoreCall[];
const stores: SqliteStore[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-store-'));
  calls = [];
});

afterEach(async () => {
  await Promise.all(stores.splice(0).map(store => store.close()));
  rmSync(folder, { recursive: true, force: true });
});

async function open(
  options: Partial<OpenStoreOptions> = {}
): Promise<SqliteStore> {
  const create = inSameThread();
  const store = await openStore({
    file: join(folder, 'muster.db'),
    backupsFolder: join(folder, 'backups'),
    createWorker: data => {
      const worker = create(data);
      const watched: StoreWorker = {
        ...worker,
        postMessage(message) {
          calls.push(message.call);
          worker.postMessage(message);
        }
      };
      return watched;
    },
    ...options
  });
  stores.push(store);
  return store;
}

/** How many operation sets each transaction carried. */
function groups(): number[] {
  return calls.flatMap(call =>
    call.type === 'commit' ? [call.sets.length] : []
  );
}

describe('transactions', () => {
  test('that arrive in one turn share a commit', async () => {
    const store = await open();
    await Promise.all(
      [1, 2, 3, 4, 5].map(n =>
        store.transaction([{ type: 'put-cluster', cluster: sampleCluster(n) }])
      )
    );
    expect(groups()).toEqual([5]);
    expect((await store.load()).clusters).toHaveLength(5);
  });

  test('that arrive while one is under way gather behind it', async () => {
    const store = await open();
    const put = (n: number): Promise<void> =>
      store.transaction([{ type: 'put-cluster', cluster: sampleCluster(n) }]);
    const first = put(1);
    await new Promise(resolve => setImmediate(resolve));
    await Promise.all([first, put(2), put(3)]);
    expect(groups()).toEqual([1, 2]);
  });

  test(`carry at most ${MAXIMUM_GROUP} operations together`, async () => {
    const store = await open();
    await Promise.all(
      Array.from({ length: MAXIMUM_GROUP + 10 }, (_, n) =>
        store.transaction([{ type: 'raise-seq', to: n }])
      )
    );
    expect(groups()).toEqual([MAXIMUM_GROUP, 10]);
  });

  test('do not fail with a neighbour', async () => {
    const store = await open();
    const results = await Promise.allSettled([
      store.transaction([{ type: 'put-cluster', cluster: sampleCluster(1) }]),
      store.transaction([{ type: 'put-job', job: sampleJob(11, 9) }]),
      store.transaction([{ type: 'put-job', job: sampleJob(12, 1) }])
    ]);
    expect(groups()).toEqual([3]);
    expect(results.map(result => result.status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled'
    ]);
    expect((results[1] as PromiseRejectedResult).reason).toMatchObject({
      name: 'MusterError',
      code: 'internal'
    });
  });

  test('record what was asked, not what the caller changes afterwards', async () => {
    const store = await open();
    const cluster = sampleCluster(1, 1);
    const done = store.transaction([{ type: 'put-cluster', cluster }]);
    cluster.revision = 99;
    await done;
    expect((await store.load()).clusters[0]?.revision).toBe(1);
  });
});

describe('reading', () => {
  test('sees what was asked before it', async () => {
    const store = await open();
    const done = store.transaction([
      { type: 'put-cluster', cluster: sampleCluster(1) },
      { type: 'append-event', event: sampleEvent(3, 1) }
    ]);
    const [events, latest, loaded] = await Promise.all([
      store.events({ cluster: null, after: 0, limit: 5 }),
      store.latestEvents({ cluster: sampleId(1) as ClusterId, limit: 5 }),
      store.load(),
      done
    ]);
    expect(events).toEqual([sampleEvent(3, 1)]);
    expect(latest).toEqual(events);
    expect(loaded.seq).toBe(3);
  });
});

describe('from time to time', () => {
  test('a backup is taken and another process is asked, and what fails is told', async () => {
    const warnings: string[] = [];
    const store = await open({
      backupEveryMs: 5,
      selfCheck: { nodePath: '/no/such/node', firstMs: 5, everyMs: 5 },
      onWarning: message => warnings.push(message)
    });
    const backups = join(folder, 'backups');
    while (
      warnings.length < 2 ||
      !existsSync(backups) ||
      !readdirSync(backups).some(name => name.endsWith('-regular.db'))
    ) {
      await new Promise(resolve => setTimeout(resolve, 5));
    }
    expect(warnings[0]).toContain('self-check');
    await store.close();
    const count = warnings.length;
    await new Promise(resolve => setTimeout(resolve, 50));
    expect(warnings).toHaveLength(count);
  });
});

describe('closing', () => {
  test('does what was asked before and refuses what comes after', async () => {
    const store = await open();
    const done = store.transaction([
      { type: 'put-cluster', cluster: sampleCluster(1) }
    ]);
    await Promise.all([store.close(), store.close()]);
    await done;
    await expect(
      store.transaction([{ type: 'raise-seq', to: 5 }])
    ).rejects.toMatchObject({ code: 'backend-unavailable' });
    expect((await (await open()).load()).clusters).toHaveLength(1);
  });
});
