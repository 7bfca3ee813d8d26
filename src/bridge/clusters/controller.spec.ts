import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { MusterError } from '../../protocol/index.js';
import { Workbench, connected } from './fixtures/workbench.js';

let bench: Workbench;

afterEach(async () => {
  await bench.close();
});

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'no error';
  } catch (error) {
    return error instanceof MusterError ? error.code : String(error);
  }
}

describe('a cluster from birth to end', () => {
  it('is listed before it is started, runs, and leaves nothing', async () => {
    bench = await Workbench.open({ queueMs: 50 });
    const { id } = await bench.create();
    expect(bench.manager.list().map(view => view.id)).toEqual([id]);
    await bench.until(id, connected(2));
    await bench.manager.stop(id, { force: false });
    await bench.until(id, view => view.phase === 'stopped');
    expect(bench.running()).toEqual([]);
    expect(await bench.kinds(id)).not.toContain('worker-died');
  });

  it('W1: a cluster whose workers are refused is listed, says why, and can be resumed', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create({ workers: 0 });
    await bench.until(id, view => view.phase === 'running');
    bench.world.faults.refusals.push(
      'account abc has no hours left',
      'account abc has no hours left'
    );
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 2 } }
    });
    const view = await bench.until(id, one =>
      one.reasons.some(reason => reason.code === 'group-failing')
    );
    expect(view.phase).toBe('running');
    expect(view.reasons[0]?.message).toMatch(/account abc has no hours left/);
    await bench.manager.resume(id);
    await bench.until(id, connected(2));
    expect(bench.manager.get(id).reasons.map(reason => reason.code)).toEqual([
      'tls-off'
    ]);
  });

  it('a refused scheduler ends in a failed cluster with the manager’s own words, and nothing running', async () => {
    bench = await Workbench.open();
    bench.world.faults.refusals.push('partition gpu is down');
    const { id } = await bench.create();
    const view = await bench.until(id, one => one.phase === 'failed');
    expect(view.reasons[0]).toMatchObject({
      code: 'submit-failed',
      message: 'partition gpu is down'
    });
    expect(bench.running()).toEqual([]);
  });

  it('W7: stopping twice is stopping once', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    await Promise.all([
      bench.manager.stop(id, { force: false }),
      bench.manager.stop(id, { force: false })
    ]);
    await bench.until(id, view => view.phase === 'stopped');
    await bench.manager.stop(id, { force: false });
    expect(
      (await bench.kinds(id)).filter(kind => kind === 'stopped')
    ).toHaveLength(1);
  });

  it('stopping while it starts leaves nothing, also what was asked for a moment before', async () => {
    bench = await Workbench.open({ queueMs: 30 });
    for (const delay of [0, 1, 5, 20, 60]) {
      const { id } = await bench.create({ name: `early-${delay}` });
      await sleep(delay);
      await bench.manager.stop(id, { force: false });
      await bench.until(id, view => view.phase === 'stopped');
    }
    expect(bench.running()).toEqual([]);
  });

  it('restarts under the same id with a new scheduler', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    await bench.manager.restart(id);
    await bench.until(id, view => view.phase !== 'running');
    await bench.until(id, connected(2));
    expect(
      bench.manager.jobs(id).filter(job => job.group === null)
    ).toHaveLength(2);
    expect(bench.running(id)).toHaveLength(3);
  });

  it('is forgotten only when it has ended', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    expect(await codeOf(bench.manager.forget(id))).toBe('conflict');
    await bench.until(id, connected(2));
    await bench.manager.stop(id, { force: false });
    await bench.until(id, view => view.phase === 'stopped');
    await bench.manager.forget(id);
    expect(bench.manager.list()).toEqual([]);
    expect(bench.disk.clusters.size).toBe(0);
  });
});

describe('names and keys', () => {
  it('W6: of two creates of one name at once the second is refused, before anything starts', async () => {
    bench = await Workbench.open();
    const results = await Promise.allSettled([
      bench.create({ name: 'twin' }),
      bench.create({ name: 'twin' })
    ]);
    expect(results.map(result => result.status).sort()).toEqual([
      'fulfilled',
      'rejected'
    ]);
    expect(bench.manager.list()).toHaveLength(1);
  });

  it('a name is free again when its cluster has ended, and then means the newest', async () => {
    bench = await Workbench.open();
    const first = await bench.create({ name: 'again' });
    expect(await codeOf(bench.create({ name: 'again' }))).toBe('conflict');
    await bench.manager.stop(first.id, { force: false });
    await bench.until(first.id, view => view.phase === 'stopped');
    const second = await bench.create({ name: 'again' });
    expect(bench.manager.get('again').id).toBe(second.id);
    expect(await codeOf(bench.manager.restart(first.id))).toBe('conflict');
  });

  it('the same Idempotency-Key is the same cluster, also after a crash; with another body a conflict', async () => {
    bench = await Workbench.open();
    const [one, two] = await Promise.all([
      bench.create({ name: 'once' }, 'k'),
      bench.create({ name: 'once' }, 'k')
    ]);
    expect(one.id).toBe(two.id);
    await bench.crash();
    await bench.start();
    expect((await bench.create({ name: 'once' }, 'k')).id).toBe(one.id);
    expect(await codeOf(bench.create({ name: 'other' }, 'k'))).toBe('conflict');
  });

  it('W8: an unknown cluster is not-found', async () => {
    bench = await Workbench.open();
    expect(await codeOf(bench.manager.stop('nobody', { force: false }))).toBe(
      'not-found'
    );
    expect(await codeOf(bench.patch('nobody', { name: 'x' }))).toBe(
      'not-found'
    );
  });
});

describe('sizes', () => {
  it('W5: scale(10), none joined yet, then scale(0): nothing comes later', async () => {
    bench = await Workbench.open({ queueMs: 500 });
    const { id } = await bench.create({ workers: 0 });
    await bench.until(id, view => view.phase === 'running');
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 10 } }
    });
    await bench.until(id, view => view.groups[0]?.counts.queued === 10);
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 0 } }
    });
    await bench.until(id, connected(0));
    await sleep(700);
    expect(bench.running(id)).toHaveLength(1);
    expect(await bench.kinds(id)).not.toContain('worker-died');
  });

  it('BK-10: five quick changes end in the last, with no job too many', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    for (const workers of [7, 1, 5, 0, 3]) {
      await bench.patch(id, { scale: { default: { type: 'fixed', workers } } });
    }
    await bench.until(id, connected(3));
    await sleep(300);
    expect(connected(3)(bench.manager.get(id))).toBe(true);
    expect(bench.running(id)).toHaveLength(4);
  });

  it('W4: a size that cannot be reached is kept as the wish, and what is missing is said', async () => {
    bench = await Workbench.open({
      capacity: 5,
      capabilities: { hostBound: false }
    });
    const { id } = await bench.create({ workers: 6 });
    const view = await bench.until(
      id,
      one =>
        one.groups[0]?.counts.connected === 4 &&
        one.groups[0].counts.queued === 2
    );
    expect(view.groups[0]).toMatchObject({
      target: 6,
      counts: { connected: 4, queued: 2 }
    });
    expect(view.groups[0]?.pendingReasons[0]?.jobs).toBe(2);
  });

  it('BK-08: jobs that wait for room are not churned, and come when there is room', async () => {
    bench = await Workbench.open({ capacity: 4 });
    const { id } = await bench.create({ workers: 4 });
    await bench.until(id, view => view.groups[0]?.counts.connected === 3);
    const before = bench.world.jobs.size;
    await sleep(400);
    expect(bench.world.jobs.size).toBe(before);
    bench.world.capacity = 10;
    await bench.until(id, connected(4));
  });

  it('several workers a job: the unit is the job', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create({
      groups: [{ workersPerJob: 4, scale: { type: 'fixed', workers: 6 } }]
    });
    await bench.until(id, connected(8));
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 3 } }
    });
    // The job that goes is not counted from when it was drained, and ended a moment later.
    await bench.until(
      id,
      view => connected(4)(view) && bench.running(id).length === 2
    );
  });

  it('adapts up at once and back to its minimum', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create({
      groups: [
        {
          scale: {
            type: 'adaptive',
            minimum: { workers: 1 },
            maximum: { workers: 4 }
          }
        }
      ]
    });
    await bench.until(id, connected(1));
    const scheduler = bench.scheduler(id);
    scheduler.target = 50;
    scheduler.tasks = { ...scheduler.tasks, processing: 100 };
    await bench.until(id, connected(4));
    scheduler.target = 0;
    scheduler.tasks = { ...scheduler.tasks, processing: 0 };
    await bench.until(id, connected(1));
    expect(await bench.kinds(id)).not.toContain('worker-died');
  });

  it('tells the scheduler its worker specification whenever it changes', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    expect(bench.scheduler(id).metadata.get('muster')).toMatchObject({
      cluster: id,
      groups: { default: { target: 2 } }
    });
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 3 } }
    });
    await bench.until(id, connected(3));
    expect(bench.scheduler(id).metadata.get('muster')).toMatchObject({
      groups: { default: { target: 3 } }
    });
  });

  it('a limit of the site is refused with both numbers, at creation and when scaling', async () => {
    bench = await Workbench.open({ limits: { maximumWorkers: 3 } });
    await expect(bench.create({ workers: 4 })).rejects.toMatchObject({
      code: 'policy'
    });
    const { id } = await bench.create({ workers: 3 });
    await expect(
      bench.patch(id, { scale: { default: { type: 'fixed', workers: 9 } } })
    ).rejects.toThrow(/9 .* 3 allowed/);
  });

  it('a worker that will not retire stays, and that is said', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create({ workers: 1 });
    await bench.until(id, connected(1));
    const [worker] = bench.manager.workers(id);
    bench.scheduler(id).stubborn.add(String(worker?.id));
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 0 } }
    });
    await bench.until(id, view =>
      view.reasons.some(reason => reason.code === 'retire-refused')
    );
    expect(bench.running(id)).toHaveLength(2);
  });
});

describe('losses', () => {
  it('a worker that dies is told with exit and log tail, and replaced', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    const victim = bench.running(id).find(job => job.intent.group !== null);
    bench.world.end(victim?.nativeId ?? '', {
      outcome: 'out-of-memory',
      exit: { code: null, signal: 'SIGKILL' }
    });
    await bench.until(id, view =>
      view.reasons.some(reason => reason.code === 'worker-died')
    );
    await bench.until(id, connected(2));
    const died = (
      await bench.manager.events(id, { after: -1, limit: 100 })
    ).items.filter(event => event.kind === 'worker-died');
    expect(died).toHaveLength(1);
    expect(died[0]?.data).toMatchObject({
      reason: 'oom',
      exit: { signal: 'SIGKILL' },
      expected: false
    });
  });

  it('BK-07: workers that end at once stop the group, not the cluster', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create({ workers: 0 });
    await bench.until(id, view => view.phase === 'running');
    bench.world.faults.crashes = 100;
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 2 } }
    });
    const view = await bench.until(id, one =>
      one.reasons.some(reason => reason.code === 'group-failing')
    );
    expect(view.phase).toBe('running');
    const submitted = bench.world.jobs.size;
    await sleep(500);
    expect(bench.world.jobs.size).toBe(submitted);
    expect(submitted).toBeLessThan(12);
  });

  it('BK-28: an empty listing changes nothing', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    bench.world.faults.emptyListings = 1;
    const before = bench.world.jobs.size;
    await sleep(700);
    expect(connected(2)(bench.manager.get(id))).toBe(true);
    expect(bench.world.jobs.size).toBe(before);
  });

  it('a scheduler that dies ends the cluster, with the reason, and its workers', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    const scheduler = bench.running(id).find(job => job.intent.group === null);
    bench.world.end(scheduler?.nativeId ?? '', {
      outcome: 'failed',
      exit: { code: null, signal: 'SIGKILL' }
    });
    const view = await bench.until(id, one => one.phase === 'failed');
    expect(view.reasons[0]?.message).toMatch(/SIGKILL/);
    expect(bench.running(id)).toEqual([]);
  });

  it('a lost answer is not a second job: it is found by its token', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create({ workers: 0 });
    await bench.until(id, view => view.phase === 'running');
    bench.world.faults.lostAnswers = 1;
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 1 } }
    });
    await bench.until(id, connected(1));
    expect(bench.running(id)).toHaveLength(2);
    expect(await bench.kinds(id)).toContain('adopted');
  });

  it('an unreachable manager is said, and nothing is concluded from it', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    bench.world.faults.unreachable = true;
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 3 } }
    });
    const view = await bench.until(id, one => one.health === 'unreachable');
    expect(view.phase).toBe('running');
    expect(view.groups[0]?.counts.connected).toBe(2);
    expect(view.reasons.map(reason => reason.code)).toContain('submit-failed');
    bench.world.faults.unreachable = false;
    const back = await bench.until(id, connected(3));
    expect(back.reasons.map(reason => reason.code)).not.toContain(
      'submit-failed'
    );
  });

  it('a forced stop gives up on an unreachable manager and says what may remain', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    bench.scheduler(id).onClose = () => undefined;
    bench.world.faults.unreachable = true;
    await bench.manager.stop(id, { force: false });
    await sleep(200);
    expect(bench.manager.get(id).phase).toBe('stopping');
    await bench.manager.stop(id, { force: true });
    await bench.until(id, view => view.phase === 'stopped');
    const last = (
      await bench.manager.events(id, { after: -1, limit: 100 })
    ).items.at(-1);
    expect(last?.message).toMatch(/may still run: /);
  });

  it('W11: one broken cluster never hides the others', async () => {
    bench = await Workbench.open();
    const good = await bench.create({ name: 'good' });
    const bad = await bench.create({ name: 'bad' });
    await bench.until(good.id, connected(2));
    await bench.until(bad.id, connected(2));
    bench.scheduler(bad.id).tell({ type: 'lost', message: 'reset' });
    expect(
      bench.manager
        .list()
        .map(view => view.name)
        .sort()
    ).toEqual(['bad', 'good']);
    expect(bench.manager.get('bad').health).toBe('unreachable');
    expect(bench.manager.get('good').health).toBe('ok');
  });

  it('a full disk is said on the cluster it concerns, which goes on', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    bench.disk.failures = 2;
    await expect(
      bench.patch(id, { scale: { default: { type: 'fixed', workers: 3 } } })
    ).rejects.toThrow(/no space/);
    expect(bench.manager.get(id).reasons.map(reason => reason.code)).toContain(
      'state-not-writable'
    );
    bench.disk.failures = 0;
    await bench.patch(id, {
      scale: { default: { type: 'fixed', workers: 4 } }
    });
    const view = await bench.until(id, connected(4));
    expect(view.reasons.map(reason => reason.code)).not.toContain(
      'state-not-writable'
    );
  });

  it('a full disk refuses a new cluster, and nothing is started', async () => {
    bench = await Workbench.open();
    bench.disk.failures = 1;
    expect(await codeOf(bench.create())).toMatch(/no space left/);
    expect(bench.manager.list()).toEqual([]);
    await sleep(100);
    expect(bench.world.jobs.size).toBe(0);
  });
});

describe('crashes of the bridge', () => {
  it('at any moment of a start cost nothing but time: no job twice, none lost', async () => {
    bench = await Workbench.open({ queueMs: 20, startMs: 10 });
    for (const delay of [0, 2, 5, 10, 20, 40, 80]) {
      const { id } = await bench.create({ name: `crash-${delay}` });
      await sleep(delay);
      await bench.crash();
      await bench.start();
      await bench.until(id, connected(2), 20);
      expect(bench.running(id)).toHaveLength(3);
      await bench.manager.stop(id, { force: false });
      await bench.until(id, view => view.phase === 'stopped');
      expect(bench.running(id)).toEqual([]);
    }
  }, 120_000);

  it('between a request for the scheduler and its beginning ask for it again, once', async () => {
    bench = await Workbench.open({ queueMs: 10_000 });
    const { id } = await bench.create();
    await bench.until(id, view => view.scheduler.phase === 'queued');
    await bench.crash();
    // What a kill -9 leaves that struck after the intent was written and before the act.
    for (const job of bench.disk.jobs.values()) {
      job.phase = 'submitting';
      job.handle = null;
      job.submittedAt = null;
      job.createdAt = new Date(Date.now() - 60_000).toISOString();
    }
    bench.world.jobs.clear();
    await bench.start();
    const view = await bench.until(
      id,
      one => one.scheduler.phase === 'queued' || one.phase === 'failed'
    );
    expect(view.phase).toBe('creating');
    expect(bench.running(id)).toHaveLength(1);
  });

  it('while it is stopped are finished by the next bridge', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    await bench.manager.stop(id, { force: false });
    await bench.crash();
    await bench.start();
    await bench.until(id, view => view.phase === 'stopped');
    expect(bench.running()).toEqual([]);
  });

  it('a job that ended meanwhile is settled, told and replaced', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    await bench.crash();
    const victim = bench.running(id).find(job => job.intent.group !== null);
    bench.world.end(victim?.nativeId ?? '', {
      outcome: 'failed',
      exit: { code: 3, signal: null }
    });
    await bench.start();
    await bench.until(id, connected(2));
    expect(
      (await bench.kinds(id)).filter(kind => kind === 'worker-died')
    ).toHaveLength(1);
  });

  it('the sequence of events only grows, over all bridges', async () => {
    bench = await Workbench.open();
    await bench.create({ name: 'one' });
    await sleep(50);
    const before = bench.manager.seq;
    await bench.crash();
    await bench.start();
    expect(bench.manager.seq).toBeGreaterThan(before);
    const seqs = bench.disk.events.map(event => event.seq);
    expect([...seqs].sort((a, b) => a - b)).toEqual(seqs);
    expect(new Set(seqs).size).toBe(seqs.length);
  });
});
