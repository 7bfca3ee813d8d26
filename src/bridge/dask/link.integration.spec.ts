/** The whole link against real schedulers: each version of the matrix, plain and encrypted. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import {
  DASK_VERSIONS,
  listenersOf,
  TestCluster,
  TRANSPORTS,
  until,
  type Driver
} from './fixtures/dask-cluster.js';
import type { LinkEvent, SchedulerLink } from './scheduler-link.js';
import { Operations } from './operations.js';
import { TaskCounter } from './task-counts.js';
import { capabilitiesOf } from './versions.js';
import { openComm } from './wire/comm.js';
import { RpcComm } from './wire/rpc.js';

const matrix = DASK_VERSIONS.flatMap(version =>
  TRANSPORTS.map(transport => ({ version, transport }))
);

type Worker = Awaited<ReturnType<TestCluster['startWorker']>>;

describe.each(matrix)('a scheduler of $version over $transport', options => {
  let cluster: TestCluster;
  let link: SchedulerLink;
  let driver: Driver;
  const events: LinkEvent[] = [];
  let alpha: Worker;
  let beta: Worker;

  beforeAll(async () => {
    cluster = await TestCluster.start(options);
    link = await cluster.openLink(cluster.schedulerId);
    link.onEvent(event => events.push(event));
    [alpha, beta, driver] = await Promise.all([
      cluster.startWorker('alpha', { nthreads: 2, resources: { GPU: 1 } }),
      cluster.startWorker('beta'),
      cluster.startDriver()
    ]);
  });

  afterAll(async () => {
    await TestCluster.stopAll();
  });

  it('is known by id and version, and so are its workers', async () => {
    if (options.version !== 'newest') {
      expect(link.version).toBe(options.version);
    }
    expect(link.packages['distributed']).toBe(link.version);
    expect(link.connected).toBe(true);
    const identity = await link.identity();
    expect(identity.id).toBe(cluster.schedulerId);
    expect(identity.address).toBe(cluster.address);
    expect(
      cluster.address.startsWith(`${options.transport}://127.0.0.1:`)
    ).toBe(true);
    expect(identity.dashboardPort).toEqual(expect.any(Number));
    expect(
      identity.workers
        .map(({ name, address, nthreads, memoryLimit, resources, status }) => ({
          name,
          address,
          nthreads,
          memoryLimit,
          resources,
          status
        }))
        .sort((a, b) => a.name.localeCompare(b.name))
    ).toEqual([
      {
        name: 'alpha',
        address: alpha.address,
        nthreads: 2,
        memoryLimit: 1_000_000_000,
        resources: { GPU: 1 },
        status: 'running'
      },
      {
        name: 'beta',
        address: beta.address,
        nthreads: 1,
        memoryLimit: 1_000_000_000,
        resources: {},
        status: 'running'
      }
    ]);
  });

  it('listens on loopback alone, and so do its workers', () => {
    for (const { pid } of [cluster.scheduler, alpha, beta]) {
      const listeners = listenersOf(pid);
      // The comm, and HTTP, which opens without a dashboard too.
      expect(listeners.length).toBeGreaterThanOrEqual(2);
      expect(listeners.filter(({ address }) => address !== '0100007F')).toEqual(
        []
      );
    }
  });

  it('gives its processes no key on the command line, and all workers one hash seed', () => {
    for (const { pid } of [cluster.scheduler, alpha, beta]) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toMatch(
        /pem|BEGIN/
      );
    }
    expect(readFileSync(`/proc/${alpha.pid}/environ`, 'utf8')).toContain(
      'PYTHONHASHSEED=6640'
    );
  });

  it('still knows its identity after tasks ran, whose metrics have tuples for keys', async () => {
    expect(
      await driver.run(
        'sum(client.gather(client.map(slow, range(10), seconds=0.01)))'
      )
    ).toBe(45);
    await until('metrics of tasks', async () =>
      (await link.identity()).workers.some(
        worker => worker.metricsTime !== null && (worker.cpu ?? -1) >= 0
      )
    );
    expect((await link.identity()).workers).toHaveLength(2);
  });

  it('keeps notes of ours', async () => {
    await link.setMetadata(['muster', 'owner'], { id: 'me', epoch: 7 });
    expect(await link.getMetadata(['muster', 'owner', 'epoch'])).toBe(7);
    expect(await link.getMetadata(['muster', 'nothing'])).toBeNull();
    await expect(
      link.setMetadata(['muster'], { __Pickled__: 1 })
    ).rejects.toMatchObject({ kind: 'protocol' });
  });

  it('tells what waits, what cannot run, and its clients without ours', async () => {
    await driver.run(
      'kept.update(gpu=client.map(slow, range(40), seconds=0, resources={"GPU": 4}, pure=False)) or True'
    );
    const counts = await until('unrunnable tasks', async () => {
      const seen = await link.taskCounts();
      return seen.unrunnable === 40 ? seen : null;
    });
    expect(counts).toMatchObject({
      processing: 0,
      queued: 0,
      erred: 0,
      clients: 1
    });
    // The same by the wire alone, as where the dashboard cannot be reached.
    const comm = await openComm({
      address: cluster.address,
      security: cluster.security
    });
    const rpc = new RpcComm(comm);
    const byWire = new TaskCounter({
      operations: new Operations(
        (request, { deadlineMs }) => rpc.call(request, deadlineMs),
        capabilitiesOf(link.version)
      ),
      dashboardPort: () => null,
      isOurs: client => client.startsWith('muster-'),
      ourClients: () => 0
    });
    expect(await byWire.count()).toEqual(counts);
    comm.close();
    await driver.run('kept.clear() or True');

    await driver.run(
      'kept.update(many=client.map(slow, range(60), seconds=0.3, pure=False)) or True'
    );
    await until('queued tasks', async () => {
      const seen = await link.taskCounts();
      return seen.queued > 30 && seen.processing > 0;
    });
    expect(await link.idleSince()).toBeNull();
    expect(await link.adaptiveTarget(1)).toBeGreaterThan(2);
    await driver.run('kept.clear() or True');
    await until('rest', async () => (await link.idleSince()) !== null);
    expect(await link.idleSince()).toBeGreaterThan(1.7e9);
  });

  it('lets a task be a client itself', async () => {
    expect(
      await driver.run('client.submit(nested, 41, pure=False).result(60)')
    ).toBe(42);
  });

  it('can be linked to twenty times, and nothing of it stays open here or there', async () => {
    const sockets = (): number =>
      process
        .getActiveResourcesInfo()
        .filter(name => /TCP|TLS|Timeout/.test(name)).length;
    const clients = async (): Promise<unknown> =>
      driver.run(
        'client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.clients))'
      );
    const before = await clients();
    // The one ahead of the rounds settles what is opened lazily.
    await (await cluster.openLink()).close();
    const open = sockets();
    for (let round = 0; round < 20; round++) {
      const other = await cluster.openLink();
      await other.identity();
      await other.close();
    }
    await until('our sockets to be closed', () => sockets() <= open);
    await until('the scheduler to forget us', async () => {
      return (await clients()) === before;
    });
  });

  it('ranks whom to lose', async () => {
    expect([alpha.address, beta.address]).toContain(
      (await link.workersToClose(1))[0]
    );
    expect((await link.workersToClose(5)).sort()).toEqual(
      [alpha.address, beta.address].sort()
    );
  });

  it('tells every link of arrivals and departures, also when the one slot for status is stolen', async () => {
    const other = await cluster.openLink();
    const heard: LinkEvent[] = [];
    other.onEvent(event => heard.push(event));
    const thief = await openComm({
      address: cluster.address,
      security: cluster.security
    });
    thief.send({ op: 'subscribe_worker_status' });

    const gamma = await cluster.startWorker('gamma');
    const before = events.length;
    gamma.signal('SIGKILL');
    expect(await gamma.ended).toBe('SIGKILL');
    for (const seen of [heard, events]) {
      await until('the kill to be told', () =>
        seen.some(
          event =>
            event.type === 'worker-removed' && event.address === gamma.address
        )
      );
      expect(
        seen.filter(
          event =>
            event.type === 'worker-added' && event.address === gamma.address
        )
      ).toHaveLength(1);
      expect(
        seen.filter(
          event =>
            event.type === 'worker-removed' && event.address === gamma.address
        )
      ).toEqual([
        {
          type: 'worker-removed',
          address: gamma.address,
          expected: false,
          lostTasks: 0
        }
      ]);
    }
    expect(events.slice(before).filter(event => event.type === 'lost')).toEqual(
      []
    );
    thief.destroy();
    await other.close();
    await until('our link to be told of other links', () =>
      events.some(event => event.type === 'clients-changed')
    );
  });

  it('lets workers go politely: running tasks end, and data that was only there survives', async () => {
    const [delta, epsilon] = await Promise.all([
      cluster.startWorker('delta', { nthreads: 2 }),
      cluster.startWorker('epsilon')
    ]);
    await driver.run(
      `kept.update(data=client.map(data, range(6), size=1_000_000, workers=["delta", "epsilon"], pure=False)) or wait(kept["data"]) and True`
    );
    await driver.run(
      `kept.update(running=client.map(slow, range(6), seconds=1.5, workers=["delta", "epsilon"], allow_other_workers=True, pure=False)) or True`
    );
    await until('tasks to run there', async () =>
      (await link.identity()).workers
        .filter(worker => ['delta', 'epsilon'].includes(worker.name))
        .every(worker => worker.executing > 0)
    );

    const both = [delta.address, epsilon.address];
    const [results, joined] = await Promise.all([
      link.drain(both, { deadlineMs: 60_000 }),
      link.drain([delta.address], { deadlineMs: 60_000 })
    ]);
    expect(Object.fromEntries(results)).toEqual({
      [delta.address]: { type: 'retired' },
      [epsilon.address]: { type: 'retired' }
    });
    expect(Object.fromEntries(joined)).toEqual({
      [delta.address]: { type: 'retired' }
    });
    expect(await Promise.all([delta.ended, epsilon.ended])).toEqual([0, 0]);
    expect(await driver.run('sum(client.gather(kept["running"]))')).toBe(15);
    expect(
      await driver.run('[len(b) for b in client.gather(kept["data"])]')
    ).toEqual(Array(6).fill(1_000_000));
    expect(
      await driver.run(
        'client.run_on_scheduler(lambda dask_scheduler: max([0] + [ts.suspicious for ts in dask_scheduler.tasks.values()]))'
      )
    ).toBe(0);
    for (const address of both) {
      await until('the reason', () =>
        events.some(
          event =>
            event.type === 'worker-status' &&
            event.address === address &&
            event.reason === 'scheduler-remove-worker'
        )
      );
      expect(events).toContainEqual({
        type: 'worker-removed',
        address,
        expected: true,
        lostTasks: 0
      });
      expect(events).toContainEqual({
        type: 'worker-status',
        address,
        status: 'closing_gracefully',
        reason: null
      });
    }
    await driver.run('kept.clear() or True');
  });

  it('keeps the last worker that holds data, says so, and the worker goes on', async () => {
    await driver.run(
      'kept.update(last=client.map(data, range(4), size=1000, workers=["alpha"], pure=False)) or wait(kept["last"]) and True'
    );
    expect([
      ...(await link.drain([beta.address], { deadlineMs: 30_000 })).values()
    ]).toEqual([{ type: 'retired' }]);
    const results = await link.drain([alpha.address], { deadlineMs: 30_000 });
    expect(results.get(alpha.address)).toMatchObject({
      type: 'refused',
      message: expect.stringContaining('no other running worker')
    });
    await until('it to run again', async () =>
      (await link.identity()).workers.every(
        worker => worker.status === 'running'
      )
    );
    expect(
      await driver.run('client.submit(slow, 5, 0, pure=False).result(30)')
    ).toBe(5);
  });

  it('removes a dead entry by force', async () => {
    await link.unregister('tcp://127.0.0.1:9');
    await expect(link.unregister('no address')).rejects.toMatchObject({
      kind: 'remote'
    });
  });

  it('ends on our word, with its workers, and the link does not come back to it', async () => {
    await driver.stop();
    await link.terminate();
    expect(await cluster.scheduler.ended).toBe(0);
    expect(await alpha.ended).toBe(0);
    await until('the loss to be told', () =>
      events.some(event => event.type === 'lost')
    );
    expect(link.connected).toBe(false);
    expect(existsSync(cluster.schedulerFile)).toBe(false);
    await link.close();
    await link.close();
  });
});
