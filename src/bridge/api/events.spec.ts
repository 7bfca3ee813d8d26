import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import type {
  ClusterId,
  ServerMessage,
  WorkerId
} from '../../protocol/index.js';
import { BUFFER_LIMIT, FRAMES_PER_SECOND } from './event-client.js';
import { MAXIMUM_EVENTS } from './event-outbox.js';
import { FRAME_LIMIT } from './events.js';
import { apiFixture, HEADERS } from './fixtures/api-fixture.js';
import type { ApiFixture } from './fixtures/api-fixture.js';
import {
  CLUSTER,
  clusterEvent,
  clusterView,
  workerView
} from './fixtures/fake-cluster-service.js';

let api: ApiFixture;
let path: string;
let streams: Stream[];

beforeEach(async () => {
  api = await apiFixture();
  path = await api.listen();
  streams = [];
});

afterEach(async () => {
  for (const stream of streams) {
    stream.socket.terminate();
  }
  await api.close();
});

type Stream = {
  socket: WebSocket;
  messages: ServerMessage[];
  times: number[];
  until: (met: (messages: ServerMessage[]) => boolean) => Promise<void>;
  closed: Promise<{ code: number; reason: string }>;
};

function open(query = ''): Stream {
  const socket = new WebSocket(`ws+unix://${path}:/api/v1/events${query}`, {
    headers: HEADERS
  });
  const messages: ServerMessage[] = [];
  const times: number[] = [];
  const waiting = new Set<() => void>();
  socket.on('message', data => {
    messages.push(JSON.parse((data as Buffer).toString()) as ServerMessage);
    times.push(performance.now());
    waiting.forEach(look => look());
  });
  socket.on('error', () => undefined);
  const stream: Stream = {
    socket,
    messages,
    times,
    until: met =>
      new Promise(resolve => {
        const look = () => {
          if (met(messages)) {
            waiting.delete(look);
            resolve();
          }
        };
        waiting.add(look);
        look();
      }),
    closed: new Promise(resolve => {
      socket.on('close', (code, reason) => {
        resolve({ code, reason: reason.toString() });
      });
    })
  };
  streams.push(stream);
  return stream;
}

const types = (stream: Stream) => stream.messages.map(message => message.type);
const have =
  (type: ServerMessage['type'], count = 1) =>
  (messages: ServerMessage[]) =>
    messages.filter(message => message.type === type).length >= count;

describe('the event stream', () => {
  test('says hello, then everything that is', async () => {
    const stream = open();
    await stream.until(have('snapshot'));
    expect(stream.messages).toEqual([
      {
        type: 'hello',
        protocol: 1,
        bridge: 'bridge-1',
        stream: 'stream-1',
        epoch: 7,
        seq: 100
      },
      {
        type: 'snapshot',
        seq: 100,
        clusters: [clusterView()],
        backends: expect.any(Array)
      }
    ]);
  });

  test('a client that comes back is told only what changed', async () => {
    api.service.changed = {
      clusters: [clusterView({ revision: 50 })],
      removed: ['gonegonegonegone' as ClusterId]
    };
    api.service.log = [clusterEvent(90), clusterEvent(97), clusterEvent(99)];
    const stream = open('?after=95');
    await stream.until(have('event', 2));
    expect(stream.messages.slice(1)).toEqual([
      {
        type: 'snapshot',
        seq: 95,
        clusters: [clusterView({ revision: 50 })],
        backends: expect.any(Array),
        partial: true
      },
      { type: 'removed', seq: 96, id: 'gonegonegonegone' },
      { type: 'event', seq: 97, event: clusterEvent(97) },
      { type: 'event', seq: 99, event: clusterEvent(99) }
    ]);
  });

  test.each([
    ['the store no longer knows', '?after=3', () => undefined],
    [
      'is ahead of the store',
      '?after=5000',
      (fixture: ApiFixture) => {
        fixture.service.changed = { clusters: [], removed: [] };
      }
    ],
    [
      'belongs to a store that was restored since',
      '?after=95&stream=stream-0',
      (fixture: ApiFixture) => {
        fixture.service.changed = { clusters: [], removed: [] };
      }
    ],
    [
      'is behind more events than are worth telling',
      '?after=95',
      (fixture: ApiFixture) => {
        fixture.service.changed = { clusters: [], removed: [] };
        fixture.service.log = Array.from(
          { length: MAXIMUM_EVENTS },
          (_, index) => clusterEvent(96 + index)
        );
      }
    ]
  ] as [string, string, (fixture: ApiFixture) => void][])(
    'a client whose place %s gets a whole snapshot',
    async (_, query, arrange) => {
      arrange(api);
      const stream = open(query);
      await stream.until(have('snapshot'));
      expect(stream.messages[1]).toEqual({
        type: 'snapshot',
        seq: 100,
        clusters: [clusterView()],
        backends: expect.any(Array)
      });
    }
  );

  test('a place that is no number is refused before the stream opens', async () => {
    const stream = open('?after=abc');
    const status = await new Promise(resolve => {
      stream.socket.on('unexpected-response', (_, answer) =>
        resolve(answer.statusCode)
      );
    });
    expect(status).toBe(400);
  });

  test('while records are loaded the stream is refused, not empty', async () => {
    api.service.ready = false;
    const stream = open();
    const status = await new Promise(resolve => {
      stream.socket.on('unexpected-response', (_, answer) =>
        resolve(answer.statusCode)
      );
    });
    expect(status).toBe(503);
  });

  test('backends that take for ever do not hide the clusters, and follow when they are there', async () => {
    let arrive: (backends: never[]) => void = () => undefined;
    api.service.backendsAnswer = () =>
      new Promise(resolve => (arrive = resolve));
    const stream = open();
    await stream.until(have('snapshot'));
    expect(stream.messages[1]).toMatchObject({
      clusters: [{ id: CLUSTER }],
      backends: []
    });
    arrive([]);
    await stream.until(have('snapshot', 2));
  });

  test('what happens while the snapshot is made is not lost', async () => {
    let arrive: (backends: never[]) => void = () => undefined;
    api.service.backendsAnswer = () =>
      new Promise(resolve => (arrive = resolve));
    const stream = open();
    await stream.until(have('hello'));
    api.service.changed = null;
    api.service.clusters = [clusterView({ revision: 43 })];
    api.service.emit({
      type: 'cluster',
      seq: 101,
      cluster: clusterView({ revision: 43 })
    });
    arrive([]);
    await stream.until(have('snapshot'));
    expect(stream.messages[1]).toMatchObject({
      seq: 101,
      clusters: [{ revision: 43 }]
    });
    api.service.emit({
      type: 'cluster',
      seq: 102,
      cluster: clusterView({ revision: 44 })
    });
    await stream.until(have('cluster'));
    expect(stream.messages[2]).toMatchObject({
      seq: 102,
      cluster: { revision: 44 }
    });
  });

  test('a burst is coalesced to at most 20 frames in any second, and ends with the newest view', async () => {
    const stream = open();
    await stream.until(have('snapshot'));
    for (let step = 1; step <= 400; step += 1) {
      api.service.emit({
        type: 'cluster',
        seq: 100 + step,
        cluster: clusterView({ revision: 100 + step })
      });
      await new Promise(resolve => setTimeout(resolve, 5));
    }
    await stream.until(messages => {
      const last = messages.at(-1);
      return last?.type === 'cluster' && last.cluster.revision === 500;
    });
    for (
      let index = FRAMES_PER_SECOND;
      index < stream.times.length;
      index += 1
    ) {
      // Arrival may bunch a little; 25 in a second would already be another rate.
      const from = stream.times[index - FRAMES_PER_SECOND] ?? 0;
      expect((stream.times[index] ?? 0) - from).toBeGreaterThan(800);
    }
    expect(stream.messages.length).toBeGreaterThan(20);
  });

  test('worker rows come to those who watch, and only as long as they do', async () => {
    const watching = open();
    const other = open();
    await watching.until(have('snapshot'));
    await other.until(have('snapshot'));
    watching.socket.send(
      JSON.stringify({ type: 'watch', id: CLUSTER, workers: true })
    );
    await watching.until(have('workers'));
    expect(watching.messages[2]).toEqual({
      type: 'workers',
      seq: expect.any(Number),
      id: CLUSTER,
      upsert: [workerView()],
      remove: []
    });
    api.service.emit({
      type: 'workers',
      seq: 101,
      id: CLUSTER,
      upsert: [workerView({ cpu: 1.5 })],
      remove: ['old' as WorkerId]
    });
    await watching.until(have('workers', 2));
    expect(watching.messages[3]).toMatchObject({
      upsert: [{ cpu: 1.5 }],
      remove: ['old']
    });
    expect(api.service.watched).toEqual([[CLUSTER, true]]);
    watching.socket.send(
      JSON.stringify({ type: 'watch', id: CLUSTER, workers: false })
    );
    while (api.service.watched.length < 2) {
      await new Promise(resolve => setTimeout(resolve, 5));
    }
    expect(api.service.watched[1]).toEqual([CLUSTER, false]);
    api.service.emit({
      type: 'workers',
      seq: 102,
      id: CLUSTER,
      upsert: [workerView()],
      remove: []
    });
    api.service.emit({ type: 'cluster', seq: 103, cluster: clusterView() });
    await watching.until(have('cluster'));
    await other.until(have('cluster'));
    expect(types(watching).filter(type => type === 'workers')).toHaveLength(2);
    expect(types(other)).not.toContain('workers');
  });

  test('two panels on one cluster observe it once, until the last one leaves', async () => {
    const [one, two] = [open(), open()];
    for (const stream of [one, two]) {
      await stream.until(have('snapshot'));
      stream.socket.send(
        JSON.stringify({ type: 'watch', id: CLUSTER, workers: true })
      );
      await stream.until(have('workers'));
    }
    one.socket.close();
    await one.closed;
    expect(api.service.watched).toEqual([[CLUSTER, true]]);
    two.socket.terminate();
    while (api.service.watched.length < 2) {
      await new Promise(resolve => setTimeout(resolve, 5));
    }
    expect(api.service.watched).toEqual([
      [CLUSTER, true],
      [CLUSTER, false]
    ]);
  });

  test.each([
    ['text that is not JSON', '{"type":', 'the message is not JSON'],
    ['an unknown type', '{"type":"shout"}', 'type: '],
    ['an unknown field', '{"type":"pong","x":1}', 'x'],
    [
      'an id of a wrong shape',
      '{"type":"watch","id":"../../etc","workers":true}',
      'id: '
    ],
    ['bytes', Buffer.from([1, 2, 3]), 'messages must be JSON text']
  ] as [string, string | Buffer, string][])(
    '%s closes the stream with 1008 and the reason',
    async (_, message, reason) => {
      const stream = open();
      await stream.until(have('snapshot'));
      stream.socket.send(message);
      const closed = await stream.closed;
      expect(closed.code).toBe(1008);
      expect(closed.reason).toContain(reason);
    }
  );

  test('a frame above the limit closes the stream', async () => {
    const stream = open();
    await stream.until(have('snapshot'));
    stream.socket.send(' '.repeat(FRAME_LIMIT + 1));
    expect((await stream.closed).code).not.toBe(1000);
    await vanish();
  });

  test('a client that sends without pause is closed', async () => {
    const stream = open();
    await stream.until(have('snapshot'));
    for (let index = 0; index < 500; index += 1) {
      stream.socket.send('{"type":"pong"}');
    }
    expect(await stream.closed).toMatchObject({
      code: 1008,
      reason: 'more than 50 messages a second'
    });
  });

  test('a client that does not read is not buffered for: it gets a fresh snapshot when it reads again', async () => {
    const stream = open();
    await stream.until(have('snapshot'));
    stream.socket.pause();
    const big = 'x'.repeat(200_000);
    for (let step = 1; step <= 1000; step += 1) {
      api.service.emit({
        type: 'event',
        seq: 100 + step,
        event: clusterEvent(100 + step, { message: big })
      });
      if (step % 50 === 0) {
        await new Promise(resolve => setTimeout(resolve, 30));
      }
    }
    stream.socket.resume();
    await stream.until(have('snapshot', 2));
    const events = types(stream).filter(type => type === 'event').length;
    expect(events * big.length).toBeLessThan(10 * BUFFER_LIMIT);
    const last = stream.messages.at(-1);
    expect(last).toMatchObject({ type: 'snapshot', seq: 1100 });
    api.service.emit({ type: 'event', seq: 1101, event: clusterEvent(1101) });
    await stream.until(messages => messages.at(-1)?.type === 'event');
  });

  test('when the bridge goes, clients hear 1012', async () => {
    const stream = open();
    await stream.until(have('snapshot'));
    const closing = api.server.close();
    expect(await stream.closed).toEqual({
      code: 1012,
      reason: 'the bridge is restarting'
    });
    await closing;
    expect(api.service.subscriptions).toBe(0);
  });

  test('twenty streams come and go without a trace', async () => {
    for (let round = 0; round < 20; round += 1) {
      const stream = open();
      await stream.until(have('snapshot'));
      stream.socket.send(
        JSON.stringify({ type: 'watch', id: CLUSTER, workers: true })
      );
      await stream.until(have('workers'));
      stream.socket.close();
      await stream.closed;
    }
    await vanish();
    expect(api.service.watched.filter(([, on]) => on)).toHaveLength(20);
    expect(api.service.watched.filter(([, on]) => !on)).toHaveLength(20);
  });
});

async function vanish(): Promise<void> {
  while (api.server.clients > 0) {
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}
