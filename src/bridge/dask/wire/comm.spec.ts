import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import { failureOf } from '../fixtures/failure.js';
import {
  FakePeer,
  HELLO,
  send,
  type FakePeerOptions
} from '../fixtures/fake-peer.js';
import { openComm, type Comm, type CommOptions } from './comm.js';
import { encodeFrames } from './framing.js';
import { encodeMessage } from './messages.js';
import { RpcComm } from './rpc.js';
import { RpcPool } from './rpc-pool.js';

const opened: { stop(): Promise<void> }[] = [];
const comms: Comm[] = [];

afterEach(async () => {
  comms.splice(0).forEach(comm => {
    comm.destroy();
  });
  await Promise.all(opened.splice(0).map(peer => peer.stop()));
});

async function peerOf(options: FakePeerOptions = {}): Promise<FakePeer> {
  const peer = await FakePeer.start(options);
  opened.push(peer);
  return peer;
}

async function connect(
  peer: FakePeer,
  options: Partial<CommOptions> = {}
): Promise<Comm> {
  const comm = await openComm({
    address: peer.address,
    security: null,
    ...options
  });
  comms.push(comm);
  return comm;
}

describe('a connection', () => {
  it('counts only once the peer has said hello', async () => {
    const silent = await peerOf({ hello: null });
    const error = await failureOf(connect(silent, { helloTimeoutMs: 80 }));
    expect(error.kind).toBe('deadline');
    expect(error.message).toContain('did not say hello');
    await untilNone(silent);
  });

  it.each([
    ['no map', 'hello'],
    ['no keys', {}],
    ['one key', { 'pickle-protocol': 5 }]
  ])('to a peer whose hello is wrong (%s) is refused', async (_, hello) => {
    const peer = await peerOf({ hello });
    expect((await failureOf(connect(peer))).kind).toBe('handshake');
    await untilNone(peer);
  });

  it('to a peer that hangs up says what to check', async () => {
    const peer = await peerOf({ hello: null, onMessage: () => undefined });
    const waiting = connect(peer);
    setTimeout(() => {
      peer.dropConnections();
    }, 30);
    const error = await failureOf(waiting);
    expect(error.kind).toBe('handshake');
    expect(error.hint).toContain('scheme');
  });

  it('to a web server is refused as another protocol', async () => {
    const peer = await peerOf({
      hello: Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')
    });
    expect((await failureOf(connect(peer))).kind).toBe('protocol');
  });

  it('to nobody is refused, saying so', async () => {
    const peer = await peerOf();
    const { address } = peer;
    await peer.stop();
    const error = await failureOf(openComm({ address, security: null }));
    expect(error).toMatchObject({
      kind: 'connect',
      systemCode: 'ECONNREFUSED'
    });
  });

  it('whose encryption is never answered ends by its deadline', async () => {
    const peer = await peerOf({ hello: null });
    const error = await failureOf(
      openComm({
        address: peer.address.replace('tcp:', 'tls:'),
        security: { ca: '', cert: '', key: '', servername: 'x.muster' },
        connectTimeoutMs: 80
      })
    );
    expect(error.kind).toBe('deadline');
    await untilNone(peer);
  });

  it('is never plain where there are certificates, and never encrypted without', async () => {
    const security = { ca: '', cert: '', key: '', servername: 'x.muster' };
    expect(
      (await failureOf(openComm({ address: 'tcp://127.0.0.1:1', security })))
        .kind
    ).toBe('unsupported');
    expect(
      (
        await failureOf(
          openComm({ address: 'tls://127.0.0.1:1', security: null })
        )
      ).kind
    ).toBe('unsupported');
    for (const address of [
      'ws://127.0.0.1:1',
      '127.0.0.1:1',
      'tcp://h',
      'tcp://h:0',
      'tcp://h:70000',
      'tcp://a b:1',
      'inproc://1/2/3'
    ]) {
      expect(
        (await failureOf(openComm({ address, security: null }))).kind
      ).toBe('unsupported');
    }
  });

  it('can be given up while it is being made', async () => {
    const peer = await peerOf({ hello: null });
    const giveUp = new AbortController();
    const waiting = connect(peer, { signal: giveUp.signal });
    setTimeout(() => {
      giveUp.abort();
    }, 20);
    await failureOf(waiting);
    await untilNone(peer);
  });

  it('reads a peer that sends one byte at a time', async () => {
    const server = createServer(socket => {
      const bytes = Buffer.concat([
        encodeFrames(encodeMessage(HELLO)),
        encodeFrames(encodeMessage({ first: 1 })),
        encodeFrames(encodeMessage('second'))
      ]);
      socket.setNoDelay(true);
      socket.resume();
      let index = 0;
      const timer = setInterval(() => {
        if (index < bytes.length) {
          socket.write(bytes.subarray(index, ++index));
        } else {
          clearInterval(timer);
        }
      }, 1);
      socket.on('close', () => {
        clearInterval(timer);
      });
      socket.on('error', () => undefined);
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    opened.push({
      stop: () =>
        new Promise(resolve =>
          server.close(() => {
            resolve();
          })
        )
    });
    const { port } = server.address() as { port: number };
    const comm = await openComm({
      address: `tcp://127.0.0.1:${port}`,
      security: null
    });
    comms.push(comm);
    const messages: unknown[] = [];
    await new Promise<void>(resolve => {
      comm.onMessage(message => {
        if (messages.push(message) === 2) {
          resolve();
        }
      });
    });
    expect(messages).toEqual([{ first: 1 }, 'second']);
  });

  it('is closed by a message over the limit', async () => {
    const peer = await peerOf({ answer: () => 'x'.repeat(2000) });
    const rpc = new RpcComm(
      await connect(peer, { limits: { maxFrames: 4, maxBytes: 1000 } })
    );
    const error = await failureOf(rpc.call({ op: 'identity' }, 2000));
    expect(error.kind).toBe('protocol');
    expect(rpc.comm.closed).toBe(true);
    await untilNone(peer);
  });

  it('opened and closed twenty times leaves none open', async () => {
    const peer = await peerOf();
    for (let round = 0; round < 20; round++) {
      (await connect(peer)).close();
    }
    await untilNone(peer);
    expect(
      peer.received.filter(
        message => (message as { op?: string }).op === 'close'
      )
    ).toHaveLength(20);
  });
});

describe('a call', () => {
  it('that misses its deadline takes its comm with it: the late reply answers nobody', async () => {
    const peer = await peerOf({
      answer: (request, socket) => {
        if (request['op'] === 'slow') {
          setTimeout(() => {
            send(socket, 'late');
          }, 120);
          return undefined;
        }
        return `reply to ${String(request['op'])}`;
      }
    });
    const pool = new RpcPool({
      open: async () => new RpcComm(await connect(peer))
    });
    const error = await failureOf(
      pool.call({ op: 'slow' }, { deadlineMs: 50 })
    );
    expect(error.kind).toBe('deadline');
    expect(error.outcomeUnknown).toBe(true);
    for (let round = 0; round < 5; round++) {
      expect(await pool.call({ op: `n${round}` }, { deadlineMs: 1000 })).toBe(
        `reply to n${round}`
      );
      await new Promise(resolve => setTimeout(resolve, 40));
    }
    expect(peer.connections).toBe(2);
    pool.close();
    await untilNone(peer);
  });

  it('whose comm is closed without a reply fails and is not repeated', async () => {
    const peer = await peerOf({
      answer: (_, socket) => {
        socket.destroy();
        return undefined;
      }
    });
    const pool = new RpcPool({
      open: async () => new RpcComm(await connect(peer))
    });
    const error = await failureOf(
      pool.call({ op: 'broadcast' }, { deadlineMs: 1000 })
    );
    expect(error.kind).toBe('closed');
    expect(peer.received).toHaveLength(1);
    pool.close();
  });

  it('that was refused leaves its comm fit for the next', async () => {
    const peer = await peerOf({
      answer: request =>
        request['op'] === 'bad'
          ? {
              status: 'uncaught-error',
              exception_text: "TypeError('no')",
              traceback_text: 'File x'
            }
          : null
    });
    const pool = new RpcPool({
      open: async () => new RpcComm(await connect(peer))
    });
    const error = await failureOf(
      pool.call({ op: 'bad' }, { deadlineMs: 1000 })
    );
    expect(error).toMatchObject({
      kind: 'remote',
      message: "The scheduler refused: TypeError('no')"
    });
    expect(await pool.call({ op: 'good' }, { deadlineMs: 1000 })).toBeNull();
    await failureOf(
      pool.call({ op: 'mine', value: { __Pickled__: 1 } }, { deadlineMs: 1000 })
    );
    expect(await pool.call({ op: 'good' }, { deadlineMs: 1000 })).toBeNull();
    expect(peer.connections).toBe(1);
    pool.close();
  });

  it('that hangs does not hold up the others', async () => {
    const peer = await peerOf({
      answer: request =>
        request['op'] === 'retire_workers' ? undefined : 'looked'
    });
    const pool = new RpcPool({
      open: async () => new RpcComm(await connect(peer)),
      cheapLanes: 1
    });
    const stuck = [1, 2, 3].map(() =>
      failureOf(
        pool.call({ op: 'retire_workers' }, { deadlineMs: 300, slow: true })
      )
    );
    const looks = [1, 2, 3, 4].map(() =>
      pool.call({ op: 'identity' }, { deadlineMs: 200 })
    );
    expect(await Promise.all(looks)).toEqual([
      'looked',
      'looked',
      'looked',
      'looked'
    ]);
    expect((await Promise.all(stuck)).map(error => error.kind)).toEqual([
      'deadline',
      'deadline',
      'deadline'
    ]);
    pool.close();
    await untilNone(peer);
  });

  it('is never answered by what was not asked', async () => {
    const peer = await peerOf({
      answer: (_, socket) => {
        send(socket, 'one');
        return 'two';
      }
    });
    const rpc = new RpcComm(await connect(peer));
    expect(await rpc.call({ op: 'x' }, 1000)).toBe('one');
    await untilNone(peer);
    expect((await failureOf(rpc.call({ op: 'y' }, 1000))).kind).toBe(
      'protocol'
    );
  });

  it('after the end of the pool fails at once', async () => {
    const peer = await peerOf({ answer: () => null });
    const pool = new RpcPool({
      open: async () => new RpcComm(await connect(peer))
    });
    await pool.call({ op: 'x' }, { deadlineMs: 1000 });
    pool.close();
    expect(
      (await failureOf(pool.call({ op: 'x' }, { deadlineMs: 1000 }))).kind
    ).toBe('closed');
    await untilNone(peer);
  });
});

async function untilNone(peer: FakePeer): Promise<void> {
  for (let tries = 0; peer.open > 0 && tries < 200; tries++) {
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  expect(peer.open).toBe(0);
}
