import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import { fullJitterMs } from './backoff.js';
import { recordedMessages } from './fixtures/recorded.js';
import { Operations } from './operations.js';
import { Sleeper } from './sleeper.js';
import { parseTolerantly, readDump, TaskCounter } from './task-counts.js';
import { decodeMessage } from './wire/messages.js';
import { FrameReader } from './wire/framing.js';

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(
    servers
      .splice(0)
      .map(server => new Promise(resolve => server.close(resolve)))
  );
});

async function dashboard(body: string, status = 200): Promise<number> {
  const server = createServer((request, response) => {
    expect(request.url).toBe('/json/counts.json');
    response.writeHead(status).end(body);
  });
  servers.push(server);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as { port: number }).port;
}

const DUMP = {
  tasks: {
    a: { state: 'queued' },
    b: { state: 'no-worker' },
    c: { state: 'queued' },
    d: { state: 'memory' },
    e: 'repr'
  },
  clients: { 'fire-and-forget': {}, 'muster-1': {}, 'Client-x': {} }
};

function counterOf(port: number | null): {
  counter: TaskCounter;
  asked: string[];
  pass: (ms: number) => void;
} {
  const asked: string[] = [];
  let clock = 0;
  const operations = new Operations(
    request => {
      asked.push(request.op);
      return Promise.resolve(
        request.op === 'dump_state'
          ? DUMP
          : {
              f: {
                memory: 24,
                erred: 1,
                released: 2,
                processing: 7,
                waiting: 3
              },
              g: { memory: 1, processing: 0 }
            }
      );
    },
    { limitedIdentity: true }
  );
  return {
    counter: new TaskCounter({
      operations,
      dashboardPort: () => port,
      isOurs: client => client.startsWith('muster-'),
      ourClients: () => 1,
      now: () => clock
    }),
    asked,
    pass: ms => {
      clock += ms;
    }
  };
}

describe('task counts', () => {
  it('have queued tasks as what is left of all, and our stream not among the clients', async () => {
    const port = await dashboard(
      '{"tasks": 100, "unrunnable": 5, "clients": 3, "bytes": NaN}'
    );
    const { counter, asked } = counterOf(port);
    expect(await counter.count()).toEqual({
      processing: 7,
      queued: 57,
      waiting: 3,
      unrunnable: 5,
      erred: 1,
      memory: 25,
      clients: 1
    });
    expect(asked).toEqual(['get_task_prefix_states']);
  });

  it.each([
    ['is not reachable', null],
    ['answers an error', 'error'],
    ['answers nonsense', 'nonsense'],
    ['answers without end', 'endless']
  ])('come by the wire alone where the dashboard %s', async (_, kind) => {
    const port =
      kind === null
        ? null
        : kind === 'error'
          ? await dashboard('{}', 500)
          : kind === 'nonsense'
            ? await dashboard('<html>')
            : await dashboard(`{"tasks": 1, "x": "${'x'.repeat(100_000)}"}`);
    const { counter, asked } = counterOf(port);
    expect(await counter.count()).toMatchObject({
      queued: 2,
      unrunnable: 1,
      clients: 1
    });
    expect(asked).toEqual(['get_task_prefix_states', 'dump_state']);
  });

  it('are not asked again at once, and the dump of all tasks at most every ten seconds', async () => {
    const { counter, asked, pass } = counterOf(null);
    await Promise.all([counter.count(), counter.count()]);
    await counter.count();
    expect(asked).toEqual(['get_task_prefix_states', 'dump_state']);
    pass(1_000);
    await counter.count();
    expect(asked.slice(2)).toEqual(['get_task_prefix_states']);
    pass(10_000);
    await counter.count();
    expect(asked.slice(3)).toEqual(['get_task_prefix_states', 'dump_state']);
  });

  it('are read from a recorded dump', () => {
    const recorded = recordedMessages().find(
      ({ case: name, bytes, version }) =>
        name === 'dump-state' && bytes > 1000 && version === '2025.9.1'
    );
    const dump = decodeMessage(
      new FrameReader().push(recorded?.raw as Buffer)[0] as Buffer[]
    ) as { tasks: Record<string, { state: string }>; clients: object };
    const counts = readDump(dump, client => client.startsWith('muster-'));
    const states = Object.values(dump.tasks).map(task => task.state);
    expect(counts.queued).toBe(
      states.filter(state => state === 'queued').length
    );
    expect(counts.unrunnable).toBe(
      states.filter(state => state === 'no-worker').length
    );
    expect(Object.keys(dump.clients)).toContain('fire-and-forget');
    expect(counts.clients).toBe(
      Object.keys(dump.clients).filter(client => !client.startsWith('muster-'))
        .length - 1
    );
  });

  it.each([[null], [[]], ['x'], [{ tasks: 5, clients: [] }]])(
    'of a dump of another shape (%j) are zero',
    dump => {
      expect(readDump(dump, () => false)).toEqual({
        queued: 0,
        unrunnable: 0,
        clients: 0
      });
    }
  );
});

it('JSON with NaN is read, and text that only looks like it is left', () => {
  expect(
    parseTolerantly('{"a": NaN, "b": [Infinity, -Infinity], "c": "x: NaN, y"}')
  ).toEqual({ a: null, b: [null, null], c: expect.any(String) });
  expect(parseTolerantly('{')).toBeNull();
});

it('waits after failures grow up to the cap, and are spread over all of it', () => {
  const options = { baseMs: 250, capMs: 30_000 };
  expect(fullJitterMs(0, { ...options, random: () => 0.999 })).toBeLessThan(
    250
  );
  expect(fullJitterMs(3, { ...options, random: () => 0.5 })).toBe(1000);
  expect(fullJitterMs(5000, { ...options, random: () => 1 })).toBe(30_000);
  expect(fullJitterMs(9, { ...options, random: () => 0 })).toBe(0);
});

describe('a pause', () => {
  it('ends early by its own kind only, and by the end of its owner', async () => {
    const sleeper = new Sleeper<'a' | 'b'>();
    const ended: string[] = [];
    const sleeps = [
      sleeper.sleep(60_000, 'a').then(() => ended.push('a')),
      sleeper.sleep(60_000, 'b').then(() => ended.push('b')),
      sleeper.sleep(60_000).then(() => ended.push('none'))
    ];
    sleeper.wake('a');
    await sleeps[0];
    expect(ended).toEqual(['a']);
    sleeper.end();
    await Promise.all(sleeps);
    await sleeper.sleep(60_000);
    expect(ended).toHaveLength(3);
  });
});
