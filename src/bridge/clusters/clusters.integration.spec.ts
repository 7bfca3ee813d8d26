/** The controller with real processes, a real scheduler and the real store. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createBackends } from '../../backends/registry.js';
import type { ClusterSpec, ClusterView } from '../../protocol/index.js';
import { clusterPatchSchema, clusterSpecSchema } from '../../protocol/index.js';
import { assembleClusters } from '../assembly.js';
import { openStore } from '../store/sqlite-store.js';
import { inSameThread } from '../store/store-thread.js';
import { ClientRegistry } from './clients.js';
import type { ClusterManager } from './cluster-manager.js';

const PYTHON = path.resolve('.venv/bin/python');

type Bridge = { manager: ClusterManager; close: () => Promise<void> };

let root: string;
let bridges: Bridge[] = [];

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'muster-it-'));
});

afterEach(async () => {
  const last = bridges.at(-1);
  if (last !== undefined) {
    for (const view of last.manager.list()) {
      if (view.phase !== 'stopped' && view.phase !== 'failed') {
        await last.manager.stop(view.id, { force: false });
        await until(
          last,
          view.id,
          one => one.phase === 'stopped' || one.phase === 'failed'
        );
      }
    }
  }
  await Promise.all(bridges.map(bridge => bridge.close()));
  bridges = [];
  expect(await ours()).toEqual([]);
  await rm(root, { recursive: true, force: true });
});

/** Command lines of processes that belong to this test's folder. */
async function ours(): Promise<string[]> {
  for (let round = 0; ; round += 1) {
    const found: string[] = [];
    for (const pid of (await readdir('/proc')).filter(name =>
      /^\d+$/.test(name)
    )) {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(
        () => ''
      );
      if (line.includes(root) && pid !== String(process.pid)) {
        found.push(line.replaceAll('\0', ' '));
      }
    }
    if (found.length === 0 || round > 50) {
      return found;
    }
    await sleep(100);
  }
}

async function open(): Promise<Bridge> {
  const store = await openStore({
    file: path.join(root, 'muster.db'),
    backupsFolder: path.join(root, 'backups'),
    createWorker: inSameThread()
  });
  const snapshot = await store.load();
  const poolProgram = await readFile('jupyterlab_muster/pool.py', 'utf8');
  const backends = createBackends({
    poolProgram,
    runtimeFolder: path.join(root, 'run')
  });
  const manager = assembleClusters({
    store,
    snapshot,
    backends,
    configuration: {
      refresh: () => Promise.resolve(),
      lifetime: () => ({}),
      defaultProfile: () => null,
      profiles: () => [],
      limits: () => ({
        maximumWorkers: null,
        maximumCores: null,
        maximumMemory: null,
        allowedBackends: null
      }),
      backendDefaults: () => ({})
    },
    environments: {
      resolve: () => Promise.resolve(ENVIRONMENT),
      list: () => Promise.resolve([ENVIRONMENT]),
      packages: () => Promise.resolve({})
    },
    clients: new ClientRegistry(),
    clustersFolder: path.join(root, 'clusters'),
    bridge: 'test',
    host: 'here',
    log: pino({ level: process.env['MUSTER_TEST_LOG'] ?? 'silent' }),
    mayAct: () => Promise.resolve(),
    timings: { downAfterMs: () => 1_500, adaptiveIntervalMs: 200 }
  });
  const bridge = {
    manager,
    close: async () => {
      await manager.close();
      await Promise.all([...backends.values()].map(backend => backend.close()));
      await store.close();
    }
  };
  bridges.push(bridge);
  await manager.start(snapshot);
  return bridge;
}

const ENVIRONMENT = {
  python: PYTHON,
  name: 'test',
  source: 'bridge' as const,
  kernelspec: null,
  displayName: null,
  pythonVersion: '3.11',
  dask: 'x',
  distributed: 'x',
  usable: true,
  whyNot: null
};

function create(bridge: Bridge, body: ClusterSpec): Promise<ClusterView> {
  return bridge.manager.create({
    spec: clusterSpecSchema.parse(body),
    body,
    idempotencyKey: null,
    client: null
  });
}

async function until(
  bridge: Bridge,
  id: string,
  condition: (view: ClusterView) => boolean,
  seconds = 60
): Promise<ClusterView> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const view = bridge.manager.get(id);
    if (condition(view)) {
      return view;
    }
    if (performance.now() > end) {
      const kinds = (
        await bridge.manager.events(id, { after: -1, limit: 30 })
      ).items.map(event => `${event.kind} ${event.message}`);
      throw new Error(
        `not within ${seconds} s: ${JSON.stringify({ ...view, spec: null, kinds, jobs: bridge.manager.jobs(id) }, null, 1)}`
      );
    }
    await sleep(20);
  }
}

const connected = (count: number) => (view: ClusterView) =>
  view.groups[0]?.counts.connected === count &&
  view.groups[0].counts.starting === 0 &&
  view.groups[0].counts.retiring === 0;

/** Runs Python as a user would: the inserted snippet, then code. */
async function python(
  bridge: Bridge,
  id: string,
  code: string
): Promise<string> {
  const { snippets } = await bridge.manager.connection(id);
  const child = spawn(PYTHON, ['-c', `${snippets.python}\n${code}`], {
    stdio: ['ignore', 'pipe', 'pipe']
  });
  let out = '';
  let err = '';
  child.stdout.on('data', part => (out += String(part)));
  child.stderr.on('data', part => (err += String(part)));
  const exit = await new Promise<number | null>(resolve =>
    child.on('close', resolve)
  );
  if (exit !== 0) {
    throw new Error(err);
  }
  return out.trim();
}

const TWO: ClusterSpec = {
  name: 'two',
  groups: [
    {
      worker: { cores: 1, memory: '512 MiB' },
      scale: { type: 'fixed', workers: 2 }
    }
  ]
};

async function events(bridge: Bridge, id: string): Promise<string[]> {
  return (await bridge.manager.events(id, { after: -1, limit: 500 })).items.map(
    event => event.kind
  );
}

describe('a local cluster', () => {
  it('is created, computes over TLS by the inserted snippet, and leaves nothing when stopped', async () => {
    const bridge = await open();
    const { id, phase } = await create(bridge, TWO);
    expect(phase).toBe('creating');
    const view = await until(bridge, id, connected(2));
    expect(view.scheduler.address).toMatch(/^tls:\/\/127\.0\.0\.1:\d+$/);
    expect(
      await python(bridge, id, 'print(client.submit(sum, [1, 2]).result())')
    ).toBe('3');
    await bridge.manager.stop(id, { force: false });
    const stopped = await until(bridge, id, one => one.phase === 'stopped');
    expect(stopped.health).toBe('ok');
    expect(
      (await readdir(path.join(root, 'clusters', id))).filter(
        name => name === 'tls'
      )
    ).toEqual([]);
    const kinds = await events(bridge, id);
    expect(kinds).toEqual(
      expect.arrayContaining([
        'created',
        'scheduler-started',
        'worker-connected',
        'stopping',
        'stopped'
      ])
    );
    expect(kinds).not.toContain('worker-died');
  });

  it('five fast changes of size end in the last', async () => {
    const bridge = await open();
    const { id } = await create(bridge, TWO);
    await until(bridge, id, connected(2));
    for (const workers of [5, 1, 4, 0, 3]) {
      await bridge.manager.patch(
        id,
        clusterPatchSchema.parse({
          scale: { default: { type: 'fixed', workers } }
        })
      );
    }
    await until(bridge, id, connected(3));
    await sleep(1_500);
    expect(connected(3)(bridge.manager.get(id))).toBe(true);
    expect(await events(bridge, id)).not.toContain('worker-died');
  });

  it('adapts to load and goes back to its minimum', async () => {
    const bridge = await open();
    const { id } = await create(bridge, {
      groups: [
        {
          worker: { cores: 1, memory: '512 MiB' },
          scale: {
            type: 'adaptive',
            minimum: { workers: 0 },
            maximum: { workers: 3 }
          }
        }
      ]
    });
    await until(bridge, id, view => view.phase === 'running');
    const work = python(
      bridge,
      id,
      'import time\nprint(sum(client.gather(client.map(lambda x: time.sleep(0.5) or x, range(24), pure=False))))'
    );
    await until(
      bridge,
      id,
      view => (view.groups[0]?.counts.connected ?? 0) >= 2
    );
    expect(await work).toBe('276');
    await until(bridge, id, connected(0));
    expect(await events(bridge, id)).not.toContain('worker-died');
  });

  it('W31: counts every worker, also more than the five a Client is shown', async () => {
    const bridge = await open();
    const { id } = await create(bridge, {
      groups: [
        {
          worker: { cores: 1, memory: '512 MiB' },
          scale: { type: 'fixed', workers: 8 }
        }
      ]
    });
    const view = await until(bridge, id, connected(8));
    expect(view.groups[0]?.connected).toMatchObject({ workers: 8, cores: 8 });
    expect(bridge.manager.workers(id)).toHaveLength(8);
  });

  it('tells why a worker died and replaces it', async () => {
    const bridge = await open();
    const { id } = await create(bridge, TWO);
    await until(bridge, id, connected(2));
    const [first] = bridge.manager.workers(id);
    const job = bridge.manager.jobs(id).find(one => one.id === first?.job);
    process.kill(Number(job?.handle?.nativeId.match(/\d+/)?.[0]), 'SIGKILL');
    await until(bridge, id, view =>
      view.reasons.some(reason => reason.code === 'worker-died')
    );
    await until(bridge, id, connected(2));
    const ended = bridge.manager.jobs(id).find(one => one.id === first?.job);
    expect(ended).toMatchObject({
      phase: 'ended',
      outcome: 'failed',
      exit: { signal: 'SIGKILL' }
    });
    const died = (
      await bridge.manager.events(id, { after: -1, limit: 100 })
    ).items.filter(one => one.kind === 'worker-died');
    expect(died).toHaveLength(1);
  });

  it('is found again by a new bridge, with the same workers, and a notebook notices nothing', async () => {
    const first = await open();
    const { id } = await create(first, TWO);
    await until(first, id, connected(2));
    const before = first.manager.workers(id).map(worker => worker.id);
    const work = python(
      first,
      id,
      'import time\nprint(client.submit(lambda: time.sleep(3) or 7).result())'
    );
    await sleep(1_000);
    await first.close();
    bridges = [];
    const second = await open();
    const view = await until(second, id, connected(2));
    expect(view.phase).toBe('running');
    expect(second.manager.workers(id).map(worker => worker.id)).toEqual(before);
    expect(await work).toBe('7');
  });

  it('says so when its scheduler dies, and starts again under the same id', async () => {
    const bridge = await open();
    const { id } = await create(bridge, TWO);
    await until(bridge, id, connected(2));
    const scheduler = bridge.manager.jobs(id).find(job => job.group === null);
    process.kill(
      Number(scheduler?.handle?.nativeId.match(/\d+/)?.[0]),
      'SIGKILL'
    );
    const failed = await until(bridge, id, view => view.phase === 'failed');
    expect(failed.reasons[0]?.message).toMatch(
      /scheduler ended unexpectedly \(killed by SIGKILL\)/
    );
    await bridge.manager.restart(id);
    await until(bridge, id, connected(2));
    expect(
      await python(bridge, id, 'print(client.submit(sum, [1, 2]).result())')
    ).toBe('3');
  });

  it('ends when it was idle for its timeout', async () => {
    const bridge = await open();
    const { id } = await create(bridge, {
      ...TWO,
      lifetime: { idleTimeout: '8s' }
    });
    await until(bridge, id, connected(2));
    expect(
      await python(bridge, id, 'print(client.submit(sum, [1, 2]).result())')
    ).toBe('3');
    await until(bridge, id, view => view.phase === 'stopped');
    const last = (
      await bridge.manager.events(id, { after: -1, limit: 100 })
    ).items.at(-1);
    expect(last?.message).toMatch(/was idle for 8 s/);
  });

  it('S1: listens on loopback only, and a worker that others could reach ends the cluster', async () => {
    const bridge = await open();
    const { id } = await create(bridge, TWO);
    await until(bridge, id, connected(2));
    await sleep(2_500);
    expect(bridge.manager.get(id).phase).toBe('running');
    const preload = path.join(root, 'wide.py');
    await writeFile(
      preload,
      'import socket\nwide = socket.socket()\nwide.bind(("0.0.0.0", 0))\nwide.listen()\n'
    );
    const exposed = await create(bridge, {
      ...TWO,
      name: 'wide',
      environment: {
        variables: { DASK_DISTRIBUTED__WORKER__PRELOAD: `["${preload}"]` }
      }
    });
    const failed = await until(
      bridge,
      exposed.id,
      view => view.phase === 'failed'
    );
    expect(failed.reasons[0]).toMatchObject({ code: 'insecure-bind' });
    expect(failed.reasons[0]?.message).toMatch(/0\.0\.0\.0:\d+/);
  });
});
