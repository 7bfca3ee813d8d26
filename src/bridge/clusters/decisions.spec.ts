import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ClusterPhase, JobId, JobOutcome } from '../../protocol/index.js';
import { workerId } from '../../protocol/index.js';
import type { PastJob } from './breaker.js';
import { breaker } from './breaker.js';
import { ClientRegistry, GRACE_MS, LAPSE_MS } from './clients.js';
import { isDeath, mayStep, outcomeOf } from './lifecycle.js';
import type { LifetimeInput } from './lifetime.js';
import { lifetimeVerdict } from './lifetime.js';
import { freeName } from './names.js';
import { chooseVictims } from './victims.js';
import { NAME_PATTERN } from '../../protocol/index.js';

describe('the state machine of a cluster', () => {
  it.each<[ClusterPhase, ClusterPhase, boolean]>([
    ['creating', 'running', true],
    ['creating', 'stopping', true],
    ['running', 'stopping', true],
    ['running', 'stopped', false],
    ['stopping', 'stopped', true],
    ['stopping', 'failed', true],
    ['stopping', 'running', false],
    ['stopped', 'running', false],
    ['stopped', 'creating', true],
    ['failed', 'creating', true]
  ])('%s to %s: %s', (from, to, allowed) => {
    expect(mayStep(from, to)).toBe(allowed);
  });
});

describe('what an ended job is called', () => {
  const facts = {
    outcome: null as JobOutcome | null,
    endedByUs: false,
    everConnected: true,
    scheduler: false
  };
  it.each<[string, Partial<typeof facts>, JobOutcome]>([
    [
      'exit 0 without ever having registered is never-connected',
      { outcome: 'completed', everConnected: false },
      'never-connected'
    ],
    [
      'a better reason stands before never-connected',
      { outcome: 'out-of-memory', everConnected: false },
      'out-of-memory'
    ],
    [
      'what we ended is cancelled, whatever its exit code',
      { outcome: 'failed', endedByUs: true },
      'cancelled'
    ],
    [
      'what we ended and left cleanly is completed',
      { outcome: 'completed', endedByUs: true },
      'completed'
    ],
    ['no fact at all is lost', {}, 'lost'],
    [
      'a scheduler never registers and is not blamed for it',
      { outcome: 'completed', everConnected: false, scheduler: true },
      'completed'
    ]
  ])('%s', (_, change, expected) => {
    expect(outcomeOf({ ...facts, ...change })).toBe(expected);
  });

  it('only an end nobody asked for is a death', () => {
    expect(isDeath('failed', false)).toBe(true);
    expect(isDeath('failed', true)).toBe(false);
    expect(isDeath('completed', false)).toBe(false);
  });
});

describe('whom to let go', () => {
  const ids = ['a', 'b', 'c', 'd'].map(letter => letter.repeat(16) as JobId);
  const candidate = (
    job: JobId,
    workers = 1,
    options: { pinned?: boolean; ageMs?: number } = {}
  ) => ({
    job,
    workers: Array.from({ length: workers }, (_, index) =>
      workerId(job, index)
    ),
    pinned: options.pinned ?? false,
    ageMs: options.ageMs ?? 60_000
  });
  const [a, b, c] = ids as [JobId, JobId, JobId];

  it('BK-23: the scheduler’s order decides, cheapest first', () => {
    const ranking = [workerId(c, 0), workerId(a, 0), workerId(b, 0)];
    expect(
      chooseVictims({
        ranking,
        candidates: [candidate(a), candidate(b), candidate(c)],
        count: 2,
        minimumAgeMs: 0
      })
    ).toEqual([c, a]);
  });

  it('a job goes only with all its workers, and by the dearest of them', () => {
    const ranking = [
      workerId(a, 0),
      workerId(b, 0),
      workerId(b, 1),
      workerId(a, 1)
    ];
    expect(
      chooseVictims({
        ranking,
        candidates: [candidate(a, 2), candidate(b, 2)],
        count: 1,
        minimumAgeMs: 0
      })
    ).toEqual([b]);
    expect(
      chooseVictims({
        ranking: [workerId(a, 0)],
        candidates: [candidate(a, 2)],
        count: 1,
        minimumAgeMs: 0
      })
    ).toEqual([]);
  });

  it('spares pinned and just-started jobs', () => {
    const ranking = [workerId(a, 0), workerId(b, 0), workerId(c, 0)];
    const candidates = [
      candidate(a, 1, { pinned: true }),
      candidate(b, 1, { ageMs: 10 }),
      candidate(c)
    ];
    expect(
      chooseVictims({ ranking, candidates, count: 3, minimumAgeMs: 1_000 })
    ).toEqual([c]);
  });
});

describe('the breaker', () => {
  const NOW = 10_000_000;
  const past = (options: Partial<PastJob> = {}): PastJob => ({
    endedAt: NOW - 100,
    outcome: 'failed',
    endedByUs: false,
    everConnected: true,
    ...options
  });

  it('replaces a first loss at once', () => {
    expect(breaker([past()], NOW, 1)).toEqual({ type: 'go' });
  });

  it('answers a series of losses more and more slowly, up to a minute', () => {
    const delays = [2, 4, 8].map(count => {
      const verdict = breaker(
        Array.from({ length: count }, () => past()),
        NOW,
        1
      );
      return verdict.type === 'wait' ? verdict.until - (NOW - 100) : null;
    });
    expect(delays).toEqual([500, 2_000, 32_000]);
  });

  it('BK-07: stops a group whose workers end before they connect', () => {
    const verdict = breaker(
      Array.from({ length: 3 }, () => past({ everConnected: false })),
      NOW,
      0
    );
    expect(verdict.type).toBe('failing');
  });

  it('stops a group whose workers die again and again', () => {
    const verdict = breaker(
      Array.from({ length: 12 }, () => past({ outcome: 'out-of-memory' })),
      NOW,
      0
    );
    expect(verdict).toEqual({
      type: 'failing',
      reason: '12 workers died within 5 minutes (out-of-memory)'
    });
  });

  it('never counts what we ended ourselves', () => {
    const own = Array.from({ length: 50 }, () =>
      past({ endedByUs: true, everConnected: false, outcome: 'cancelled' })
    );
    expect(breaker(own, NOW, 1)).toEqual({ type: 'go' });
  });

  it('forgets losses of long ago', () => {
    expect(
      breaker(
        Array.from({ length: 20 }, () => past({ endedAt: NOW - 400_000 })),
        NOW,
        1
      )
    ).toEqual({ type: 'go' });
  });
});

describe('the lifetime of a cluster', () => {
  const base: LifetimeInput = {
    now: 1_000_000,
    startedAt: 900_000,
    idleTimeoutSeconds: null,
    maximumAgeSeconds: null,
    idleSince: null,
    jupyterGoneSince: null,
    jupyterGraceMs: GRACE_MS
  };
  it.each<[string, Partial<LifetimeInput>, ReturnType<typeof lifetimeVerdict>]>(
    [
      ['has no end unless one is said', {}, { checkAgainInMs: null }],
      [
        'ends at its maximum age',
        { maximumAgeSeconds: 100 },
        { end: 'reached its maximum age of 100 s' }
      ],
      [
        'looks again when the age is not reached',
        { maximumAgeSeconds: 130 },
        { checkAgainInMs: 30_000 }
      ],
      [
        'BK-35: ends when it was idle long enough',
        { idleTimeoutSeconds: 60, idleSince: 940_000 },
        { end: 'was idle for 60 s' }
      ],
      [
        'does not end while it works',
        { idleTimeoutSeconds: 60, idleSince: null },
        { checkAgainInMs: null }
      ],
      [
        'ends with its Jupyter server after a grace time',
        { jupyterGoneSince: 940_000 },
        { end: 'its Jupyter server stopped' }
      ],
      [
        'takes the earliest of several',
        { maximumAgeSeconds: 200, idleTimeoutSeconds: 60, idleSince: 950_000 },
        { checkAgainInMs: 10_000 }
      ]
    ]
  )('%s', (_, change, expected) => {
    expect(lifetimeVerdict({ ...base, ...change })).toEqual(expected);
  });
});

describe('Jupyter servers', () => {
  const registration = {
    pid: 1,
    baseUrl: '/user/x/',
    kernelspecs: [],
    environment: {}
  };
  const make = () => {
    const clock = { now: 0 };
    return { clock, registry: new ClientRegistry(() => clock.now) };
  };

  it('lapse after a minute of silence, and are back when they speak again', () => {
    const { clock, registry } = make();
    registry.put('one', registration);
    clock.now = LAPSE_MS;
    expect(
      registry.absence({ id: 'one', baseUrl: '/user/x/' }).goneForMs
    ).toBeNull();
    clock.now = LAPSE_MS + 5_000;
    expect(registry.absence({ id: 'one', baseUrl: '/user/x/' }).goneForMs).toBe(
      5_000
    );
    registry.put('one', registration);
    expect(
      registry.absence({ id: 'one', baseUrl: '/user/x/' }).goneForMs
    ).toBeNull();
  });

  it('that restart at the same base URL take over the clusters of the old one', () => {
    const { clock, registry } = make();
    registry.put('old', registration);
    registry.delete('old');
    clock.now = 10_000;
    expect(registry.absence({ id: 'old', baseUrl: '/user/x/' })).toEqual({
      goneForMs: 10_000,
      heir: null
    });
    registry.put('new', registration);
    expect(registry.absence({ id: 'old', baseUrl: '/user/x/' })).toEqual({
      goneForMs: null,
      heir: 'new'
    });
    expect(
      registry.absence({ id: 'old', baseUrl: '/user/y/' }).heir
    ).toBeNull();
  });

  it('not heard of since the bridge started are given time to speak', () => {
    const { clock, registry } = make();
    expect(
      registry.absence({ id: 'unknown', baseUrl: '/' }).goneForMs
    ).toBeNull();
    clock.now = LAPSE_MS + 1;
    expect(registry.absence({ id: 'unknown', baseUrl: '/' }).goneForMs).toBe(1);
  });
});

describe('a made-up name', () => {
  it('is a legal name that is not taken', () => {
    fc.assert(
      fc.property(
        fc.infiniteStream(fc.double({ min: 0, max: 0.999999, noNaN: true })),
        stream => {
          const values = stream[Symbol.iterator]();
          const random = (): number => values.next().value as number;
          const taken = new Set<string>();
          for (let round = 0; round < 5; round += 1) {
            const name = freeName(taken, random);
            expect(name).toMatch(NAME_PATTERN);
            expect(taken.has(name)).toBe(false);
            taken.add(name);
          }
        }
      )
    );
  });

  it('is found even when chance always picks the same words', () => {
    const taken = new Set<string>();
    for (let round = 0; round < 5; round += 1) {
      taken.add(freeName(taken, () => 0));
    }
    expect([...taken]).toEqual([
      'amber-badger',
      'amber-badger-2',
      'amber-badger-3',
      'amber-badger-4',
      'amber-badger-5'
    ]);
  });
});
