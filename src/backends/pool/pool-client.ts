/** Speaks the pool's lines over any stream: a unix socket here, a tunnel elsewhere. */
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { z } from 'zod';
import {
  exitEventSchema,
  helloSchema,
  listReplySchema,
  replySchema,
  shutdownReplySchema,
  startReplySchema,
  terminateReplySchema,
  type PoolHello,
  type PoolLaunch,
  type PoolProcess,
  type StartReply
} from './pool-messages.js';

/** A request the pool refused (`code` is its own), or a connection that is no more (`closed`, `timeout`). */
export class PoolRequestError extends Error {
  constructor(
    readonly code: string,
    message: string
  ) {
    super(message);
    this.name = 'PoolRequestError';
  }
}

type Waiting = {
  resolve: (reply: unknown) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
};

/** Launches in one line; the pool takes lines of 8 MiB. */
const LAUNCHES_PER_MESSAGE = 64;
const LONGEST_LINE = 64 * 1024 * 1024;

export class PoolClient {
  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      this.#onText(text);
    });
    stream.on('error', () => undefined);
    stream.on('close', () => {
      this.#onClose();
    });
  }

  /**
   * Connect to a pool of this host.
   * @throws the system's error (ENOENT, ECONNREFUSED, …) when nobody listens.
   */
  static connect(path: string): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.removeListener('error', reject);
        resolve(new PoolClient(socket));
      });
    });
  }

  readonly #stream: Duplex;
  readonly #waiting = new Map<number, Waiting>();
  #number = 0;
  #text = '';
  #closed = false;
  #onExit: (process: PoolProcess) => void = () => undefined;
  #onClosed: () => void = () => undefined;

  get closed(): boolean {
    return this.#closed;
  }

  /** One listener each; `closed` is called once, also for `close()`. */
  listen(listeners: {
    exit: (process: PoolProcess) => void;
    closed: () => void;
  }): void {
    this.#onExit = listeners.exit;
    this.#onClosed = listeners.closed;
  }

  hello(timeoutMs: number): Promise<PoolHello> {
    return this.#request(helloSchema, { op: 'hello' }, timeoutMs);
  }

  async subscribe(timeoutMs: number): Promise<void> {
    await this.#request(replySchema, { op: 'subscribe' }, timeoutMs);
  }

  /** Safe to repeat: a launch that was started before answers with its process as it is now. */
  async start(
    launches: readonly PoolLaunch[],
    timeoutMs: number
  ): Promise<StartReply> {
    const all: StartReply = { results: [], fallback: null };
    for (let from = 0; from < launches.length; from += LAUNCHES_PER_MESSAGE) {
      const reply = await this.#request(
        startReplySchema,
        {
          op: 'start',
          launches: launches.slice(from, from + LAUNCHES_PER_MESSAGE)
        },
        timeoutMs
      );
      all.results.push(...reply.results);
      all.fallback = reply.fallback;
    }
    return all;
  }

  /** All processes, or those of the given ids. */
  async list(
    ids: readonly string[] | null,
    timeoutMs: number
  ): Promise<PoolProcess[]> {
    const reply = await this.#request(
      listReplySchema,
      { op: 'list', ids },
      timeoutMs
    );
    return reply.processes;
  }

  /** SIGTERM to the process group, SIGKILL after the grace. null: not a process of this pool. */
  async terminate(
    process: { id: string; pid: number; startTime: string },
    graceSeconds: number,
    timeoutMs: number
  ): Promise<PoolProcess | null> {
    const reply = await this.#request(
      terminateReplySchema,
      { op: 'terminate', ...process, graceSeconds },
      timeoutMs
    );
    return reply.known ? reply.process : null;
  }

  /** A pool without a cluster moves into a cluster's folder and listens there from now on. */
  assign(
    place: { folder: string; fallbackSocket: string },
    timeoutMs: number
  ): Promise<PoolHello> {
    return this.#request(helloSchema, { op: 'assign', ...place }, timeoutMs);
  }

  /** Start nothing more and end after the last process; answers how many still run. */
  async shutdown(timeoutMs: number): Promise<number> {
    const reply = await this.#request(
      shutdownReplySchema,
      { op: 'shutdown' },
      timeoutMs
    );
    return reply.running;
  }

  close(): void {
    this.#stream.destroy();
    this.#onClose();
  }

  #request<Schema extends z.ZodType>(
    schema: Schema,
    message: Readonly<Record<string, unknown>>,
    timeoutMs: number
  ): Promise<z.infer<Schema>> {
    if (this.#closed) {
      return Promise.reject(
        new PoolRequestError('closed', 'the pool is not connected')
      );
    }
    const number = ++this.#number;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(number);
        reject(
          new PoolRequestError(
            'timeout',
            `the pool did not answer within ${timeoutMs / 1000} s`
          )
        );
      }, timeoutMs);
      this.#waiting.set(number, {
        resolve: reply => {
          const parsed = schema.safeParse(reply);
          if (parsed.success) {
            resolve(parsed.data);
          } else {
            reject(new PoolRequestError('bad-reply', parsed.error.message));
          }
        },
        reject,
        timer
      });
      this.#stream.write(`${JSON.stringify({ n: number, ...message })}\n`);
    });
  }

  #onText(text: string): void {
    this.#text += text;
    const lines = this.#text.split('\n');
    this.#text = lines.pop() ?? '';
    if (this.#text.length > LONGEST_LINE) {
      this.close();
      return;
    }
    for (const line of lines) {
      this.#onLine(line);
    }
  }

  #onLine(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      this.close(); // Not a pool, or one of another protocol.
      return;
    }
    const event = exitEventSchema.safeParse(value);
    if (event.success) {
      this.#onExit(event.data.process);
      return;
    }
    const parsed = replySchema.safeParse(value);
    if (!parsed.success) {
      this.close();
      return;
    }
    const waiting = this.#waiting.get(parsed.data.re ?? -1);
    if (waiting === undefined) {
      return; // Answered after its time was over.
    }
    this.#waiting.delete(parsed.data.re ?? -1);
    clearTimeout(waiting.timer);
    if (parsed.data.ok) {
      waiting.resolve(value);
    } else {
      waiting.reject(new PoolRequestError(parsed.data.code, parsed.data.error));
    }
  }

  #onClose(): void {
    if (this.#closed) {
      return;
    }
    this.#closed = true;
    for (const waiting of this.#waiting.values()) {
      clearTimeout(waiting.timer);
      waiting.reject(
        new PoolRequestError('closed', 'the pool closed the connection')
      );
    }
    this.#waiting.clear();
    this.#onClosed();
  }
}
