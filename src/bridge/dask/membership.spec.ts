import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { recordedMessages, VERSIONS } from './fixtures/recorded.js';
import { isClean, lostTasksOf, readEvent, type Removal } from './event.js';
import { Membership } from './membership.js';

const A = 'tcp://127.0.0.1:1';
const B = 'tcp://127.0.0.1:2';
const CLEAN: Removal = { expected: true, lostResults: 0, interruptedTasks: 0 };

type Pushed = { op: string; topic: string; event: [number, unknown] };

function pushedEvents(name: string, version: string): Pushed[] {
  return recordedMessages()
    .filter(message => message.case === name && message.version === version)
    .flatMap(({ decoded }) =>
      Array.isArray(decoded) ? (decoded as Pushed[]) : []
    )
    .filter(item => item.op === 'event');
}

describe('events as recorded', () => {
  it.each(VERSIONS)(
    'of %s tell a polite departure, once, although two topics have it',
    version => {
      const membership = new Membership(() => false);
      const address = pushedEvents('retire', version)
        .map(({ topic, event }) => readEvent(topic, event[1]))
        .find(event => event?.type === 'remove-worker');
      if (address?.type !== 'remove-worker') {
        throw new Error('the recording has no removal');
      }
      membership.apply({ type: 'add-worker', address: address.address });
      const events = pushedEvents('retire', version).flatMap(
        ({ topic, event }) => {
          const read = readEvent(topic, event[1]);
          return read === null ? [] : membership.apply(read);
        }
      );
      expect(events.filter(event => event.type === 'worker-removed')).toEqual([
        {
          type: 'worker-removed',
          address: address.address,
          expected: true,
          lostTasks: 0
        }
      ]);
      expect(events).toContainEqual({
        type: 'worker-status',
        address: address.address,
        status: 'closing',
        reason: 'scheduler-remove-worker'
      });
    }
  );

  it('tell a killed worker with what was lost', () => {
    const events = pushedEvents('worker-killed', '2026.8.0').map(
      ({ topic, event }) => readEvent(topic, event[1])
    );
    expect(events).toHaveLength(2);
    for (const event of events) {
      if (event?.type !== 'remove-worker') {
        throw new Error('no removal');
      }
      expect(event.removal.expected).toBe(false);
      expect(lostTasksOf(event.removal)).toBeGreaterThanOrEqual(3);
    }
  });

  it.each(VERSIONS)('of a cordon in %s are no departure', version => {
    const types = pushedEvents('cordon', version).map(
      ({ topic, event }) => readEvent(topic, event[1])?.type ?? null
    );
    expect(types).toContain('status');
    expect(types).not.toContain('remove-worker');
  });

  it('of other people and noise are dropped unread', () => {
    for (const name of ['gather-event', 'run-function-event']) {
      for (const { topic, event } of pushedEvents(name, '2026.8.0')) {
        expect(readEvent(topic, event[1])).toBeNull();
      }
    }
    for (const message of [
      null,
      1,
      'x',
      [],
      {},
      { action: 5 },
      { action: 'add-worker' },
      { action: 'remove-worker', worker: 7 }
    ]) {
      expect(readEvent('all', message)).toBeNull();
    }
  });

  it('of the old shape, without the word expected, are not polite', () => {
    const event = readEvent('all', {
      action: 'remove-worker',
      worker: A,
      'processing-tasks': ['x', 'y']
    });
    expect(event).toEqual({
      type: 'remove-worker',
      address: A,
      removal: { expected: false, lostResults: 0, interruptedTasks: 2 }
    });
  });
});

it.each([
  [CLEAN, true, 0],
  [{ expected: true, lostResults: 0, interruptedTasks: 3 }, true, 0],
  [{ expected: true, lostResults: 2, interruptedTasks: 3 }, false, 2],
  [{ expected: false, lostResults: 2, interruptedTasks: 3 }, false, 5],
  [{ expected: false, lostResults: 0, interruptedTasks: 0 }, false, 0]
] as const)(
  'a removal %j: clean is %s, %d tasks lost',
  (removal, clean, lost) => {
    expect(isClean(removal)).toBe(clean);
    expect(lostTasksOf(removal)).toBe(lost);
  }
);

describe('the list of workers', () => {
  it('takes a snapshot that is older than an arrival on the stream for what it is', () => {
    const membership = new Membership(() => false);
    const mark = membership.mark();
    membership.apply({ type: 'add-worker', address: A });
    expect(membership.applySnapshot([], mark)).toEqual([]);
    expect(membership.has(A)).toBe(true);
    expect(membership.applySnapshot([], membership.mark())).toEqual([
      { type: 'worker-removed', address: A, expected: false, lostTasks: 0 }
    ]);
  });

  it('does not bring back who left while the snapshot was on its way', () => {
    const membership = new Membership(() => false);
    membership.apply({ type: 'add-worker', address: A });
    const mark = membership.mark();
    membership.apply({ type: 'remove-worker', address: A, removal: CLEAN });
    expect(membership.applySnapshot([{ address: A, name: 'a' }], mark)).toEqual(
      []
    );
    expect(membership.has(A)).toBe(false);
    expect(membership.removal(A)).toEqual(CLEAN);
  });

  it('learns from the history how those left whom the stream did not show', () => {
    const membership = new Membership(() => false);
    membership.applySnapshot(
      [
        { address: A, name: 'a' },
        { address: B, name: 'b' }
      ],
      0
    );
    const events = membership.applySnapshot([], membership.mark(), [
      [
        1,
        {
          action: 'remove-worker',
          worker: A,
          expected: true,
          'lost-computed-tasks': new Set()
        }
      ],
      [2, { action: 'gather', count: 3 }]
    ]);
    expect(events).toEqual([
      { type: 'worker-removed', address: A, expected: true, lostTasks: 0 },
      { type: 'worker-removed', address: B, expected: false, lostTasks: 0 }
    ]);
  });

  it('says nothing twice', () => {
    const membership = new Membership(() => false);
    expect(membership.apply({ type: 'add-worker', address: A })).toHaveLength(
      1
    );
    expect(membership.apply({ type: 'add-worker', address: A })).toEqual([]);
    expect(
      membership.applySnapshot([{ address: A, name: 'a' }], membership.mark())
    ).toEqual([]);
    membership.apply({ type: 'remove-worker', address: A, removal: CLEAN });
    expect(
      membership.apply({ type: 'remove-worker', address: A, removal: CLEAN })
    ).toEqual([]);
  });

  it('forgets a removal when the same address comes back', () => {
    const membership = new Membership(() => false);
    membership.apply({ type: 'remove-worker', address: A, removal: CLEAN });
    membership.apply({ type: 'add-worker', address: A });
    expect(membership.removal(A)).toBeNull();
  });

  it('leaves our own streams out of the clients', () => {
    const membership = new Membership(client => client === 'muster-1');
    expect(
      membership.apply({ type: 'add-client', client: 'muster-1' })
    ).toEqual([]);
    expect(
      membership.apply({ type: 'add-client', client: 'Client-x' })
    ).toEqual([{ type: 'clients-changed' }]);
  });

  it('ends at what the scheduler has, however stream and snapshots overtake each other', () => {
    const step = fc.record({
      worker: fc.nat({ max: 3 }),
      join: fc.boolean(),
      /** How many steps later its snapshot arrives; null: none is asked for. */
      snapshotDelay: fc.option(fc.nat({ max: 4 }))
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), steps => {
        const scheduler = new Set<string>();
        const membership = new Membership(() => false);
        const told = new Set<string>();
        const hear = (events: ReturnType<Membership['apply']>): void => {
          for (const event of events) {
            if (event.type === 'worker-added') {
              expect(told.has(event.address)).toBe(false);
              told.add(event.address);
            } else if (event.type === 'worker-removed') {
              expect(told.delete(event.address)).toBe(true);
            }
          }
        };
        const due: { at: number; deliver: () => void }[] = [];
        steps.forEach(({ worker, join, snapshotDelay }, at) => {
          const address = `tcp://h:${worker}`;
          if (snapshotDelay !== null) {
            const mark = membership.mark();
            const seen = [...scheduler].map(known => ({
              address: known,
              name: null
            }));
            due.push({
              at: at + snapshotDelay,
              deliver: () => {
                hear(membership.applySnapshot(seen, mark));
              }
            });
          }
          if (join && !scheduler.has(address)) {
            scheduler.add(address);
            hear(membership.apply({ type: 'add-worker', address }));
          } else if (!join && scheduler.delete(address)) {
            hear(
              membership.apply({
                type: 'remove-worker',
                address,
                removal: CLEAN
              })
            );
          }
          due
            .filter(snapshot => snapshot.at === at)
            .forEach(snapshot => {
              snapshot.deliver();
            });
        });
        expect(told).toEqual(scheduler);
        expect(new Set(membership.addresses)).toEqual(scheduler);
      }),
      { numRuns: 1000 }
    );
  });
});
