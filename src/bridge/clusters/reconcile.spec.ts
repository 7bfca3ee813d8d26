import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JobId, JobPhase } from '../../protocol/index.js';
import { workerId } from '../../protocol/index.js';
import type { PlanGroup, PlanInput, PlanJob, PlanWorker } from './reconcile.js';
import { DEFAULT_LIMITS, plan } from './reconcile.js';

const NOW = 1_000_000;
let counter = 0;

function jobId(): JobId {
  counter += 1;
  return `j${String(counter).padStart(15, '0')}` as JobId;
}

function job(
  options: Partial<PlanJob> & {
    state?: PlanWorker['state'];
    count?: number;
  } = {}
): PlanJob {
  const id = options.id ?? jobId();
  const group = options.group === undefined ? 'default' : options.group;
  return {
    id,
    group,
    phase: 'running',
    hasHandle: true,
    createdAt: NOW - 1_000,
    startedAt: NOW - 900,
    workers:
      group === null
        ? []
        : Array.from({ length: options.count ?? 1 }, (_, index) => ({
            id: workerId(id, index),
            state: options.state ?? 'connected'
          })),
    draining: false,
    endedByUs: false,
    goneSince:
      options.state === 'gone' && options.group !== null ? NOW - 10_000 : null,
    releasedAt: null,
    ...options
  };
}

const scheduler = job({ group: null });

function group(options: Partial<PlanGroup> = {}): PlanGroup {
  return {
    name: 'default',
    workersPerJob: 1,
    target: 2,
    notBefore: 0,
    ...options
  };
}

function input(options: Partial<PlanInput> = {}): PlanInput {
  return {
    now: NOW,
    phase: 'running',
    force: false,
    schedulerAddress: true,
    linkUp: true,
    terminatedAt: null,
    groups: [group()],
    jobs: [scheduler],
    limits: DEFAULT_LIMITS,
    ...options
  };
}

describe('a cluster that shall run', () => {
  it('gets its scheduler first, and only one', () => {
    expect(
      plan(input({ phase: 'creating', jobs: [], schedulerAddress: false }))
        .actions
    ).toEqual([{ type: 'start-scheduler' }]);
    expect(
      plan(input({ phase: 'creating', schedulerAddress: false })).actions
    ).toEqual([]);
  });

  it('asks for no worker before the scheduler has an address', () => {
    expect(plan(input({ schedulerAddress: false })).actions).toEqual([]);
  });

  it('fails when the scheduler does not tell its address in time, counted from when it was granted', () => {
    const waiting = job({
      group: null,
      startedAt: NOW - DEFAULT_LIMITS.schedulerStartMs + 10
    });
    const early = plan(input({ schedulerAddress: false, jobs: [waiting] }));
    expect(early).toEqual({ actions: [], recheckInMs: 10 });
    const late = plan(
      input({ schedulerAddress: false, jobs: [waiting], now: NOW + 10 })
    );
    expect(late.actions[0]?.type).toBe('fail');
    const queued = job({
      group: null,
      phase: 'queued',
      startedAt: null,
      createdAt: 0
    });
    expect(plan(input({ schedulerAddress: false, jobs: [queued] }))).toEqual({
      actions: [],
      recheckInMs: null
    });
  });

  it('does not start a second scheduler when the first has ended', () => {
    const actions = plan(
      input({ jobs: [job({ group: null, phase: 'ended' })] })
    ).actions;
    expect(actions).toEqual([{ type: 'fail', reason: 'the scheduler ended' }]);
  });

  it('asks again for a scheduler that never began, but not for ever', () => {
    const neverBegan = (): PlanJob =>
      job({ group: null, phase: 'ended', hasHandle: false, startedAt: null });
    const creating = { phase: 'creating', schedulerAddress: false } as const;
    expect(plan(input({ ...creating, jobs: [neverBegan()] })).actions).toEqual([
      { type: 'start-scheduler' }
    ]);
    expect(
      plan(
        input({
          ...creating,
          jobs: [neverBegan(), job({ group: null, phase: 'ended' })]
        })
      ).actions
    ).toEqual([{ type: 'fail', reason: 'the scheduler ended' }]);
    const jobs = Array.from(
      { length: DEFAULT_LIMITS.schedulerAttempts },
      neverBegan
    );
    expect(plan(input({ ...creating, jobs })).actions[0]?.type).toBe('fail');
  });

  it('asks for exactly the missing jobs', () => {
    const actions = plan(
      input({
        groups: [group({ target: 5 })],
        jobs: [scheduler, job(), job({ phase: 'queued' })]
      })
    ).actions;
    expect(actions).toEqual([{ type: 'request', group: 'default', jobs: 3 }]);
  });

  it('counts in jobs: 5 workers at 4 a job are 2 jobs', () => {
    const actions = plan(
      input({ groups: [group({ target: 5, workersPerJob: 4 })] })
    ).actions;
    expect(actions).toEqual([{ type: 'request', group: 'default', jobs: 2 }]);
  });

  it.each<JobPhase>([
    'submitting',
    'uncertain',
    'queued',
    'held',
    'starting',
    'running',
    'suspended'
  ])(
    'counts a job that is %s toward the target: no extra job for one bad answer',
    phase => {
      const actions = plan(
        input({
          groups: [group({ target: 1 })],
          jobs: [scheduler, job({ phase, state: 'expected' })]
        })
      ).actions;
      expect(actions).toEqual([]);
    }
  );

  it('replaces a job that has ended', () => {
    const actions = plan(
      input({ jobs: [scheduler, job(), job({ phase: 'ended' })] })
    ).actions;
    expect(actions).toEqual([{ type: 'request', group: 'default', jobs: 1 }]);
  });

  it('ends and replaces a job whose workers are all gone though it still runs', () => {
    const lost = job({ state: 'gone' });
    const actions = plan(input({ jobs: [scheduler, job(), lost] })).actions;
    expect(actions).toEqual([
      { type: 'give-up', jobs: [lost.id], reason: 'workers-lost' },
      { type: 'request', group: 'default', jobs: 1 }
    ]);
  });

  it('replaces a lost worker at once, but lets the backend say first why it went', () => {
    const lost = job({ state: 'gone', goneSince: NOW - 500 });
    const result = plan(
      input({ groups: [group({ target: 1 })], jobs: [scheduler, lost] })
    );
    expect(result).toEqual({
      actions: [{ type: 'request', group: 'default', jobs: 1 }],
      recheckInMs: DEFAULT_LIMITS.explanationMs - 500
    });
  });

  it('W5: scaling to 0 withdraws jobs that never connected', () => {
    const pending = Array.from({ length: 10 }, () =>
      job({ phase: 'queued', state: 'expected', startedAt: null })
    );
    const [action] = plan(
      input({ groups: [group({ target: 0 })], jobs: [scheduler, ...pending] })
    ).actions;
    expect(action?.type).toBe('withdraw');
    expect(action?.type === 'withdraw' ? new Set(action.jobs) : null).toEqual(
      new Set(pending.map(one => one.id))
    );
  });

  it('BK-21: first every pending job is withdrawn, then registered ones are retired', () => {
    const connected = Array.from({ length: 8 }, () => job());
    const pending = Array.from({ length: 12 }, (_, index) =>
      job({
        phase: 'queued',
        state: 'expected',
        createdAt: NOW - index,
        startedAt: null
      })
    );
    const { actions } = plan(
      input({
        groups: [group({ target: 5 })],
        jobs: [scheduler, ...connected, ...pending]
      })
    );
    expect(actions).toEqual([
      { type: 'withdraw', jobs: pending.map(one => one.id) },
      { type: 'shrink', group: 'default', jobs: 3 }
    ]);
  });

  it('withdraws unsubmitted before held before queued before granted, the newest first', () => {
    const granted = job({ state: 'expected' });
    const old = job({ phase: 'queued', state: 'expected', createdAt: 1 });
    const young = job({ phase: 'queued', state: 'expected', createdAt: 2 });
    const held = job({ phase: 'held', state: 'expected' });
    const unsure = job({
      phase: 'uncertain',
      state: 'expected',
      hasHandle: false
    });
    const { actions } = plan(
      input({
        groups: [group({ target: 0 })],
        jobs: [scheduler, granted, old, held, young, unsure]
      })
    );
    expect(actions).toEqual([
      {
        type: 'withdraw',
        jobs: [unsure.id, held.id, young.id, old.id, granted.id]
      }
    ]);
  });

  it('BK-20: shrinking one group leaves the other alone', () => {
    const high = [job({ group: 'highmem' }), job({ group: 'highmem' })];
    const low = Array.from({ length: 4 }, () => job());
    const { actions } = plan(
      input({
        groups: [group({ target: 2 }), group({ name: 'highmem', target: 2 })],
        jobs: [scheduler, ...low, ...high]
      })
    );
    expect(actions).toEqual([{ type: 'shrink', group: 'default', jobs: 2 }]);
  });

  it('does not retire anybody while the scheduler cannot be asked', () => {
    const { actions } = plan(
      input({
        groups: [group({ target: 0 })],
        jobs: [scheduler, job()],
        linkUp: false
      })
    );
    expect(actions).toEqual([]);
  });

  it('does not count a draining job, and does not drain it twice', () => {
    const draining = job({ draining: true });
    expect(
      plan(
        input({
          groups: [group({ target: 1 })],
          jobs: [scheduler, job(), draining]
        })
      ).actions
    ).toEqual([]);
    expect(
      plan(
        input({
          groups: [group({ target: 2 })],
          jobs: [scheduler, job(), draining]
        })
      ).actions
    ).toEqual([{ type: 'request', group: 'default', jobs: 1 }]);
  });

  it('asks again for a release that was not answered, but not at once', () => {
    const ending = job({
      endedByUs: true,
      phase: 'stopping',
      releasedAt: NOW - 1_000
    });
    const first = plan(
      input({ groups: [group({ target: 0 })], jobs: [scheduler, ending] })
    );
    expect(first).toEqual({
      actions: [],
      recheckInMs: DEFAULT_LIMITS.releaseRetryMs - 1_000
    });
    const later = plan(
      input({
        groups: [group({ target: 0 })],
        jobs: [scheduler, ending],
        now: NOW + 5_000
      })
    );
    expect(later.actions).toEqual([{ type: 'release', jobs: [ending.id] }]);
  });

  it('waits as the breaker says, and looks again then', () => {
    const waiting = plan(input({ groups: [group({ notBefore: NOW + 400 })] }));
    expect(waiting).toEqual({ actions: [], recheckInMs: 400 });
    expect(plan(input({ groups: [group({ notBefore: Infinity })] }))).toEqual({
      actions: [],
      recheckInMs: null
    });
  });

  it('gives up a job that runs but whose worker does not connect in time, and replaces it', () => {
    const silent = job({
      state: 'expected',
      startedAt: NOW - DEFAULT_LIMITS.workerStartMs
    });
    const { actions } = plan(
      input({ groups: [group({ target: 1 })], jobs: [scheduler, silent] })
    );
    expect(actions).toEqual([
      { type: 'give-up', jobs: [silent.id], reason: 'never-connected' },
      { type: 'request', group: 'default', jobs: 1 }
    ]);
  });
});

describe('a cluster that shall end', () => {
  const stopping = (options: Partial<PlanInput> = {}): PlanInput =>
    input({ phase: 'stopping', ...options });

  it('asks the scheduler first, once', () => {
    const jobs = [scheduler, job()];
    expect(plan(stopping({ jobs })).actions).toEqual([
      { type: 'terminate-scheduler' }
    ]);
    expect(plan(stopping({ jobs, terminatedAt: NOW - 5_000 })).actions).toEqual(
      [{ type: 'release', jobs: jobs.map(one => one.id) }]
    );
  });

  it('lets workers that were told to leave exit by themselves before a signal', () => {
    const jobs = [scheduler, job()];
    expect(plan(stopping({ jobs, terminatedAt: NOW - 500 }))).toEqual({
      actions: [],
      recheckInMs: DEFAULT_LIMITS.leaveMs - 500
    });
    const gone = jobs.map(one => ({ ...one, phase: 'ended' as const }));
    expect(
      plan(stopping({ jobs: gone, terminatedAt: NOW - 500 })).actions
    ).toEqual([{ type: 'finish' }]);
  });

  it('releases everything at once when the scheduler cannot be asked', () => {
    const jobs = [scheduler, job(), job({ draining: true })];
    expect(plan(stopping({ jobs, linkUp: false })).actions).toEqual([
      { type: 'release', jobs: jobs.map(one => one.id) }
    ]);
  });

  it('closes the books only when every job has ended', () => {
    const left = job({ phase: 'stopping', releasedAt: NOW });
    expect(plan(stopping({ jobs: [left], linkUp: false })).actions).toEqual([]);
    expect(
      plan(stopping({ jobs: [{ ...left, phase: 'ended' }], linkUp: false }))
        .actions
    ).toEqual([{ type: 'finish' }]);
  });

  it('waits for the answer to a submit that is still in flight', () => {
    const flying = job({
      phase: 'submitting',
      hasHandle: false,
      endedByUs: true
    });
    const result = plan(stopping({ jobs: [flying], linkUp: false }));
    expect(result.actions).toEqual([]);
    expect(result.recheckInMs).not.toBeNull();
  });

  it('with force gives up on what cannot be reached', () => {
    const left = job({ phase: 'stopping', releasedAt: NOW });
    expect(
      plan(stopping({ jobs: [left], linkUp: false, force: true })).actions
    ).toEqual([{ type: 'finish' }]);
  });

  it('does nothing once it has ended', () => {
    expect(plan(input({ phase: 'stopped', jobs: [] }))).toEqual({
      actions: [],
      recheckInMs: null
    });
    expect(plan(input({ phase: 'failed', jobs: [job()] }))).toEqual({
      actions: [],
      recheckInMs: null
    });
  });
});

describe('any cluster', () => {
  const anyJob = fc.record({
    group: fc.constantFrom('default', 'other'),
    phase: fc.constantFrom<JobPhase>(
      'submitting',
      'uncertain',
      'queued',
      'held',
      'starting',
      'running',
      'suspended',
      'stopping',
      'ended'
    ),
    hasHandle: fc.boolean(),
    draining: fc.boolean(),
    endedByUs: fc.boolean(),
    state: fc.constantFrom<PlanWorker['state']>(
      'expected',
      'connected',
      'gone'
    ),
    createdAt: fc.integer({ min: 0, max: NOW }),
    startedAt: fc.option(fc.integer({ min: 0, max: NOW })),
    releasedAt: fc.option(fc.integer({ min: 0, max: NOW }))
  });
  const anyInput = fc
    .record({
      jobs: fc.array(anyJob, { maxLength: 20 }),
      target: fc.nat(12),
      other: fc.nat(12),
      linkUp: fc.boolean()
    })
    .map(({ jobs, target, other, linkUp }) =>
      input({
        linkUp,
        jobs: [scheduler, ...jobs.map(one => job(one))],
        groups: [group({ target }), group({ name: 'other', target: other })]
      })
    );

  it('never has more jobs wanted than its target asks for, and never both grows and shrinks a group', () => {
    fc.assert(
      fc.property(anyInput, one => {
        const { actions } = plan(one);
        for (const { name, target } of one.groups) {
          const asked = actions.flatMap(action =>
            action.type === 'request' && action.group === name
              ? [action.jobs]
              : []
          );
          const gone = actions.flatMap(action =>
            action.type === 'shrink' && action.group === name
              ? [action.jobs]
              : []
          );
          expect(asked.length + gone.length).toBeLessThanOrEqual(1);
          expect(asked[0] ?? 0).toBeLessThanOrEqual(target);
        }
      })
    );
  });

  it('ends nothing twice in one pass, and nothing that has ended', () => {
    fc.assert(
      fc.property(anyInput, one => {
        const ids = plan(one).actions.flatMap(action =>
          action.type === 'release' ||
          action.type === 'withdraw' ||
          action.type === 'give-up'
            ? action.jobs
            : []
        );
        expect(new Set(ids).size).toBe(ids.length);
        const ended = new Set(
          one.jobs.filter(each => each.phase === 'ended').map(each => each.id)
        );
        expect(ids.filter(id => ended.has(id))).toEqual([]);
      })
    );
  });

  it('is the same when asked twice: a pass has no memory', () => {
    fc.assert(
      fc.property(anyInput, one => {
        expect(plan(one)).toEqual(plan(structuredClone(one)));
      })
    );
  });
});
