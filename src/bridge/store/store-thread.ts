/**
 * The thread that owns the database. The bridge is one file, so the thread is that file again,
 * entered with `workerData.role === 'store'`; its entry calls `runStoreWorker()` then.
 */
import { EventEmitter } from 'node:events';
import { basename, dirname, join } from 'node:path';
import {
  isMainThread,
  parentPort,
  Worker,
  workerData
} from 'node:worker_threads';
import type { ClusterId, MusterError } from '../../protocol/index.js';
import type { StoreOperation } from './store.js';
import { StoreEngine, type StoreEngineOptions } from './store-engine.js';
import { packFailure, type StoreFailure } from './store-failure.js';

export type StoreWorkerData = { role: 'store'; engine: StoreEngineOptions };

export type StoreCall =
  | { type: 'commit'; sets: (readonly StoreOperation[])[] }
  | { type: 'load' }
  | {
      type: 'events';
      query: { cluster: ClusterId | null; after: number; limit: number };
    }
  | { type: 'latest-events'; query: { cluster: ClusterId; limit: number } }
  | { type: 'backup' }
  | { type: 'close' };

export type StoreRequest = { id: number; call: StoreCall };

/** id 0 answers the opening: its value is the epoch. */
export type StoreReply =
  { id: number; value: unknown } | { id: number; failure: StoreFailure };

/** What the store needs of a `worker_threads.Worker`. */
export type StoreWorker = {
  postMessage(message: StoreRequest): void;
  on(event: 'message', listener: (reply: StoreReply) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: (code: number) => void): unknown;
  terminate(): Promise<unknown>;
};

export type CreateStoreWorker = (data: StoreWorkerData) => StoreWorker;

/** Is this thread the store's? Asked by the process entry before anything else. */
export function isStoreWorker(): boolean {
  return (
    !isMainThread &&
    typeof workerData === 'object' &&
    workerData !== null &&
    (workerData as { role?: unknown }).role === 'store'
  );
}

/** The body of the store's thread: opens the engine, then serves calls one by one. */
export function runStoreWorker(): void {
  const port = parentPort;
  if (port === null || !isStoreWorker()) {
    throw new Error('runStoreWorker is only for the thread of the store');
  }
  const session = new EngineSession(workerData as StoreWorkerData, reply => {
    port.postMessage(reply);
  });
  port.on('message', (request: StoreRequest) => {
    session.serve(request);
    if (request.call.type === 'close') {
      port.close();
    }
  });
}

/**
 * Enters the running bundle again as a thread.
 * @param file whose entry calls `runStoreWorker`; by default the bundle this code is in, or, where it
 *   is not bundled, the program's entry beside it.
 */
export function threadOf(file: string = ownEntry()): CreateStoreWorker {
  return data =>
    new Worker(file, {
      workerData: data,
      name: 'muster-store',
      // A debugger or test flags of the parent are not the thread's.
      execArgv: []
    });
}

function ownEntry(): string {
  const own = import.meta.filename;
  if (basename(own) === 'store-thread.js') {
    return join(dirname(own), '..', 'index.js');
  }
  // The file the process was started with, where it is the bundle's first file: it switches the
  // compile cache on, without which this thread would compile the whole program anew (60 ms).
  const main = process.argv[1];
  return main !== undefined && dirname(main) === dirname(own) ? main : own;
}

/** The same engine on the calling thread, for tests and one-shot tools. */
export function inSameThread(): CreateStoreWorker {
  return data => {
    const events = new EventEmitter();
    let session: EngineSession | null = null;
    const post = (reply: StoreReply): void => {
      setImmediate(() => events.emit('message', structuredClone(reply)));
    };
    setImmediate(() => {
      session = new EngineSession(data, post);
    });
    return {
      postMessage(message) {
        const copy = structuredClone(message);
        setImmediate(() => session?.serve(copy));
      },
      on(
        event: string,
        listener: (reply: StoreReply & Error & number) => void
      ) {
        events.on(event, listener);
      },
      terminate() {
        session?.end();
        return Promise.resolve();
      }
    };
  };
}

class EngineSession {
  constructor(
    data: StoreWorkerData,
    private readonly post: (reply: StoreReply) => void
  ) {
    this.#file = data.engine.file;
    this.#answer(0, () => {
      this.#engine = StoreEngine.open(data.engine);
      return this.#engine.epoch;
    });
  }

  readonly #file: string;
  #engine: StoreEngine | null = null;

  serve(request: StoreRequest): void {
    this.#answer(request.id, () => this.#call(request.call));
  }

  end(): void {
    this.#engine?.close();
  }

  #call(call: StoreCall): unknown {
    const engine = this.#engine;
    if (engine === null) {
      throw new Error('the store is not open');
    }
    switch (call.type) {
      case 'commit':
        return engine
          .commit(call.sets)
          .map((result: MusterError | null) =>
            result === null ? null : packFailure(result, this.#file)
          );
      case 'load':
        return engine.load();
      case 'events':
        return engine.events(call.query);
      case 'latest-events':
        return engine.latestEvents(call.query);
      case 'backup':
        return engine.backup();
      case 'close':
        engine.close();
        return null;
      default: {
        const never: never = call;
        throw new TypeError(`unknown call ${JSON.stringify(never)}`);
      }
    }
  }

  #answer(id: number, act: () => unknown): void {
    let reply: StoreReply;
    try {
      reply = { id, value: act() };
    } catch (error) {
      reply = { id, failure: packFailure(error, this.#file) };
    }
    this.post(reply);
  }
}
