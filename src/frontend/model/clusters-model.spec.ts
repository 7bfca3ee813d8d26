/** The clusters as the browser knows them: order, selection, scaling, what is sent and what not. */
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  jest
} from '@jest/globals';
import type { ClusterView } from '../../protocol/index.js';
import { MusterError } from '../../protocol/index.js';
import {
  ANALYSIS,
  EXPLORE,
  event,
  view,
  worker
} from '../fixtures/cluster-views.js';
import { settle } from '../fixtures/fake-bridge.js';
import { Stage } from '../fixtures/muster.js';
import { BURST_MS } from './scaling-queue.js';

let stage: Stage;

const advance = async (milliseconds: number): Promise<void> => {
  jest.advanceTimersByTime(milliseconds);
  await settle();
};
const patched = (): unknown[] =>
  stage.bridge.asked.filter(one => one.method === 'PATCH').map(one => one.body);
const groupOf = (id = ANALYSIS): ClusterView['groups'][number] | undefined =>
  stage.model.get(id)?.groups[0];

beforeEach(() => {
  jest.useFakeTimers();
  stage = new Stage();
});
afterEach(() => {
  stage.dispose();
  jest.useRealTimers();
});

describe('the clusters', () => {
  it('come newest first, those that have ended last', async () => {
    await stage.show([
      view({
        id: 'a3v9qx7m2d8tn4ra' as never,
        name: 'old',
        phase: 'stopped',
        createdAt: '2026-12-01T00:00:00Z'
      }),
      view({ name: 'first', createdAt: '2026-11-01T00:00:00Z' }),
      view({ id: EXPLORE, name: 'second', createdAt: '2026-11-02T00:00:00Z' })
    ]);
    expect(stage.model.clusters.map(one => one.name)).toEqual([
      'second',
      'first',
      'old'
    ]);
  });

  it('are found by name: the one that lives before the one that has ended', async () => {
    await stage.show([
      view({ phase: 'stopped', createdAt: '2026-12-01T00:00:00Z' }),
      view({ id: EXPLORE })
    ]);
    expect(stage.model.find('analysis')?.id).toBe(EXPLORE);
  });

  it('never go back: an answer overtaken by the stream is dropped', async () => {
    await stage.show([view({ revision: 5, connected: 4 })]);
    stage.bridge.socket.say({
      type: 'cluster',
      seq: 2,
      cluster: view({ revision: 4, connected: 1 })
    });
    expect(groupOf()?.counts.connected).toBe(4);
  });

  it('are the whole truth in a whole snapshot, and only what changed in a partial one', async () => {
    await stage.show([view(), view({ id: EXPLORE })]);
    stage.bridge.socket.say({
      type: 'snapshot',
      seq: 3,
      partial: true,
      backends: [],
      clusters: [view({ revision: 2, connected: 6 })]
    });
    expect(stage.model.clusters).toHaveLength(2);
    stage.bridge.socket.say({
      type: 'snapshot',
      seq: 4,
      backends: [],
      clusters: [view()]
    });
    expect(stage.model.clusters.map(one => one.id)).toEqual([ANALYSIS]);
  });

  it('tell what happens to them', async () => {
    await stage.show([view()]);
    const heard: string[] = [];
    stage.model.happened.connect((_, happened) => heard.push(happened.kind));
    stage.bridge.socket.say({
      type: 'event',
      seq: 9,
      event: event('worker-died')
    });
    expect(heard).toEqual(['worker-died']);
  });
});

describe('the selected cluster', () => {
  it('is nobody once it is gone (W12: a dead cluster is never pointed at)', async () => {
    await stage.show([view()]);
    stage.model.select(ANALYSIS);
    stage.bridge.socket.say({ type: 'removed', seq: 2, id: ANALYSIS });
    expect(stage.model.selected).toBeNull();
  });

  it('is nobody when a snapshot does not know it any more', async () => {
    await stage.show([view()]);
    stage.model.select(ANALYSIS);
    stage.bridge.socket.say({
      type: 'snapshot',
      seq: 3,
      clusters: [],
      backends: []
    });
    expect(stage.model.selected).toBeNull();
  });
});

describe('scaling', () => {
  beforeEach(async () => {
    await stage.show([view({ connected: 8 })]);
    stage.bridge.answer('PATCH', `api/v1/clusters/${ANALYSIS}`, asked => ({
      body: view({
        revision: 2,
        scale: (asked.body as { scale: { default: never } }).scale.default
      })
    }));
  });

  it('shows the wish at once', () => {
    void stage.model.scale(ANALYSIS, 'default', { type: 'fixed', workers: 12 });
    expect(groupOf()?.target).toBe(12);
    expect(patched()).toEqual([]);
  });

  it('makes one request of five quick clicks, with the last value', async () => {
    const done = [9, 10, 11, 12, 13].map(workers =>
      stage.model.scale(ANALYSIS, 'default', { type: 'fixed', workers })
    );
    await advance(BURST_MS);
    await Promise.all(done);
    expect(patched()).toEqual([
      { scale: { default: { type: 'fixed', workers: 13 } } }
    ]);
    expect(groupOf()?.target).toBe(13);
  });

  it('goes back when refused, and says why', async () => {
    stage.bridge.answer('PATCH', `api/v1/clusters/${ANALYSIS}`, {
      status: 422,
      body: { error: { code: 'policy', message: 'at most 10 workers' } }
    });
    const refused = stage.model
      .scale(ANALYSIS, 'default', { type: 'fixed', workers: 99 })
      .catch((error: unknown) => error);
    expect(groupOf()?.target).toBe(99);
    await advance(BURST_MS);
    expect(await refused).toBeInstanceOf(MusterError);
    expect(groupOf()?.target).toBe(8);
  });

  it('sends what was wished while a request was under way, after it', async () => {
    let answer: (() => void) | undefined;
    stage.bridge.answer(
      'PATCH',
      `api/v1/clusters/${ANALYSIS}`,
      asked =>
        new Promise(resolve => {
          answer = () => {
            resolve({
              body: view({
                revision: 2,
                scale: (asked.body as { scale: { default: never } }).scale
                  .default
              })
            });
          };
        })
    );
    void stage.model.scale(ANALYSIS, 'default', { type: 'fixed', workers: 9 });
    await advance(BURST_MS);
    void stage.model.scale(ANALYSIS, 'default', { type: 'fixed', workers: 0 });
    await advance(BURST_MS);
    expect(patched()).toHaveLength(1);
    answer?.();
    await settle();
    expect(groupOf()?.target).toBe(0); // the last word, also while the first is answered (W5)
    await advance(BURST_MS);
    expect(patched().at(-1)).toEqual({
      scale: { default: { type: 'fixed', workers: 0 } }
    });
  });

  it('sends nothing more for a cluster that has ended', async () => {
    void stage.model.scale(ANALYSIS, 'default', { type: 'fixed', workers: 9 });
    stage.bridge.socket.say({
      type: 'cluster',
      seq: 2,
      cluster: view({ revision: 2, phase: 'stopped' })
    });
    await advance(BURST_MS * 2);
    expect(patched()).toEqual([]);
  });
});

describe('starting and stopping', () => {
  it('joins a second click on stop to the first (W7)', async () => {
    await stage.show([view()]);
    stage.bridge.answer('DELETE', `api/v1/clusters/${ANALYSIS}`, {
      status: 202,
      body: view({ revision: 2, phase: 'stopping' })
    });
    await Promise.all([stage.model.stop(ANALYSIS), stage.model.stop(ANALYSIS)]);
    expect(stage.bridge.count('DELETE', `api/v1/clusters/${ANALYSIS}`)).toBe(1);
    expect(stage.model.get(ANALYSIS)?.phase).toBe('stopping');
  });

  it('starts an ended cluster again from its spec, under a free name', async () => {
    await stage.show([view({ phase: 'stopped' }), view({ id: EXPLORE })]);
    stage.bridge.answer('POST', 'api/v1/clusters', {
      status: 202,
      body: view({
        id: 'c3v9qx7m2d8tn4rc' as never,
        name: 'analysis-2',
        phase: 'creating'
      })
    });
    const created = await stage.model.startAgain(ANALYSIS);
    const asked = stage.bridge.asked.at(-1);
    expect(asked?.body).toMatchObject({
      name: 'analysis-2',
      backend: 'slurm',
      environment: { python: '/opt/env/bin/python' }
    });
    expect(asked?.headers.get('Idempotency-Key')).toMatch(/.{16}/);
    expect(stage.model.selected).toBe(created.id);
  });
});

describe('whoever looks', () => {
  it('keeps the stream open, and the last to go closes it', async () => {
    const first = stage.model.attach();
    const second = stage.model.attach();
    await settle();
    first.dispose();
    await advance(60_000);
    expect(stage.bridge.socket.isClosed).toBe(false);
    second.dispose();
    await advance(60_000);
    expect(stage.bridge.socket.isClosed).toBe(true);
  });

  it('opens and closes twenty times and leaves one stream and no timer behind', async () => {
    for (let round = 0; round < 20; round += 1) {
      const viewing = stage.model.attach();
      await settle();
      viewing.dispose();
      await advance(10_000);
    }
    expect(
      stage.bridge.sockets.filter(socket => !socket.isClosed)
    ).toHaveLength(0);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('the workers of a cluster', () => {
  it('are asked for, listed, and kept current by deltas', async () => {
    await stage.show([view()]);
    stage.bridge.answer('GET', `api/v1/clusters/${ANALYSIS}/workers`, asked =>
      asked.path.includes('cursor')
        ? { body: { items: [worker(1)], next: null } }
        : { body: { items: [worker(0)], next: 'more' } }
    );
    const feed = stage.model.watchWorkers(ANALYSIS);
    await settle();
    expect(stage.bridge.socket.sent).toContainEqual({
      type: 'watch',
      id: ANALYSIS,
      workers: true
    });
    expect(feed.workers.map(one => one.id)).toEqual([
      worker(0).id,
      worker(1).id
    ]);
    stage.bridge.socket.say({
      type: 'workers',
      seq: 5,
      id: ANALYSIS,
      upsert: [worker(2)],
      remove: [worker(0).id]
    });
    expect(feed.workers.map(one => one.id)).toEqual([
      worker(1).id,
      worker(2).id
    ]);
    feed.dispose();
    expect(stage.bridge.socket.sent).toContainEqual({
      type: 'watch',
      id: ANALYSIS,
      workers: false
    });
  });

  it('keep what a delta said while the list was on its way', async () => {
    await stage.show([view()]);
    let answer: (() => void) | undefined;
    stage.bridge.answer(
      'GET',
      `api/v1/clusters/${ANALYSIS}/workers`,
      () =>
        new Promise(resolve => {
          answer = () => {
            resolve({ body: { items: [worker(0), worker(1)], next: null } });
          };
        })
    );
    const feed = stage.model.watchWorkers(ANALYSIS);
    await settle();
    stage.bridge.socket.say({
      type: 'workers',
      seq: 5,
      id: ANALYSIS,
      upsert: [worker(1, { status: 'paused' })],
      remove: [worker(0).id]
    });
    answer?.();
    await settle();
    expect(feed.workers.map(one => [one.id, one.status])).toEqual([
      [worker(1).id, 'paused']
    ]);
  });

  it('are watched again after a reconnect', async () => {
    await stage.show([view()]);
    stage.model.watchWorkers(ANALYSIS);
    await settle();
    stage.bridge.socket.drop();
    await advance(2_000);
    stage.bridge.socket.hello();
    expect(stage.bridge.sockets).toHaveLength(2);
    expect(stage.bridge.socket.sent).toContainEqual({
      type: 'watch',
      id: ANALYSIS,
      workers: true
    });
  });
});
