import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Workbench, connected } from './fixtures/workbench.js';
import { Turns } from './turns.js';

let bench: Workbench;

afterEach(async () => {
  await bench.close();
});

describe('what the store refuses', () => {
  it('has no effect: a refused stop does not stop, now or when there is room again', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    bench.disk.failures = 1_000;
    await expect(bench.manager.stop(id, { force: false })).rejects.toThrow(
      /no space/
    );
    expect(bench.manager.get(id).phase).toBe('running');
    bench.disk.failures = 0;
    await sleep(300);
    expect(bench.manager.get(id).phase).toBe('running');
    expect(bench.running(id)).toHaveLength(3);
    await bench.manager.stop(id, { force: false });
    await bench.until(id, view => view.phase === 'stopped');
  });

  it('is not the size of a cluster, nor its lifetime or name', async () => {
    bench = await Workbench.open();
    const { id, name } = await bench.create();
    const before = await bench.until(id, connected(2));
    bench.disk.failures = 1_000;
    const wishes = await Promise.allSettled([
      bench.patch(id, { scale: { default: { type: 'fixed', workers: 5 } } }),
      bench.patch(id, { scale: { default: { type: 'fixed', workers: 0 } } }),
      bench.patch(id, { lifetime: { idleTimeout: 60 }, name: 'other' })
    ]);
    expect(wishes.map(wish => wish.status)).toEqual([
      'rejected',
      'rejected',
      'rejected'
    ]);
    bench.disk.failures = 0;
    await sleep(300);
    const after = bench.manager.get(id);
    expect(after.name).toBe(name);
    expect(after.spec).toEqual(before.spec);
    expect(bench.running(id)).toHaveLength(3);
  });

  it('is not a second stop that joined the first', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    bench.disk.failures = 1_000;
    const stops = await Promise.allSettled([
      bench.manager.stop(id, { force: false }),
      bench.manager.stop(id, { force: false })
    ]);
    expect(stops.map(stop => stop.status)).toEqual(['rejected', 'rejected']);
    bench.disk.failures = 0;
  });
});

describe('requests that change one cluster at once', () => {
  it('never restart what was forgotten, nor bring its record back', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    await bench.manager.stop(id, { force: false });
    await bench.until(id, view => view.phase === 'stopped');
    const [forgotten, restarted] = await Promise.allSettled([
      bench.manager.forget(id),
      bench.manager.restart(id)
    ]);
    expect(forgotten.status).toBe('fulfilled');
    expect(restarted).toMatchObject({ reason: { code: 'not-found' } });
    await sleep(100);
    expect(bench.disk.clusters.size).toBe(0);
    expect(bench.running(id)).toEqual([]);
  });

  it('a failure of one does not hold up the next, and nothing is kept of them', async () => {
    bench = await Workbench.open();
    const turns = new Turns();
    const order: string[] = [];
    const first = turns.take('a', async () => {
      await sleep(20);
      order.push('first');
      throw new Error('no');
    });
    const second = turns.take('a', () => {
      order.push('second');
      return Promise.resolve();
    });
    const other = turns.take('b', () => {
      order.push('other');
      return Promise.resolve();
    });
    await Promise.allSettled([first, second, other]);
    expect(order).toEqual(['other', 'first', 'second']);
    await sleep(0);
    expect(turns.size).toBe(0);
  });
});
