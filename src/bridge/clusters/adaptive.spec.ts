import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type {
  AdaptiveGroup,
  AdaptiveLoad,
  AdaptiveMemory
} from './adaptive.js';
import { adaptiveStep, spread, wantedWorkers } from './adaptive.js';

function group(options: Partial<AdaptiveGroup> = {}): AdaptiveGroup {
  return {
    name: 'default',
    minimum: 0,
    maximum: 10,
    workersPerJob: 1,
    cores: 1,
    ...options
  };
}

function load(options: Partial<AdaptiveLoad> = {}): AdaptiveLoad {
  return {
    schedulerTarget: 0,
    present: 0,
    draining: 0,
    fixedWorkers: 0,
    runnableTasks: null,
    meanThreads: 0,
    ...options
  };
}

describe('the wanted number of workers', () => {
  it.each([
    [
      'is the scheduler’s own target',
      load({ schedulerTarget: 7, present: 2, meanThreads: 1 }),
      1,
      7
    ],
    [
      'with no worker present divides threads by the cores of one',
      load({ schedulerTarget: 8 }),
      4,
      2
    ],
    [
      'is never more than there are tasks to run',
      load({
        schedulerTarget: 50,
        present: 2,
        meanThreads: 2,
        runnableTasks: 6
      }),
      2,
      3
    ],
    [
      'does not fall below what is present for want of tasks: data may live there',
      load({
        schedulerTarget: 3,
        present: 3,
        meanThreads: 1,
        runnableTasks: 0
      }),
      1,
      3
    ],
    [
      'is 0 when nothing is wanted',
      load({ present: 4, meanThreads: 1, runnableTasks: 0 }),
      1,
      0
    ]
  ])('%s', (_, state, cores, expected) => {
    expect(wantedWorkers(state, [group({ cores })])).toBe(expected);
  });
});

describe('spreading over groups', () => {
  it('fills every minimum first, then in the order of listing up to each maximum', () => {
    const groups = [
      group({ name: 'a', minimum: 1, maximum: 3 }),
      group({ name: 'b', minimum: 2, maximum: 4 })
    ];
    expect([...spread(0, groups)]).toEqual([
      ['a', 1],
      ['b', 2]
    ]);
    expect([...spread(4, groups)]).toEqual([
      ['a', 2],
      ['b', 2]
    ]);
    expect([...spread(6, groups)]).toEqual([
      ['a', 3],
      ['b', 3]
    ]);
    expect([...spread(100, groups)]).toEqual([
      ['a', 3],
      ['b', 4]
    ]);
  });

  it('gives whole jobs and never exceeds a maximum', () => {
    fc.assert(
      fc.property(
        fc.nat(200),
        fc.nat(5),
        fc.nat(20),
        fc.integer({ min: 1, max: 7 }),
        (wanted, low, more, perJob) => {
          const one = group({
            minimum: low * perJob,
            maximum: (low + more) * perJob,
            workersPerJob: perJob
          });
          const target = spread(wanted, [one]).get('default') ?? -1;
          expect(target % perJob).toBe(0);
          expect(target).toBeGreaterThanOrEqual(one.minimum);
          expect(target).toBeLessThanOrEqual(one.maximum);
        }
      )
    );
  });
});

describe('a step', () => {
  const groups = [group()];
  const step = (
    memory: AdaptiveMemory,
    current: number,
    target: number,
    now: number
  ) =>
    adaptiveStep({
      memory,
      load: load({
        schedulerTarget: target,
        present: Math.max(1, current),
        meanThreads: 1
      }),
      groups,
      current: new Map([['default', current]]),
      downAfterMs: 5_000,
      now
    });

  it('goes up at once', () => {
    expect(step([], 0, 4, 0).targets.get('default')).toBe(4);
  });

  it('goes down only after the lower target has held', () => {
    let memory: AdaptiveMemory = [];
    const seen: (number | undefined)[] = [];
    for (let now = 0; now <= 6_000; now += 1_000) {
      const result = step(memory, 4, 1, now);
      memory = result.memory;
      seen.push(result.targets.get('default'));
    }
    expect(seen).toEqual([4, 4, 4, 4, 4, 1, 1]);
  });

  it('a short burst of work begins the wait anew', () => {
    let memory: AdaptiveMemory = [];
    const wishes = [1, 1, 1, 4, 1, 1, 1, 1, 1, 1];
    const seen = wishes.map((wish, index) => {
      const result = step(memory, 4, wish, index * 1_000);
      memory = result.memory;
      return result.targets.get('default');
    });
    expect(seen).toEqual([4, 4, 4, 4, 4, 4, 4, 4, 4, 1]);
  });

  it('W3: the same range again changes nothing', () => {
    const result = step(
      [{ time: -10_000, targets: new Map([['default', 3]]) }],
      3,
      3,
      0
    );
    expect(result.targets.get('default')).toBe(3);
  });

  it('BK-16: after load and idleness exactly the minimum remains', () => {
    const bounded = [group({ minimum: 2, maximum: 8 })];
    let memory: AdaptiveMemory = [];
    let current = 2;
    for (let now = 0; now <= 30_000; now += 1_000) {
      const result = adaptiveStep({
        memory,
        load: load({
          schedulerTarget: now < 10_000 ? 8 : 0,
          present: current,
          meanThreads: 1
        }),
        groups: bounded,
        current: new Map([['default', current]]),
        downAfterMs: 5_000,
        now
      });
      memory = result.memory;
      current = result.targets.get('default') ?? -1;
    }
    expect(current).toBe(2);
  });

  it('workers of fixed groups are capacity that is there anyway', () => {
    const result = adaptiveStep({
      memory: [],
      load: load({
        schedulerTarget: 5,
        present: 2,
        meanThreads: 1,
        fixedWorkers: 2
      }),
      groups,
      current: new Map([['default', 0]]),
      downAfterMs: 5_000,
      now: 0
    });
    expect(result.targets.get('default')).toBe(3);
  });

  it('stays within its range and keeps a bounded memory, whatever the load does', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { maxLength: 60 }), targets => {
        let memory: AdaptiveMemory = [];
        let current = 0;
        targets.forEach((target, index) => {
          const result = step(memory, current, target, index * 500);
          memory = result.memory;
          const next = result.targets.get('default') ?? -1;
          expect(next).toBeGreaterThanOrEqual(0);
          expect(next).toBeLessThanOrEqual(10);
          current = next;
          expect(memory.length).toBeLessThanOrEqual(13);
        });
      })
    );
  });
});
