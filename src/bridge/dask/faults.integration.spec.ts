/** What goes wrong on the line to real schedulers, and how the link shows it. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { connect as connectTcp } from 'node:net';
import {
  DASK_VERSIONS,
  TestCluster,
  until,
  type DaskVersion
} from './fixtures/dask-cluster.js';
import { failureOf } from './fixtures/failure.js';
import type { LinkEvent } from './scheduler-link.js';
import { openComm, type Comm } from './wire/comm.js';
import type { LinkError } from './wire/errors.js';
import { encodeFrames } from './wire/framing.js';
import { encodeMessage } from './wire/messages.js';
import { RpcComm } from './wire/rpc.js';

const comms: Comm[] = [];

afterEach(async () => {
  comms.splice(0).forEach(comm => {
    comm.destroy();
  });
  await TestCluster.stopAll();
});

async function start(
  version: DaskVersion,
  transport: 'tcp' | 'tls',
  environment: Record<string, string> = {}
): Promise<TestCluster> {
  return TestCluster.start({ version, transport, environment });
}

async function rpcOf(cluster: TestCluster): Promise<RpcComm> {
  const comm = await openComm({
    address: cluster.address,
    security: cluster.security
  });
  comms.push(comm);
  return new RpcComm(comm);
}

describe.each(DASK_VERSIONS)('a scheduler of %s', version => {
  it('answers what is wrong as we expect it', async () => {
    const cluster = await start(version, 'tcp');
    const rpc = await rpcOf(cluster);
    expect(await rpc.call({ op: 'no_such_op' }, 5000)).toBeNull();
    expect(
      await failureOf(rpc.call({ op: 'identity', foo: 1 }, 5000))
    ).toMatchObject({
      kind: 'remote',
      message: expect.stringContaining('unexpected keyword argument')
    });
    expect(
      await failureOf(
        rpc.call({ op: 'get_metadata', keys: ['muster', 'nope'] }, 5000)
      )
    ).toMatchObject({ kind: 'remote' });
    // The comm lives on after all of these.
    expect(await rpc.call({ op: 'echo', data: [1, 'x'] }, 5000)).toEqual([
      1,
      'x'
    ]);

    // A message that is no map kills the comm without a reply.
    const closed = new Promise<LinkError>(resolve => {
      rpc.comm.onClose(resolve);
    });
    rpc.comm.send(['not', 'a', 'map']);
    expect((await closed).kind).toBe('closed');
  });

  it('closes a comm whose first word is wrong', async () => {
    const cluster = await start(version, 'tcp');
    const { hostname, port } = new URL(
      cluster.address.replace('tcp:', 'http:')
    );
    const socket = connectTcp({ host: hostname, port: Number(port) });
    try {
      const closed = new Promise(resolve => {
        socket.on('error', () => undefined);
        socket.once('close', resolve);
      });
      socket.resume();
      socket.write(
        encodeFrames(encodeMessage({ compression: null, 'pickle-protocol': 5 }))
      );
      const request = encodeFrames(encodeMessage({ op: 'identity' }));
      request.writeBigUInt64LE(0n, 0);
      socket.write(request);
      await closed;
    } finally {
      socket.destroy();
    }
  });

  it('says nothing to a client without versions, and ends a stream for one unknown op', async () => {
    const cluster = await start(version, 'tcp');
    const versions = await (
      await rpcOf(cluster)
    ).call({ op: 'versions' }, 30_000);

    const silent = await openComm({ address: cluster.address, security: null });
    comms.push(silent);
    const heard: unknown[] = [];
    silent.onMessage(message => heard.push(message));
    silent.send({
      op: 'register-client',
      client: 'muster-silent',
      reply: false
    });

    const stream = await openComm({ address: cluster.address, security: null });
    comms.push(stream);
    const closed = new Promise<LinkError>(resolve => {
      stream.onClose(resolve);
    });
    const started = new Promise(resolve => {
      stream.onMessage(resolve);
    });
    stream.send({
      op: 'register-client',
      client: 'muster-odd',
      reply: false,
      versions
    });
    expect(await started).toEqual([
      { op: 'stream-start', warning: '', error: '' }
    ]);
    stream.send([{ op: 'no-such-op' }]);
    expect((await closed).kind).toBe('closed');
    expect(heard).toEqual([]);
  });

  it('that is not the expected one is refused', async () => {
    const cluster = await start(version, 'tcp');
    expect(
      (await failureOf(cluster.openLink('Scheduler-somebody-else'))).kind
    ).toBe('other-scheduler');
  });

  it('that hangs is told as lost, and as connected when it is back, with what happened meanwhile', async () => {
    const cluster = await start(version, 'tls');
    const link = await cluster.openLink();
    const events: LinkEvent[] = [];
    const worker = await cluster.startWorker('alpha');
    link.onEvent(event => events.push(event));
    cluster.scheduler.signal('SIGSTOP');
    await until('the loss', () => events.some(event => event.type === 'lost'));
    expect(link.connected).toBe(false);
    worker.signal('SIGKILL');
    await worker.ended;
    cluster.scheduler.signal('SIGCONT');
    await until('the return', () =>
      events.some(event => event.type === 'connected')
    );
    expect(link.connected).toBe(true);
    await until('the removal', () =>
      events.some(event => event.type === 'worker-removed')
    );
    expect(events.filter(event => event.type === 'worker-removed')).toEqual([
      {
        type: 'worker-removed',
        address: worker.address,
        expected: false,
        lostTasks: 0
      }
    ]);
    expect((await link.identity()).workers).toEqual([]);
  });

  it('that was killed stays lost, and closing the link ends its attempts', async () => {
    const cluster = await start(version, 'tcp');
    const link = await cluster.openLink();
    const events: LinkEvent[] = [];
    link.onEvent(event => events.push(event));
    cluster.scheduler.signal('SIGKILL');
    await until('the loss', () => events.some(event => event.type === 'lost'));
    await until('why it does not come back', () =>
      events.some(
        event =>
          event.type === 'lost' && event.message.includes('nobody listens')
      )
    );
    expect((await failureOf(link.adaptiveTarget(5))).kind).toBe('connect');
    await link.close();
    expect(events.filter(event => event.type === 'connected')).toEqual([]);
  });

  it('drains ten workers one after the other, and no task is ever suspicious', async () => {
    const cluster = await start(version, 'tcp');
    const link = await cluster.openLink();
    const driver = await cluster.startDriver();
    await Promise.all([
      cluster.startWorker('keeper'),
      cluster.startWorker('w-0')
    ]);
    await driver.run(
      'kept.update(work=client.map(slow, range(150), seconds=0.1, pure=False)) or True'
    );
    for (let round = 0; round < 10; round++) {
      const next =
        round < 9
          ? cluster.startWorker(`w-${round + 1}`)
          : Promise.resolve(null);
      const { workers } = await link.identity();
      const address = workers.find(worker => worker.name === `w-${round}`)
        ?.address as string;
      expect(
        Object.fromEntries(await link.drain([address], { deadlineMs: 30_000 }))
      ).toEqual({ [address]: { type: 'retired' } });
      await next;
    }
    expect(await driver.run('sum(client.gather(kept["work"]))')).toBe(
      (149 * 150) / 2
    );
    expect(
      await driver.run(
        'client.run_on_scheduler(lambda dask_scheduler: max(ts.suspicious for ts in dask_scheduler.tasks.values()))'
      )
    ).toBe(0);
    await driver.stop();
  });

  it('cannot move data to a worker that hangs: the drain ends by force, with what was lost', async () => {
    const cluster = await start(version, 'tcp');
    const link = await cluster.openLink();
    const driver = await cluster.startDriver();
    const [holder, hanging] = await Promise.all([
      cluster.startWorker('holder'),
      cluster.startWorker('hanging')
    ]);
    await driver.run(
      'kept.update(data=client.map(data, range(3), size=1_000_000, workers=["holder"], pure=False)) or wait(kept["data"]) and True'
    );
    hanging.signal('SIGSTOP');
    const results = await link.drain([holder.address], { deadlineMs: 5_000 });
    expect(results.get(holder.address)).toMatchObject({
      type: 'forced',
      message: expect.stringContaining('removal failed')
    });
    expect((await link.identity()).workers.map(worker => worker.name)).toEqual([
      'hanging'
    ]);
    expect(await holder.ended).toBe(0);
    hanging.signal('SIGCONT');
    await driver.stop();
  });

  it('tells why each worker went', async () => {
    const cluster = await start(version, 'tcp');
    const link = await cluster.openLink();
    const events: LinkEvent[] = [];
    link.onEvent(event => events.push(event));
    const story = async (address: string, told: number): Promise<unknown[]> => {
      const mine = (): LinkEvent[] =>
        events.filter(
          event =>
            'address' in event &&
            event.address === address &&
            event.type !== 'worker-added' &&
            // On its way from init, when it had just come.
            !(event.type === 'worker-status' && event.status === 'running')
        );
      await until(
        `the story of ${address}: ${JSON.stringify(mine())}`,
        () => mine().length >= told
      );
      return mine().map(event =>
        event.type === 'worker-removed'
          ? event.expected
            ? 'left'
            : 'died'
          : event.type === 'worker-status'
            ? (event.reason ?? event.status)
            : null
      );
    };
    const lifetime = await cluster.startWorker('lifetime', {
      lifetimeSeconds: 4
    });
    const [killed, termed, unregistered] = await Promise.all([
      cluster.startWorker('killed'),
      cluster.startWorker('termed'),
      cluster.startWorker('unregistered')
    ]);
    killed.signal('SIGKILL');
    expect(await story(killed.address, 1)).toEqual(['died']);
    termed.signal('SIGTERM');
    expect(await story(termed.address, 1)).toEqual(['died']);
    expect(await termed.ended).toBe(0);
    await link.unregister(unregistered.address);
    expect(await story(unregistered.address, 2)).toEqual([
      'died',
      'scheduler-remove-worker'
    ]);
    expect(await unregistered.ended).toBe(0);
    expect(await story(lifetime.address, 3)).toEqual([
      'closing_gracefully',
      'left',
      'worker-lifetime-reached'
    ]);
    expect(await lifetime.ended).toBe(0);
  });
});
