import { describe, expect, it } from '@jest/globals';
import {
  drainWorkers,
  judgeRemoval,
  MetricsWatch,
  stepDeadline
} from './drain.js';
import {
  CLEAN,
  DIED,
  FakeScheduler,
  worker,
  type Behaviour
} from './fixtures/drained-scheduler.js';

async function drain(
  behaviours: Record<string, Behaviour>,
  deadlineMs = 60_000
): Promise<{
  results: Record<string, string>;
  scheduler: FakeScheduler;
  messages: string;
}> {
  const scheduler = new FakeScheduler(behaviours);
  const results = await drainWorkers(scheduler, Object.keys(behaviours), {
    deadlineMs,
    stimulusId: 'test'
  });
  return {
    results: Object.fromEntries(
      [...results].map(([address, result]) => [address, result.type])
    ),
    scheduler,
    messages: [...results.values()]
      .map(result => ('message' in result ? result.message : ''))
      .join('\n')
  };
}

describe('a polite drain', () => {
  it('of idle workers takes one cordon and one removal for all, and no waiting', async () => {
    const { results, scheduler } = await drain({ a: {}, b: {}, c: {} });
    expect(results).toEqual({ a: 'retired', b: 'retired', c: 'retired' });
    expect(scheduler.calls).toEqual(['cordon a,b,c', 'remove a,b,c']);
    expect(scheduler.clock).toBe(0);
  });

  it('waits for running tasks, and no longer', async () => {
    const { results, scheduler } = await drain({
      a: { busyUntil: 10_000 },
      b: {}
    });
    expect(results).toEqual({ a: 'retired', b: 'retired' });
    expect(scheduler.clock).toBeGreaterThanOrEqual(10_000);
    expect(scheduler.clock).toBeLessThan(11_000);
  });

  it('does not wait for tasks that are only queued there: they stay stuck until it leaves', async () => {
    const { results, scheduler } = await drain({
      a: { busyUntil: 3_000, queued: 2 }
    });
    expect(results).toEqual({ a: 'retired' });
    expect(scheduler.clock).toBeGreaterThanOrEqual(3_000);
    expect(scheduler.clock).toBeLessThan(5_000);
  });

  it('ends at its deadline, whatever still runs', async () => {
    const { results, scheduler } = await drain(
      { a: { busyUntil: 1e9 } },
      20_000
    );
    expect(results).toEqual({ a: 'retired' });
    expect(scheduler.clock).toBe(20_000);
  });

  it('leaves a worker whose data has nowhere to go, and says so', async () => {
    const { results, scheduler, messages } = await drain({
      a: { unmovable: true },
      b: {}
    });
    expect(results).toEqual({ a: 'refused', b: 'retired' });
    expect(scheduler.calls).toEqual(['cordon a,b', 'remove b']);
    expect(messages).toContain('no other running worker can take');
  });

  it('tells of a worker that died meanwhile, with what was lost', async () => {
    const { results, messages } = await drain({
      a: { busyUntil: 30_000, diesAt: 5_000 },
      b: {}
    });
    expect(results).toEqual({ a: 'lost', b: 'retired' });
    expect(messages).toContain('3 tasks or results were lost');
  });

  it('takes the reply for nothing: only the event of its departure counts', async () => {
    expect((await drain({ a: { endsAs: DIED } })).results).toEqual({
      a: 'lost'
    });
    expect((await drain({ a: { eventLost: true } })).results).toEqual({
      a: 'retired'
    });
    expect(
      (await drain({ a: { eventLost: true, endsAs: DIED } })).results
    ).toEqual({ a: 'lost' });
  });

  it('that hangs climbs the ladder: once more, then out by force', async () => {
    const { results, scheduler, messages } = await drain(
      { a: { hangs: true } },
      10_000
    );
    expect(results).toEqual({ a: 'forced' });
    expect(scheduler.calls).toEqual([
      'cordon a',
      'remove a',
      'remove a',
      'unregister a'
    ]);
    expect(scheduler.clock).toBe(30_000);
    expect(messages).toContain('no answer to "retire_workers"');
    expect(messages).toContain('3 tasks or results were lost');
  });

  it('whose comm breaks cordons again and still waits for running tasks', async () => {
    const { results, scheduler } = await drain({
      a: { cutOff: 1, busyUntil: 10_000 }
    });
    expect(results).toEqual({ a: 'retired' });
    expect(scheduler.calls).toEqual(['cordon a', 'cordon a', 'remove a']);
    expect(scheduler.clock).toBeGreaterThanOrEqual(10_000);
  });

  it('whose comm breaks at every step still ends', async () => {
    const { results, scheduler } = await drain({ a: { cutOff: 99 } }, 10_000);
    expect(results).toEqual({ a: 'forced' });
    expect(scheduler.calls).toEqual([
      'cordon a',
      'cordon a',
      'remove a',
      'remove a',
      'unregister a'
    ]);
  });

  it('of one that hangs does not taint the others in the same call', async () => {
    const { results } = await drain({ a: { hangs: true }, b: {} }, 10_000);
    expect(results).toEqual({ a: 'forced', b: 'retired' });
  });

  it('tells when not even force was confirmed', async () => {
    const { results, messages } = await drain(
      { a: { hangs: true, stuck: true } },
      10_000
    );
    expect(results).toEqual({ a: 'forced' });
    expect(messages).toContain('not confirmed');
  });

  it('of a worker nobody knows is told as lost', async () => {
    const scheduler = new FakeScheduler({});
    const results = await drainWorkers(scheduler, ['x', 'x'], {
      deadlineMs: 1000,
      stimulusId: 't'
    });
    expect([...results]).toEqual([
      ['x', expect.objectContaining({ type: 'lost', lostTasks: 0 })]
    ]);
    expect(scheduler.calls).toEqual(['cordon x']);
  });

  it('of nobody asks nothing', async () => {
    const scheduler = new FakeScheduler({});
    expect(
      (await drainWorkers(scheduler, [], { deadlineMs: 1000, stimulusId: 't' }))
        .size
    ).toBe(0);
    expect(scheduler.calls).toEqual([]);
  });
});

it.each([
  [CLEAN, 'retired'],
  [{ expected: true, lostResults: 0, interruptedTasks: 4 }, 'retired'],
  [{ expected: true, lostResults: 1, interruptedTasks: 0 }, 'lost'],
  [DIED, 'lost'],
  [{ expected: false, lostResults: 0, interruptedTasks: 0 }, 'lost']
] as const)('a removal %j is judged %s', (removal, type) => {
  expect(judgeRemoval(removal).type).toBe(type);
});

it.each([
  [0, 5_000],
  [30_000, 30_000],
  [3_600_000, 120_000]
])('a drain of %d ms gives each step %d ms', (given, step) => {
  expect(stepDeadline(given)).toBe(step);
});

describe('metrics of a cordoned worker', () => {
  const see = (
    watch: MetricsWatch,
    metricsTime: number | null,
    executing: number,
    longRunning = 0
  ): boolean => {
    watch.see([worker('a', { metricsTime, executing, longRunning })]);
    return watch.isQuiet('a');
  };

  it('count after two heartbeats: the first may have been on its way before the cordon', () => {
    const watch = new MetricsWatch();
    expect(see(watch, 1, 0)).toBe(false);
    expect(see(watch, 1, 0)).toBe(false);
    expect(see(watch, 2, 0)).toBe(false);
    expect(see(watch, 3, 0)).toBe(true);
    expect(see(watch, 4, 1)).toBe(false);
    expect(see(watch, 5, 0, 1)).toBe(false);
    expect(see(watch, 6, 0)).toBe(true);
  });

  it('that never come are no proof of rest', () => {
    const watch = new MetricsWatch();
    for (let look = 0; look < 5; look++) {
      expect(see(watch, null, 0)).toBe(false);
    }
    expect(watch.isQuiet('unknown')).toBe(false);
  });
});
