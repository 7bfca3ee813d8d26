/** The link: one stock scheduler's operations, its events, and polite drains. */
import { randomUUID } from 'node:crypto';
import { Connector, type FirstContact } from './connector.js';
import { drainWorkers, type DrainPort } from './drain.js';
import { DEADLINES, Operations } from './operations.js';
import type {
  DrainResult,
  LinkEvent,
  OpenLinkOptions,
  SchedulerIdentity,
  SchedulerLink,
  TaskCounts
} from './scheduler-link.js';
import { StreamKeeper } from './stream-keeper.js';
import { TaskCounter } from './task-counts.js';
import { isLoopback, parseAddress } from './wire/address.js';
import { LinkError } from './wire/errors.js';
import { RpcPool } from './wire/rpc-pool.js';

/**
 * Connects to a running scheduler. Listeners attached right after it resolves miss nothing that
 * the first `identity()` does not show.
 * @throws LinkError; `unsupported` for versions below the floor, `other-scheduler` when the id is
 *   not the expected one.
 */
export async function openSchedulerLink(
  options: OpenLinkOptions
): Promise<SchedulerLink> {
  const ending = new AbortController();
  const connector = new Connector(options, ending.signal);
  const contact = await connector.introduce();
  const link = new DaskLink({ options, ending, connector, contact });
  try {
    await link.start();
  } catch (error) {
    await link.close();
    throw error;
  }
  return link;
}

class DaskLink implements SchedulerLink {
  constructor(parts: {
    options: OpenLinkOptions;
    ending: AbortController;
    connector: Connector;
    contact: FirstContact;
  }) {
    const { options, connector, contact } = parts;
    this._ending = parts.ending;
    this._connector = connector;
    this._contact = contact;
    this._pool = new RpcPool({ open: () => connector.open() });
    this._operations = new Operations(
      (request, callOptions) => this._pool.call(request, callOptions),
      contact.versions.capabilities
    );
    this._keeper = new StreamKeeper({
      connector,
      operations: this._operations,
      versions: contact.versions.raw,
      onEvent: event => {
        for (const listener of this._listeners) {
          listener(event);
        }
      },
      onLost: reason => {
        this._pool.reset(reason);
      }
    });
    // Behind a tunnel the port of the dashboard would be somebody else's on this host.
    const local =
      contact.identity.address === options.address &&
      isLoopback(parseAddress(options.address).host);
    this._counter = new TaskCounter({
      operations: this._operations,
      dashboardPort: () => (local ? contact.identity.dashboardPort : null),
      isOurs: client => this._keeper.isOurs(client),
      ourClients: () => (this._keeper.connected ? 1 : 0)
    });
  }

  get version(): string {
    return this._contact.versions.version;
  }

  get packages(): Readonly<Record<string, string | null>> {
    return this._contact.versions.packages;
  }

  get connected(): boolean {
    return this._keeper.connected;
  }

  async start(): Promise<void> {
    await this._keeper.start();
  }

  identity(): Promise<SchedulerIdentity> {
    return this._keeper.snapshot();
  }

  adaptiveTarget(targetDurationSeconds: number): Promise<number> {
    return this._operations.adaptiveTarget(targetDurationSeconds);
  }

  workersToClose(n: number): Promise<string[]> {
    return this._operations.workersToClose(n);
  }

  taskCounts(): Promise<TaskCounts> {
    return this._counter.count();
  }

  idleSince(): Promise<number | null> {
    return this._operations.idleSince();
  }

  setMetadata(keys: readonly string[], value: unknown): Promise<void> {
    return this._operations.setMetadata(keys, value);
  }

  getMetadata(keys: readonly string[]): Promise<unknown> {
    return this._operations.getMetadata(keys);
  }

  /** One drain per worker at a time: a second wish for the same worker waits for the first. */
  async drain(
    addresses: readonly string[],
    options: { deadlineMs: number }
  ): Promise<Map<string, DrainResult>> {
    const wanted = [...new Set(addresses)];
    const fresh = wanted.filter(address => !this._draining.has(address));
    const run = drainWorkers(this._drainPort(), fresh, {
      ...options,
      stimulusId: `muster-drain-${randomUUID()}`
    }).finally(() => {
      for (const address of fresh) {
        this._draining.delete(address);
      }
    });
    for (const address of fresh) {
      this._draining.set(address, run);
    }
    const results = new Map<string, DrainResult>();
    await Promise.all(
      wanted.map(async address => {
        const result = (await this._draining.get(address))?.get(address);
        if (result !== undefined) {
          results.set(address, result);
        }
      })
    );
    return results;
  }

  async unregister(address: string): Promise<void> {
    await this._operations.unregister(
      address,
      `muster-unregister-${randomUUID()}`
    );
  }

  /**
   * There is no reply: the socket just closes, and that is the success. So the request has a comm
   * of its own, whose opening may fail before anything was asked.
   */
  async terminate(): Promise<void> {
    const rpc = await this._connector.open();
    this._keeper.expectEnd(true);
    try {
      await rpc.call({ op: 'terminate' }, DEADLINES.terminate);
    } catch (error) {
      if (!(error instanceof LinkError && error.kind === 'closed')) {
        this._keeper.expectEnd(false);
        throw error;
      }
    } finally {
      rpc.comm.destroy();
    }
  }

  onEvent(listener: (event: LinkEvent) => void): void {
    this._listeners.push(listener);
  }

  async close(): Promise<void> {
    this._pool.close();
    this._ending.abort();
    await this._keeper.close();
  }

  private _drainPort(): DrainPort {
    const operations = this._operations;
    const keeper = this._keeper;
    return {
      retire: (addresses, options) => operations.retire(addresses, options),
      processing: addresses => operations.processing(addresses),
      identity: () => keeper.snapshot(),
      unregister: (address, stimulusId) =>
        operations.unregister(address, stimulusId),
      removal: address => keeper.removal(address),
      untilRemoved: (addresses, timeoutMs) =>
        keeper.untilRemoved(addresses, timeoutMs),
      reconcile: async () => {
        await keeper.snapshot();
      },
      untilConnected: timeoutMs => keeper.untilConnected(timeoutMs),
      now: () => performance.now(),
      sleep: ms => keeper.sleep(ms)
    };
  }

  private readonly _ending: AbortController;
  private readonly _connector: Connector;
  private readonly _contact: FirstContact;
  private readonly _pool: RpcPool;
  private readonly _operations: Operations;
  private readonly _keeper: StreamKeeper;
  private readonly _counter: TaskCounter;
  private readonly _listeners: ((event: LinkEvent) => void)[] = [];
  private readonly _draining = new Map<
    string,
    Promise<Map<string, DrainResult>>
  >();
}
