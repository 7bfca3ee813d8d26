import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BackendEvent, Handle, JobIntent } from '../resource-manager.js';
import { foreignListeners } from './foreign-listeners.js';
import { localHandleData, type LocalHandleData } from './local-handle.js';
import type { LocalResourceManager } from './local-resource-manager.js';
import { aliveOf, LocalWorld, PYTHON, until } from './fixtures/local-world.js';

const run = promisify(execFile);
const MIB = 1024 * 1024;

let world: LocalWorld;

beforeEach(async () => {
  world = await LocalWorld.open();
});
afterEach(async () => {
  await world.close();
});

/** Lines of Python run by a client of the cluster; prints JSON. */
async function inClient(code: string): Promise<unknown> {
  const { stdout } = await run(PYTHON, [
    '-c',
    [
      'import json',
      'from distributed import Client',
      `c = Client(scheduler_file=${JSON.stringify(world.schedulerFile)}, timeout=30)`,
      code
    ].join('\n')
  ]);
  return JSON.parse(stdout);
}

async function start(
  manager: LocalResourceManager,
  intent: JobIntent
): Promise<{ handle: Handle; data: LocalHandleData }> {
  const [result] = await manager.request([intent]);
  const data =
    result?.type === 'accepted' ? localHandleData(result.handle) : null;
  if (result?.type !== 'accepted' || data === null) {
    throw new Error(`not accepted: ${JSON.stringify(result)}`);
  }
  return { handle: result.handle, data };
}

async function startScheduler(manager: LocalResourceManager): Promise<void> {
  await start(manager, world.schedulerIntent());
  await until(() => existsSync(world.schedulerFile));
}

function record(manager: LocalResourceManager): BackendEvent[] {
  const events: BackendEvent[] = [];
  manager.onEvent(event => events.push(event));
  return events;
}

const endings = (events: BackendEvent[]) =>
  events.filter(event => event.type === 'ended');

async function phaseOf(
  manager: LocalResourceManager,
  handle: Handle
): Promise<string | undefined> {
  const { jobs } = await manager.observe({ handles: [handle], tokens: [] });
  return jobs.get(handle.nativeId)?.phase;
}

async function onlyPool() {
  const [pool, ...others] = await world.pools();
  if (pool === undefined || others.length > 0) {
    throw new Error('one pool was expected');
  }
  return pool;
}

describe('a cluster on this computer', () => {
  it('forks a scheduler and eight workers that differ in luck but agree on hashes', async () => {
    const manager = world.manager();
    await startScheduler(manager);
    const workers = Array.from({ length: 8 }, () => world.workerIntent());
    const results = await manager.request(workers);
    expect(new Set(results.map(({ type }) => type))).toEqual(
      new Set(['accepted'])
    );
    const found = (await inClient(
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

    const pool = await onlyPool();
    expect(pool.hello).toMatchObject({ threads: 1, forks: true, whyNot: null });
    expect(pool.processes).toHaveLength(9);
    for (const process of pool.processes) {
      expect(process.mode).toBe('fork');
      expect(await foreignListeners(process.pid)).toEqual([]);
    }
  });

  it('ends a worker above 95 % of its limit and says so with both numbers', async () => {
    const manager = world.manager();
    const events = record(manager);
    await startScheduler(manager);
    const limit = 400 * MIB;
    const { handle } = await start(manager, world.workerIntent(limit));
    await inClient(
      `c.wait_for_workers(1, timeout=60)
from distributed import fire_and_forget
def eat():
    import time
    kept = bytearray(b'x') * (600 * 2**20)
    time.sleep(60)
fire_and_forget(c.submit(eat, pure=False))
import time; time.sleep(0.5)
print(json.dumps(None))`
    );
    await until(() => endings(events).length > 0);
    expect(endings(events)[0]).toMatchObject({
      handle: { nativeId: handle.nativeId },
      outcome: 'out-of-memory',
      exit: { code: null, signal: 'SIGKILL' }
    });
    expect(endings(events)[0]?.message).toMatch(
      /^memory limit: \d+ MiB of 400 MiB/
    );
    const { jobs } = await world
      .manager()
      .observe({ handles: [handle], tokens: [] });
    expect(jobs.get(handle.nativeId)?.outcome).toBe('out-of-memory');
  });

  it('keeps workers when the pool is killed, and the next pool enforces their limits', async () => {
    const manager = world.manager();
    const events = record(manager);
    await startScheduler(manager);
    const { handle, data } = await start(
      manager,
      world.workerIntent(400 * MIB)
    );
    await inClient(
      'c.wait_for_workers(1, timeout=60); print(json.dumps(None))'
    );
    const before = await onlyPool();
    process.kill(before.hello.pid, 'SIGKILL');
    await until(async () => !(await aliveOf(before.hello)));
    expect(await phaseOf(manager, handle)).toBe('running');
    const fresh = world.manager();
    expect(await phaseOf(fresh, handle)).toBe('running');
    await fresh.close();
    expect(await inClient('print(c.submit(sum, [1, 2]).result())')).toBe(3);

    await until(async () => {
      const [pool] = await world.pools().catch(() => []);
      return pool !== undefined && pool.hello.pid !== before.hello.pid;
    });
    expect(endings(events)).toEqual([]);
    await inClient(
      `from distributed import fire_and_forget
def eat():
    import time
    kept = bytearray(b'x') * (600 * 2**20)
    time.sleep(60)
fire_and_forget(c.submit(eat, pure=False))
import time; time.sleep(0.5)
print(json.dumps(None))`
    );
    await until(() => endings(events).length > 0);
    // Not the new pool's child: why is known, the exit code is not.
    expect(endings(events)[0]).toMatchObject({
      outcome: 'out-of-memory',
      exit: null
    });
    expect(await Promise.all(data.processes.map(aliveOf))).toEqual([false]);
  });

  it('starts processes anew where forking is not safe, and says why once', async () => {
    const manager = world.manager();
    const events = record(manager);
    // BLAS threads of the user's wish: a process that has them is not forked.
    const threads = (intent: JobIntent): JobIntent => ({
      ...intent,
      launches: intent.launches.map(launch => ({
        ...launch,
        environment: { OMP_NUM_THREADS: '2', OPENBLAS_NUM_THREADS: '2' }
      }))
    });
    await start(manager, threads(world.schedulerIntent()));
    await until(() => existsSync(world.schedulerFile));
    await start(manager, threads(world.workerIntent()));
    expect(
      await inClient(
        `c.wait_for_workers(1, timeout=60)
import os
print(json.dumps(list(c.run(lambda: __import__('os').environ['OMP_NUM_THREADS']).values())))`
      )
    ).toEqual(['2']);
    const pool = await onlyPool();
    expect(pool.hello.forks).toBe(false);
    expect(pool.hello.whyNot).toContain('threads');
    expect(new Set(pool.processes.map(({ mode }) => mode))).toEqual(
      new Set(['exec'])
    );
    const notes = events.flatMap(event =>
      event.type === 'changed' && event.note !== undefined ? [event.note] : []
    );
    expect(notes).toEqual([
      {
        code: 'pool-fallback',
        cluster: world.cluster,
        message: pool.hello.whyNot
      }
    ]);
  });

  it('starts from a pool that was made ready, and gives it to one cluster only', async () => {
    const manager = world.manager();
    const environment = { python: PYTHON, variables: {} };
    await manager.prepare(environment);
    await manager.prepare(environment);
    const standby = join(world.runtimeFolder, 'standby');
    const [name, ...others] = await readdir(standby);
    expect(others).toEqual([]);
    const state = JSON.parse(
      await readFile(join(standby, name ?? '', 'pool.json'), 'utf8')
    ) as { pid: number };
    await start(manager, world.schedulerIntent());
    const pool = await onlyPool();
    expect(pool.hello.pid).toBe(state.pid);
    expect(pool.hello.assigned).toBe(true);
    expect(await readdir(standby)).toEqual([]);

    const second = await LocalWorld.open();
    try {
      const other = second.manager({ runtimeFolder: world.runtimeFolder });
      await start(other, second.sleeper());
      const [its] = await second.pools();
      expect(its?.hello.pid).not.toBe(state.pid);
    } finally {
      await second.close();
    }
  });

  it('keeps at most two pools ready, the newest', async () => {
    const manager = world.manager({ forceExec: true });
    for (const threads of ['1', '2', '3']) {
      await manager.prepare({
        python: PYTHON,
        variables: { OMP_NUM_THREADS: threads }
      });
    }
    const standby = join(world.runtimeFolder, 'standby');
    await until(async () => (await readdir(standby)).length === 2);
  });

  it('ends a pool nobody took, and one whose cluster and bridge are gone', async () => {
    const manager = world.manager({
      forceExec: true,
      poolIdleSeconds: 0.5,
      standbySeconds: 0.5
    });
    await manager.prepare({ python: PYTHON, variables: { OMP_DYNAMIC: '1' } });
    const { handle } = await start(manager, world.sleeper());
    const pool = await onlyPool();
    const standby = join(world.runtimeFolder, 'standby');
    await until(async () => (await readdir(standby)).length === 0);
    await manager.close();
    // Something runs: it stays, whoever is gone.
    await new Promise(resolve => setTimeout(resolve, 1500));
    expect(await aliveOf(pool.hello)).toBe(true);
    const [own] = localHandleData(handle)?.processes ?? [];
    process.kill(own?.pid ?? 0, 'SIGKILL');
    await until(async () => !(await aliveOf(pool.hello)));
    const { jobs } = await world
      .manager()
      .observe({ handles: [handle], tokens: [] });
    expect(jobs.get(handle.nativeId)).toMatchObject({
      outcome: 'failed',
      exit: { code: null, signal: 'SIGKILL' }
    });
  });

  it('ends the pool with its cluster', async () => {
    const manager = world.manager();
    const { handle } = await start(manager, world.sleeper());
    const pool = await onlyPool();
    await manager.release([handle], { graceSeconds: 1 });
    await manager.retireCluster(world.cluster, world.folder);
    expect(await aliveOf(pool.hello)).toBe(false);
    expect(existsSync(join(pool.folder, 'socket'))).toBe(false);
  });

  it('runs several processes as one job that ends with the last of them', async () => {
    const manager = world.manager({ forceExec: true });
    const events = record(manager);
    const intent = world.sleeper({ processes: 3 });
    const { handle, data } = await start(manager, intent);
    expect(data.processes).toHaveLength(3);
    const [first, second, third] = data.processes;
    process.kill(first?.pid ?? 0, 'SIGKILL');
    await until(async () => {
      const { jobs } = await manager.observe({ handles: [handle], tokens: [] });
      return jobs.get(handle.nativeId)?.reason?.startsWith('1 of 3') === true;
    });
    expect(endings(events)).toEqual([]);
    expect(await manager.release([handle], { graceSeconds: 5 })).toEqual([
      { type: 'gone' }
    ]);
    for (const own of [second, third]) {
      expect(own !== undefined && (await aliveOf(own))).toBe(false);
    }
    await until(() => endings(events).length === 1);
    expect(endings(events)[0]).toMatchObject({
      outcome: 'failed',
      message: 'killed by SIGKILL'
    });
  });

  it('ends what a job started together with it, after the grace by force', async () => {
    const manager = world.manager({ forceExec: true });
    const intent = world.intent([
      PYTHON,
      '-c',
      `import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
print(child.pid)
while True: time.sleep(1)`
    ]);
    const { handle } = await start(manager, intent);
    const out = join(
      world.folder,
      'logs',
      `${intent.launches[0]?.id ?? ''}.out`
    );
    await until(async () =>
      /\d+\n/.test(await readFile(out, 'utf8').catch(() => ''))
    );
    const child = Number(await readFile(out, 'utf8'));
    expect(await manager.release([handle], { graceSeconds: 0.5 })).toEqual([
      { type: 'gone' }
    ]);
    await until(async () => {
      const { stdout } = await run('ps', [
        '-o',
        'stat=',
        '-p',
        String(child)
      ]).catch(() => ({ stdout: '' }));
      return stdout.trim() === '' || stdout.trim().startsWith('Z');
    });
    const { jobs } = await manager.observe({ handles: [handle], tokens: [] });
    expect(jobs.get(handle.nativeId)).toMatchObject({
      outcome: 'cancelled',
      exit: { code: null, signal: 'SIGKILL' }
    });
  });

  it('runs the lines before and after, also when it is asked to end', async () => {
    const manager = world.manager({ forceExec: true });
    const events = record(manager);
    const wrapped = (code: string): JobIntent =>
      world.intent([PYTHON, '-c', code, 'two words'], {
        prologue: ['export GREETING="good day"'],
        epilogue: ['echo "status $muster_status"']
      });
    const quick = wrapped(
      'import os, sys; print(os.environ["GREETING"], sys.argv[1]); sys.exit(7)'
    );
    const { handle } = await start(manager, quick);
    await until(() => endings(events).length > 0);
    expect(endings(events)[0]?.exit).toEqual({ code: 7, signal: null });
    const text = await manager.logs({
      handle,
      launch: quick.launches[0]?.id ?? quick.jobId,
      folder: world.folder,
      stream: 'stdout',
      offset: 0,
      limit: 1000
    });
    expect(text.text).toBe('good day two words\nstatus 7\n');

    const slow = wrapped('import time\nprint("up")\nwhile True: time.sleep(1)');
    const { handle: second } = await start(manager, slow);
    const read = () =>
      manager.logs({
        handle: second,
        launch: slow.launches[0]?.id ?? slow.jobId,
        folder: world.folder,
        stream: 'stdout',
        offset: -1000,
        limit: 1000
      });
    await until(async () => (await read()).text.includes('up'));
    expect(await manager.release([second], { graceSeconds: 10 })).toEqual([
      { type: 'gone' }
    ]);
    expect((await read()).text).toContain('status 143');
  });

  it('hands no secret of the bridge or of Jupyter to a process', async () => {
    const manager = world.manager({
      forceExec: true,
      environment: {
        ...process.env,
        JUPYTER_TOKEN: 'canary-1',
        JUPYTERHUB_API_TOKEN: 'canary-2',
        MUSTER_SECRET: 'canary-3',
        AWS_SECRET_ACCESS_KEY: 'canary-4'
      }
    });
    const { data } = await start(manager, world.sleeper());
    const pool = await onlyPool();
    for (const pid of [pool.hello.pid, data.processes[0]?.pid ?? 0]) {
      expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toContain(
        'canary'
      );
      expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(
        'canary'
      );
    }
    for (const name of ['socket', 'journal.jsonl', 'pool.log', 'config.json']) {
      expect((await stat(join(pool.folder, name))).mode & 0o077).toBe(0);
    }
  });

  it('writes what tasks write with the umask of the user, its own files for him alone', async () => {
    const manager = world.manager({ umask: 0o022 });
    await startScheduler(manager);
    expect((await stat(world.schedulerFile)).mode & 0o777).toBe(0o600);
    const file = join(world.folder, 'of-a-task');
    await start(
      manager,
      world.intent([PYTHON, '-c', `open(${JSON.stringify(file)}, 'w').close()`])
    );
    await until(() => existsSync(file));
    expect((await stat(file)).mode & 0o777).toBe(0o644);
  });

  it('listens in the runtime folder where the cluster folder is too deep', async () => {
    const folder = join(world.folder, 'd'.repeat(90));
    await mkdir(folder, { mode: 0o700 });
    const manager = world.manager({ forceExec: true });
    const intent = { ...world.sleeper(), folder };
    const { handle } = await start(manager, intent);
    const [socket] = await readdir(join(world.runtimeFolder, 'sockets'));
    const path = join(world.runtimeFolder, 'sockets', socket ?? '');
    expect((await stat(path)).isSocket()).toBe(true);
    expect((await stat(path)).mode & 0o077).toBe(0);
    const fresh = world.manager();
    expect(await fresh.release([handle], { graceSeconds: 1 })).toEqual([
      { type: 'gone' }
    ]);
    await fresh.retireCluster(world.cluster, folder);
    expect(await readdir(join(world.runtimeFolder, 'sockets'))).toEqual([]);
  });

  it('starts another pool when the present one was asked to end, and leaves its processes', async () => {
    const manager = world.manager({ forceExec: true });
    const intent = world.sleeper();
    const { handle } = await start(manager, intent);
    const pool = await onlyPool();
    process.kill(pool.hello.pid, 'SIGTERM');
    await until(async () => (await onlyPool()).hello.draining);
    const { handle: again } = await start(manager, intent);
    expect(again.nativeId).toBe(handle.nativeId);
    const { data } = await start(manager, world.sleeper());
    expect(data.pool).toMatch(/-1$/);
    expect(await phaseOf(manager, handle)).toBe('running');
    await manager.release([handle], { graceSeconds: 1 });
    await until(async () => !(await aliveOf(pool.hello)));
    expect(await aliveOf(data.processes[0] ?? { pid: 0, startTime: '' })).toBe(
      true
    );
  });

  it('ends the processes of a pool that hangs, and knows that they are gone', async () => {
    const manager = world.manager({ answerTimeoutMs: 500 });
    await startScheduler(manager);
    const { handle, data } = await start(manager, world.workerIntent());
    const pool = await onlyPool();
    process.kill(pool.hello.pid, 'SIGSTOP');
    try {
      const answers: (string | undefined)[] = [];
      await until(async () => {
        const [result] = await manager.release([handle], { graceSeconds: 0 });
        answers.push(result?.type);
        return result?.type === 'gone' || result?.type === 'already-gone';
      });
      expect(answers).not.toContain('denied');
      for (const own of data.processes) {
        expect(await aliveOf(own)).toBe(false);
      }
      // How it ended is the pool's to tell, and is not made up meanwhile.
      const { complete, jobs } = await manager.observe({
        handles: [handle],
        tokens: []
      });
      expect(complete).toBe(false);
      expect(jobs.has(handle.nativeId)).toBe(false);
    } finally {
      process.kill(pool.hello.pid, 'SIGCONT');
    }
  });

  it('says what is wrong instead of trying for ever', async () => {
    const manager = world.manager({ forceExec: true });
    const [python] = await manager.request([
      world.intent(['/nowhere/bin/python', '-c', 'pass'])
    ]);
    expect(python).toMatchObject({
      type: 'rejected',
      reasonClass: 'environment'
    });
    const [notPython] = await manager.request([
      world.intent(['/bin/true', '-c', 'pass'])
    ]);
    expect(notPython).toMatchObject({
      type: 'rejected',
      reasonClass: 'environment'
    });
    const [gpu] = await manager.request([
      world.sleeper({ resources: { cores: 1, memory: null, gpus: 1 } })
    ]);
    expect(gpu).toMatchObject({
      type: 'rejected',
      reasonClass: 'resources',
      field: 'groups[default].worker.gpus'
    });
    await chmod(world.folder, 0o755);
    const [open] = await manager.request([world.sleeper()]);
    expect(open).toMatchObject({
      type: 'rejected',
      reasonClass: 'permission'
    });
    expect(open?.type === 'rejected' && open.message).toContain('chmod 700');
    await chmod(world.folder, 0o700);
  });

  it('takes a restart of the machine for the end of what ran on it', async () => {
    const manager = world.manager({ forceExec: true });
    const { handle } = await start(manager, world.sleeper());
    const before: Handle = {
      ...handle,
      nativeId: 'before',
      data: { ...handle.data, bootId: 'an earlier one' }
    };
    const { jobs } = await manager.observe({ handles: [before], tokens: [] });
    expect(jobs.get('before')).toMatchObject({
      phase: 'ended',
      outcome: 'node-failure'
    });
    expect(await manager.release([before], { graceSeconds: 0 })).toEqual([
      { type: 'already-gone' }
    ]);
    expect(await phaseOf(manager, handle)).toBe('running');
  });

  it('opens and closes without leaving handles behind', async () => {
    const { handle } = await start(world.manager(), world.sleeper());
    const open = async () => (await readdir('/proc/self/fd')).length;
    await phaseOf(world.manager(), handle);
    const before = await open();
    for (let round = 0; round < 20; round++) {
      const manager = world.manager();
      expect(await phaseOf(manager, handle)).toBe('running');
      await manager.close();
    }
    await until(async () => (await open()) <= before + 1);
  });
});
