/**
 * The event stream of a pseudo client (§2.3): any number of subscribers, unlike
 * `subscribe_worker_status`, whose one slot a later subscriber steals.
 */
import { readEvent, type SchedulerEvent } from './event.js';
import type { Comm } from './wire/comm.js';
import { LinkError } from './wire/errors.js';
import { isMap } from './wire/messages.js';

export type EventStreamOptions = {
  /** A comm of its own, on which no request is under way. */
  comm: Comm;
  /** Unique: two streams under one id are both accepted. */
  client: string;
  /** The reply of `versions`: without it nothing ever comes back. */
  versions: Record<string, unknown>;
  deadlineMs: number;
  onEvent: (event: SchedulerEvent) => void;
  /** Once, unless the stream was closed by us. */
  onLost: (reason: LinkError) => void;
};

/**
 * Registers the client and subscribes to the topic `all`.
 * @throws LinkError `deadline`, `closed`, or `remote` with the scheduler's own refusal.
 */
export async function openEventStream(
  options: EventStreamOptions
): Promise<EventStream> {
  const stream = new EventStream(options);
  await stream.start();
  return stream;
}

export class EventStream {
  /** Use `openEventStream`. */
  constructor(options: EventStreamOptions) {
    this._options = options;
    this._comm = options.comm;
    let confirm = (): void => undefined;
    this.confirmation = new Promise<void>(resolve => {
      confirm = resolve;
    });
    this._confirm = confirm;
  }

  async start(): Promise<void> {
    const { client, versions, deadlineMs } = this._options;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this._comm.onClose(reject);
        this._comm.onMessage(message => {
          const start = itemsOf(message).find(
            item => item['op'] === 'stream-start'
          );
          if (start === undefined) {
            return;
          }
          if (typeof start['error'] === 'string' && start['error'] !== '') {
            reject(
              new LinkError({
                kind: 'remote',
                message: `The scheduler refused the event stream: ${start['error']}`
              })
            );
          }
          resolve();
        });
        timer = setTimeout(() => {
          reject(
            new LinkError({
              kind: 'deadline',
              message: `The scheduler did not open the event stream within ${deadlineMs / 1000} s`
            })
          );
        }, deadlineMs);
        this._comm.send({
          op: 'register-client',
          client,
          reply: false,
          versions
        });
      });
    } catch (error) {
      this._comm.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    this._comm.onMessage(message => {
      this._receive(message);
    });
    this.subscribe(['all', client]);
    this._comm.onClose(reason => {
      if (!this._closed) {
        this._closed = true;
        this._options.onLost(reason);
      }
    });
  }

  /**
   * Our own topic has spoken, so the subscriptions before it are in force. The stream and the
   * requests are different sockets: a snapshot asked for after `subscribe` may else be taken before.
   */
  get confirmed(): boolean {
    return this._confirmed;
  }

  /** Resolves with the first event on our own topic, whose name is the client's id. */
  readonly confirmation: Promise<void>;

  subscribe(topics: readonly string[]): void {
    this._send(topics.map(topic => ({ op: 'subscribe-topic', topic })));
  }

  unsubscribe(topics: readonly string[]): void {
    this._send(topics.map(topic => ({ op: 'unsubscribe-topic', topic })));
  }

  /** The peer does not answer any more: ends the stream as lost. */
  abandon(reason: LinkError): void {
    this._comm.destroy(reason);
  }

  /** The scheduler forgets the client but leaves the socket open: we close it. */
  close(): void {
    if (!this._closed) {
      this._closed = true;
      this._comm.close([{ op: 'close-client' }]);
    }
  }

  private _send(items: readonly Record<string, unknown>[]): void {
    if (!this._closed && !this._comm.closed && items.length > 0) {
      this._comm.send(items);
    }
  }

  private _receive(message: unknown): void {
    for (const item of itemsOf(message)) {
      if (item['op'] === 'event' && typeof item['topic'] === 'string') {
        if (item['topic'] === this._options.client) {
          this._confirmed = true;
          this._confirm();
          continue;
        }
        const body = Array.isArray(item['event'])
          ? (item['event'][1] as unknown)
          : null;
        const event = readEvent(item['topic'], body);
        if (event !== null && !this._closed) {
          this._options.onEvent(event);
        }
      } else if (item['op'] === 'stream-closed') {
        this._comm.destroy();
      }
    }
  }

  private readonly _options: EventStreamOptions;
  private readonly _comm: Comm;
  private readonly _confirm: () => void;
  private _confirmed = false;
  private _closed = false;
}

/** A batch is a list of items; a bare one is tolerated, other things (`"OK"`) are dropped. */
function itemsOf(message: unknown): Record<string, unknown>[] {
  return (Array.isArray(message) ? (message as unknown[]) : [message]).filter(
    isMap
  );
}
