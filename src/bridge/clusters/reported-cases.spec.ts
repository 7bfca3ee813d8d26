/** Failures that users of other cluster managers reported, each as input and right behaviour. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { FakeLink } from './fixtures/fake-scheduler.js';
import { Workbench, connected } from './fixtures/workbench.js';

let bench: Workbench;

afterEach(async () => {
  await bench.close();
});

const resize = (workers: number) => ({
  scale: { default: { type: 'fixed' as const, workers } }
});

function linkOf(id: string): FakeLink {
  const [link] = bench.scheduler(id).links;
  if (link === undefined) {
    throw new Error('there is no link');
  }
  return link;
}

describe('starting', () => {
  it('W30: a start that hangs leaves everything else responsive, and can be stopped', async () => {
    bench = await Workbench.open();
    bench.mute = true;
    const { id } = await bench.create({ name: 'hangs' });
    await sleep(200);
    expect(bench.manager.get(id)).toMatchObject({
      phase: 'creating',
      scheduler: { phase: 'running', address: null }
    });
    bench.mute = false;
    const other = await bench.create({ name: 'other' });
    bench.mute = true;
    await bench.until(other.id, view => view.phase !== 'failed');
    await bench.manager.stop(id, { force: false });
    await bench.until(id, view => view.phase === 'stopped');
    expect(bench.running(id)).toEqual([]);
    bench.mute = false;
  });

  it('BK-01: a cluster that is pending has no address to connect to, and says that it is pending', async () => {
    bench = await Workbench.open({ queueMs: 300 });
    const { id } = await bench.create();
    expect(() => bench.manager.connection(id)).toThrow(/is pending/);
    await bench.until(id, view => view.phase === 'running');
    expect((await bench.manager.connection(id)).address).toMatch(/^tcp:/);
    await bench.manager.stop(id, { force: false });
    await bench.until(id, view => view.phase === 'stopped');
    expect(() => bench.manager.connection(id)).toThrow(/has ended/);
  });
});

describe('scaling', () => {
  it('BK-22: a retirement the scheduler cannot do kills no worker, and is tried again', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create({ workers: 4 });
    await bench.until(id, connected(4));
    const link = linkOf(id);
    const { drain } = link;
    let asked = 0;
    link.drain = () => {
      asked += 1;
      return Promise.reject(
        new Error("TypeError('unexpected keyword argument')")
      );
    };
    await bench.patch(id, resize(2));
    await sleep(300);
    expect(asked).toBeGreaterThan(0);
    expect(bench.running(id)).toHaveLength(5);
    link.drain = drain;
    await bench.until(id, connected(2));
    expect(await bench.kinds(id)).not.toContain('worker-died');
  });

  it('BK-33: an adaptive pass that fails is one pass: the next one scales', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create({
      groups: [
        {
          scale: {
            type: 'adaptive',
            minimum: { workers: 0 },
            maximum: { workers: 3 }
          }
        }
      ]
    });
    await bench.until(
      id,
      view => view.phase === 'running' && bench.scheduler(id).links.size === 1
    );
    const link = linkOf(id);
    const { adaptiveTarget } = link;
    link.adaptiveTarget = () => Promise.reject(new Error('comm closed'));
    await sleep(100);
    const scheduler = bench.scheduler(id);
    scheduler.target = 3;
    scheduler.tasks = { ...scheduler.tasks, processing: 30 };
    link.adaptiveTarget = adaptiveTarget;
    await bench.until(id, connected(3));
  });

  it('BK-36: a release that fails once is asked for again', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create({ workers: 5 });
    await bench.until(id, connected(5));
    bench.world.faults.unreachable = true;
    await bench.patch(id, resize(1));
    await sleep(200);
    bench.world.faults.unreachable = false;
    await bench.until(id, connected(1));
    expect(bench.running(id)).toHaveLength(2);
  });

  it('BK-30: one cluster without an answer yet never spoils the others', async () => {
    bench = await Workbench.open({ queueMs: 50 });
    const slow = await bench.create({ name: 'slow', workers: 0 });
    await bench.until(slow.id, view => view.phase === 'running');
    bench.world.faults.lostAnswers = 1;
    await bench.patch(slow.id, resize(1));
    const others = await Promise.all(
      ['a', 'b', 'c', 'd'].map(name => bench.create({ name }))
    );
    for (const other of others) {
      await bench.until(other.id, connected(2));
    }
    await bench.until(slow.id, connected(1));
  });
});

describe('stopping', () => {
  it('BK-37: workers that have never started are withdrawn too, and none starts later', async () => {
    bench = await Workbench.open({
      capacity: 1,
      capabilities: { hostBound: false }
    });
    const { id } = await bench.create({ workers: 12 });
    await bench.until(id, view => view.groups[0]?.counts.queued === 12);
    await bench.manager.stop(id, { force: false });
    await bench.until(id, view => view.phase === 'stopped');
    bench.world.capacity = 100;
    await sleep(300);
    expect(bench.running()).toEqual([]);
  });

  it('BK-29: a worker that ends while nothing is pending is noticed and replaced', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    await sleep(300);
    const victim = bench.running(id).find(job => job.intent.group !== null);
    bench.world.end(victim?.nativeId ?? '', { outcome: 'node-failure' });
    await bench.until(id, view =>
      view.reasons.some(reason => reason.code === 'worker-died')
    );
    await bench.until(id, connected(2));
    const died = (
      await bench.manager.events(id, { after: -1, limit: 99 })
    ).items.find(event => event.kind === 'worker-died');
    expect(died?.data).toMatchObject({ reason: 'nodeFail' });
  });
});
