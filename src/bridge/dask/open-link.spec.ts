import { afterEach, describe, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { failureOf } from './fixtures/failure.js';
import { FakePeer, send } from './fixtures/fake-peer.js';
import {
  openSchedulerLink,
  type LinkEvent,
  type SchedulerLink
} from './scheduler-link.js';

const schedulers: FakeScheduler[] = [];
const links: SchedulerLink[] = [];

afterEach(async () => {
  await Promise.all(links.splice(0).map(link => link.close()));
  await Promise.all(
    schedulers.splice(0).map(scheduler => scheduler.peer.stop())
  );
});

const WORKER = { name: 'w', host: 'h', status: 'running', nthreads: 1 };

/** What a scheduler says to a link, with a world a test can change at once. */
class FakeScheduler {
  static async start(version = '2026.8.0'): Promise<FakeScheduler> {
    const scheduler = new FakeScheduler(version);
    scheduler.peer = await FakePeer.start({
      answer: (request, socket) => scheduler._answer(request, socket),
      onMessage: (message, socket) => {
        for (const item of Array.isArray(message)
          ? (message as { op: string; topic: string }[])
          : []) {
          scheduler.said.push([item.op, item.topic].join(' ').trim());
          if (item.op === 'subscribe-topic') {
            scheduler._topics.set(item.topic, socket);
          }
        }
      }
    });
    schedulers.push(scheduler);
    return scheduler;
  }

  private constructor(private readonly _version: string) {}

  push(topic: string, message: Record<string, unknown>): void {
    const event = [this.history.length + 1, message];
    if (topic === 'all') {
      this.history.push(event as [number, unknown]);
    }
    const socket = this._topics.get(topic);
    if (socket?.destroyed === false) {
      send(socket, [{ op: 'event', topic, event }]);
    }
  }

  join(address: string): void {
    this.workers.add(address);
    this.push('all', { action: 'add-worker', worker: address });
  }

  leave(address: string, expected: boolean): void {
    this.workers.delete(address);
    this.push('all', { action: 'remove-worker', worker: address, expected });
  }

  private _answer(request: Record<string, unknown>, socket: Socket): unknown {
    this.said.push([request['op'], request['n_workers']].join(' ').trim());
    switch (request['op']) {
      case 'versions':
        return {
          host: { byteorder: 'little' },
          packages: { distributed: this._version }
        };
      case 'identity':
        return {
          type: 'Scheduler',
          id: this.id,
          address: this.peer.address,
          services: {},
          n_workers: this.workers.size,
          workers:
            request['n_workers'] === 0
              ? {}
              : Object.fromEntries(
                  [...this.workers].map(address => [address, WORKER])
                )
        };
      case 'register-client':
        return [{ op: 'stream-start', warning: '', error: this.refusal }];
      case 'log_event':
        if (this.subscriptionDelay > 0) {
          this.subscriptionDelay -= 1;
        } else {
          this.push(
            request['topic'] as string,
            request['msg'] as Record<string, unknown>
          );
        }
        return null;
      case 'events':
        return this.history;
      case 'terminate':
        socket.destroy();
        return undefined;
      default:
        return null;
    }
  }

  peer!: FakePeer;
  id = 'Scheduler-1';
  refusal = '';
  /** Notes on a topic that come before its subscription is in force. */
  subscriptionDelay = 0;
  readonly workers = new Set<string>();
  readonly history: [number, unknown][] = [];
  /** Requests and stream items in order of arrival. */
  readonly said: string[] = [];
  private readonly _topics = new Map<string, Socket>();
}

async function linkTo(
  scheduler: FakeScheduler,
  expectedId: string | null = null
): Promise<{ link: SchedulerLink; events: LinkEvent[] }> {
  const link = await openSchedulerLink({
    address: scheduler.peer.address,
    security: null,
    expectedId
  });
  links.push(link);
  const events: LinkEvent[] = [];
  link.onEvent(event => events.push(event));
  return { link, events };
}

async function until(look: () => boolean): Promise<void> {
  for (let tries = 0; !look() && tries < 500; tries++) {
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  expect(look()).toBe(true);
}

describe('a link', () => {
  it('asks a scheduler that is too old for nothing but its version', async () => {
    const scheduler = await FakeScheduler.start('2022.12.1+ds.1');
    const error = await failureOf(linkTo(scheduler));
    expect(error).toMatchObject({
      kind: 'unsupported',
      code: 'policy',
      message: expect.stringContaining('2022.12.1')
    });
    await until(() => scheduler.peer.open === 0);
    expect(scheduler.said).toEqual(['versions', 'close']);
  });

  it('is not made to another scheduler than the expected', async () => {
    const scheduler = await FakeScheduler.start();
    expect((await failureOf(linkTo(scheduler, 'Scheduler-2'))).kind).toBe(
      'other-scheduler'
    );
    await until(() => scheduler.peer.open === 0);
  });

  it('subscribes first and looks only when the subscription is in force', async () => {
    const scheduler = await FakeScheduler.start();
    scheduler.subscriptionDelay = 2;
    await linkTo(scheduler);
    const { said } = scheduler;
    expect(said.filter(request => request === 'log_event')).toHaveLength(3);
    expect(said.indexOf('identity -1')).toBeGreaterThan(
      said.lastIndexOf('log_event')
    );
    expect(said.indexOf('subscribe-topic all')).toBeLessThan(
      said.indexOf('log_event')
    );
  });

  it('tells why its event stream was refused', async () => {
    const scheduler = await FakeScheduler.start();
    scheduler.refusal = 'go away';
    expect((await failureOf(linkTo(scheduler))).message).toContain('go away');
    await until(() => scheduler.peer.open === 0);
  });

  it('tells of each arrival and departure once, though identity tells of them too', async () => {
    const scheduler = await FakeScheduler.start();
    scheduler.join('tcp://h:1');
    const { link, events } = await linkTo(scheduler);
    expect((await link.identity()).workers).toHaveLength(1);
    expect(events).toEqual([]);
    scheduler.join('tcp://h:2');
    await Promise.all([link.identity(), link.identity()]);
    scheduler.leave('tcp://h:1', true);
    await until(() => events.length >= 2);
    await link.identity();
    // Its name is known where the identity was faster than the event.
    const [added, ...rest] = events;
    expect(added).toMatchObject({
      type: 'worker-added',
      address: 'tcp://h:2'
    });
    expect(rest).toEqual([
      {
        type: 'worker-removed',
        address: 'tcp://h:1',
        expected: true,
        lostTasks: 0
      }
    ]);
    expect(scheduler.said).toContain('subscribe-topic tcp://h:2');
  });

  it('looks once at a time, and who asks meanwhile gets a look that is newer than the question', async () => {
    const scheduler = await FakeScheduler.start();
    const { link } = await linkTo(scheduler);
    const before = scheduler.said.length;
    const first = link.identity();
    const others = [link.identity(), link.identity(), link.identity()];
    await first;
    scheduler.workers.add('tcp://h:9');
    for (const identity of await Promise.all(others)) {
      expect(identity.workers).toHaveLength(1);
    }
    expect(
      scheduler.said.slice(before).filter(request => request === 'identity -1')
    ).toHaveLength(2);
  });

  it('comes back after a loss, and tells what happened meanwhile and how', async () => {
    const scheduler = await FakeScheduler.start();
    for (const port of [1, 2, 3]) {
      scheduler.join(`tcp://h:${port}`);
    }
    const { link, events } = await linkTo(scheduler);
    scheduler.peer.dropConnections();
    scheduler.leave('tcp://h:1', true);
    scheduler.leave('tcp://h:2', false);
    scheduler.join('tcp://h:4');
    await until(() => events.at(-1)?.type === 'connected');
    expect(link.connected).toBe(true);
    expect(events[0]?.type).toBe('lost');
    expect(events.slice(1, -1)).toEqual([
      { type: 'worker-added', address: 'tcp://h:4', name: 'w' },
      {
        type: 'worker-removed',
        address: 'tcp://h:1',
        expected: true,
        lostTasks: 0
      },
      {
        type: 'worker-removed',
        address: 'tcp://h:2',
        expected: false,
        lostTasks: 0
      }
    ]);
    scheduler.push('tcp://h:3', {
      action: 'worker-status-change',
      status: 'paused'
    });
    await until(() =>
      events.some(
        event => event.type === 'worker-status' && event.status === 'paused'
      )
    );
  });

  it('never comes back to another scheduler at the same address', async () => {
    const scheduler = await FakeScheduler.start();
    const { link, events } = await linkTo(scheduler);
    scheduler.id = 'Scheduler-of-somebody-else';
    scheduler.peer.dropConnections();
    await until(() =>
      events.some(
        event =>
          event.type === 'lost' && event.message.includes('somebody-else')
      )
    );
    expect((await failureOf(link.terminate())).kind).toBe('other-scheduler');
    expect((await failureOf(link.adaptiveTarget(5))).kind).toBe(
      'other-scheduler'
    );
    expect(scheduler.said).not.toContain('terminate');
    expect(link.connected).toBe(false);
    scheduler.id = 'Scheduler-1';
    await until(() => events.some(event => event.type === 'connected'));
  });

  it('takes a closed socket for the end that was asked for, and does not come back', async () => {
    const scheduler = await FakeScheduler.start();
    const { link, events } = await linkTo(scheduler);
    await link.terminate();
    scheduler.peer.dropConnections();
    await until(() => events.some(event => event.type === 'lost'));
    const { connections } = scheduler.peer;
    await new Promise(resolve => setTimeout(resolve, 600));
    expect(scheduler.peer.connections).toBe(connections);
  });

  it('is closed politely, also in the middle of coming back, and says nothing afterwards', async () => {
    const scheduler = await FakeScheduler.start();
    const { link, events } = await linkTo(scheduler);
    await link.close();
    await until(() => scheduler.peer.open === 0);
    expect(scheduler.said).toContain('close-client');
    expect(events).toEqual([]);
    expect((await failureOf(link.identity())).kind).toBe('closed');
    expect((await failureOf(link.terminate())).kind).toBe('closed');

    const second = await linkTo(scheduler);
    scheduler.peer.dropConnections();
    await until(() => second.events.length > 0);
    await second.link.close();
    const told = second.events.length;
    await new Promise(resolve => setTimeout(resolve, 300));
    expect(second.events).toHaveLength(told);
    await until(() => scheduler.peer.open === 0);
  });

  it('asks for nothing where nobody is to be lost', async () => {
    const scheduler = await FakeScheduler.start();
    const { link } = await linkTo(scheduler);
    expect(await link.workersToClose(0)).toEqual([]);
    expect(scheduler.said).not.toContain('workers_to_close');
  });

  it('takes null for an op that answers a number as an error, not as zero', async () => {
    const scheduler = await FakeScheduler.start();
    const { link } = await linkTo(scheduler);
    expect((await failureOf(link.adaptiveTarget(5))).kind).toBe('protocol');
  });
});
