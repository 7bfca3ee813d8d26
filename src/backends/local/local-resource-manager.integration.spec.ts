import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { BackendEvent, Handle, JobIntent } from '../resource-manager.js';
import { foreignListeners } from './foreign-listeners.js';
import { localHandleData } from './local-handle.js';
import { LocalResourceManager } from './local-resource-manager.js';
import { aliveOf, LocalWorld, PYTHON, until } from './fixtures/local-world.js';

const run = promisify(execFile);

let world: LocalWorld;

beforeEach(async () => {
  world = await LocalWorld.open();
});
afterEach(async () => {
  await world.close();
});

/** Lines of Python run by a client of the cluster; prints JSON. */
async function inClient(schedulerFile: string, code: string): Promise<unknown> {
  const { stdout } = await run(PYTHON, [
    '-c',
    [
      'import json',
      'from distributed import Client',
      `c = Client(scheduler_file=${JSON.stringify(schedulerFile)}, timeout=20)`,
      code
    ].join('\n')
  ]);
  return JSON.parse(stdout);
}

describe('a cluster on this computer', () => {
  it('forks a scheduler and eight workers that differ in luck but agree on hashes', async () => {
    const manager = world.manager();
    const scheduler = world.schedulerIntent();
    const [started] = await manager.request([scheduler]);
    expect(started?.type).toBe('accepted');
    await until(() => existsSync(world.schedulerFile));
    const workers = Array.from({ length: 8 }, () => world.workerIntent());
    const results = await manager.request(workers);
    expect(results.map(({ type }) => type)).toEqual(
      Array.from({ length: 8 }, () => 'accepted')
    );
    const found = (await inClient(
      world.schedulerFile,
      `c.wait_for_workers(8, timeout=60)
def look():
    import os, numpy
    return [hash('abc'), float(numpy.random.random()), os.getsid(0) == os.getpid()]
names = sorted(w['name'] for w in c.scheduler_info(n_workers=-1)['workers'].values())
print(json.dumps({'names': names, 'looks': list(c.run(look).values())}))`
    )) as { names: string[]; looks: [number, number, boolean][] };
    expect(found.names).toEqual(
      workers.map(({ launches }) => launches[0]?.id).sort()
    );
    expect(new Set(found.looks.map(look => look[0])).size).toBe(1);
    expect(new Set(found.looks.map(look => look[1])).size).toBe(8);
    expect(found.looks.every(look => look[2])).toBe(true);

    const [pool] = await world.pools();
    expect(pool?.hello.threads).toBe(1);
    expect(pool?.hello.forks).toBe(true);
    for (const process of pool?.processes ?? []) {
      expect(process.mode).toBe('fork');
      expect(await foreignListeners(process.pid)).toEqual([]);
    }
  });
});

void [
  createHash,
  readFileSync,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  tmpdir,
  resolve,
  join,
  LocalResourceManager,
  localHandleData,
  aliveOf
] satisfies unknown[];
export type { BackendEvent, Handle, JobIntent };
