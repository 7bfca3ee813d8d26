import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type {
  ClusterId,
  ServerMessage,
  WorkerId
} from '../../protocol/index.js';
import { EventOutbox, MAXIMUM_EVENTS, ROWS_PER_FRAME } from './event-outbox.js';
import {
  CLUSTER,
  clusterEvent,
  clusterView,
  workerView
} from './fixtures/fake-cluster-service.js';

const nobody = new Set<string>();
const watched = new Set<string>([CLUSTER]);

function drain(outbox: EventOutbox): ServerMessage[] {
  const messages: ServerMessage[] = [];
  for (let next = outbox.next(); next !== null; next = outbox.next()) {
    messages.push(next);
  }
  return messages;
}

describe('what waits for a client', () => {
  test('of a cluster that changed ten times only the newest view is said', () => {
    const outbox = new EventOutbox();
    for (let seq = 1; seq <= 10; seq += 1) {
      outbox.add(
        { type: 'cluster', seq, cluster: clusterView({ revision: seq }) },
        nobody
      );
    }
    expect(drain(outbox)).toEqual([
      { type: 'cluster', seq: 10, cluster: clusterView({ revision: 10 }) }
    ]);
  });

  test('a removed cluster takes its view and rows with it', () => {
    const outbox = new EventOutbox();
    outbox.add({ type: 'cluster', seq: 1, cluster: clusterView() }, watched);
    outbox.addWorkers(CLUSTER, [workerView()], []);
    outbox.add({ type: 'removed', seq: 2, id: CLUSTER }, watched);
    expect(drain(outbox)).toEqual([{ type: 'removed', seq: 2, id: CLUSTER }]);
  });

  test('every event is said once, in order, also when it comes from the store and live', () => {
    const outbox = new EventOutbox();
    for (const seq of [1, 2, 2, 1, 3]) {
      outbox.add({ type: 'event', seq, event: clusterEvent(seq) }, nobody);
    }
    expect(
      drain(outbox).map(message =>
        'event' in message ? message.event.seq : null
      )
    ).toEqual([1, 2, 3]);
  });

  test('events do not hide a cluster, nor a cluster events: they take turns', () => {
    const outbox = new EventOutbox();
    for (let seq = 1; seq <= 4; seq += 1) {
      outbox.add({ type: 'event', seq, event: clusterEvent(seq) }, nobody);
    }
    const other = 'zzzzzzzzzzzzzzzz' as ClusterId;
    outbox.add({ type: 'cluster', seq: 5, cluster: clusterView() }, nobody);
    outbox.add(
      { type: 'cluster', seq: 6, cluster: clusterView({ id: other }) },
      nobody
    );
    expect(drain(outbox).map(message => message.type)).toEqual([
      'cluster',
      'event',
      'cluster',
      'event',
      'event',
      'event'
    ]);
  });

  test('rows of clusters nobody watches are dropped', () => {
    const outbox = new EventOutbox();
    outbox.add(
      {
        type: 'workers',
        seq: 1,
        id: CLUSTER,
        upsert: [workerView()],
        remove: []
      },
      nobody
    );
    expect(outbox.empty).toBe(true);
  });

  test('of a worker the last word counts: gone and back, or changed and gone', () => {
    const outbox = new EventOutbox();
    const one = workerView({ id: 'one' as WorkerId });
    const two = workerView({ id: 'two' as WorkerId });
    outbox.add(
      { type: 'workers', seq: 1, id: CLUSTER, upsert: [two], remove: [one.id] },
      watched
    );
    outbox.add(
      { type: 'workers', seq: 2, id: CLUSTER, upsert: [one], remove: [two.id] },
      watched
    );
    expect(drain(outbox)).toEqual([
      { type: 'workers', seq: 0, id: CLUSTER, upsert: [one], remove: [two.id] }
    ]);
  });

  test('many rows are cut into frames', () => {
    const outbox = new EventOutbox();
    const rows = Array.from({ length: 2 * ROWS_PER_FRAME + 1 }, (_, index) =>
      workerView({ id: `w${index}` as WorkerId })
    );
    outbox.addWorkers(CLUSTER, rows, []);
    const frames = drain(outbox);
    expect(
      frames.map(frame => ('upsert' in frame ? frame.upsert.length : 0))
    ).toEqual([ROWS_PER_FRAME, ROWS_PER_FRAME, 1]);
  });

  test('one event too many and all is forgotten for a snapshot', () => {
    const outbox = new EventOutbox();
    outbox.add({ type: 'cluster', seq: 1, cluster: clusterView() }, nobody);
    for (let seq = 2; seq <= MAXIMUM_EVENTS + 2; seq += 1) {
      outbox.add({ type: 'event', seq, event: clusterEvent(seq) }, nobody);
    }
    expect(outbox.overflown).toBe(true);
    outbox.add({ type: 'cluster', seq: 999, cluster: clusterView() }, nobody);
    expect(outbox.empty).toBe(true);
    outbox.clear(999);
    expect(outbox.overflown).toBe(false);
  });

  test('a client that resumes after any frame it saw misses nothing', () => {
    type Step = { kind: 'cluster' | 'event' | 'send'; cluster: number };
    const step = fc.record({
      kind: fc.constantFrom<Step['kind']>('cluster', 'event', 'send'),
      cluster: fc.integer({ min: 0, max: 3 })
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), steps => {
        const outbox = new EventOutbox();
        /** Newest seq of what the client has not been told, per thing. */
        const untold = new Map<string, number>();
        let seq = 0;
        let resumeAfter = 0;
        for (const { kind, cluster } of steps) {
          if (kind === 'send') {
            const message = outbox.next();
            if (message === null) {
              continue;
            }
            untold.delete(
              message.type === 'event'
                ? `event ${message.event.seq}`
                : message.type === 'cluster'
                  ? message.cluster.id
                  : ''
            );
            const { seq: said } = message as { seq: number };
            expect(said).toBeGreaterThanOrEqual(resumeAfter);
            resumeAfter = said;
          } else {
            seq += 1;
            if (kind === 'event') {
              outbox.add(
                { type: 'event', seq, event: clusterEvent(seq) },
                nobody
              );
              untold.set(`event ${seq}`, seq);
            } else {
              const id = `cluster-${cluster}` as ClusterId;
              outbox.add(
                { type: 'cluster', seq, cluster: clusterView({ id }) },
                nobody
              );
              untold.set(id, seq);
            }
          }
          for (const waiting of untold.values()) {
            expect(waiting).toBeGreaterThan(resumeAfter);
          }
        }
      })
    );
  });
});
