/** The store as the bridge sees it: asynchronous, ordered, grouped; the work is on its own thread. */
import { MusterError } from '../../protocol/index.js';
import type { ClusterEvent, ClusterId } from '../../protocol/index.js';
import { checkExclusive, type ExclusiveCheck } from './exclusive-check.js';
import { RepeatedTask } from './repeated-task.js';
import type { Store, StoreOperation, StoreSnapshot } from './store.js';
import {
  OwnershipLostError,
  type StoreFailure,
  unpackFailure
} from './store-failure.js';
import {
  type CreateStoreWorker,
  type StoreCall,
  type StoreReply,
  threadOf,
  type StoreWorker
} from './store-thread.js';

export type OpenStoreOptions = {
  /** Absolute path of `muster.db`; its folder exists and is private. */
  file: string;
  backupsFolder: string;
  /** Version of the running Muster, recorded for a refusal by an older one. */
  version?: string;
  /** The lease's epoch: the store's is never below it. */
  minimumEpoch?: number;
  createWorker?: CreateStoreWorker;
  /** The file is not ours any more, or its thread died: end the bridge (OwnershipLostError: exit 75). */
  onLost?: (error: MusterError) => void;
  /** null: no self-check by a child process. */
  selfCheck?: { nodePath: string; firstMs: number; everyMs: number } | null;
  /** 0: no regular backups. */
  backupEveryMs?: number;
  /** What went wrong without harm: a backup or self-check that could not be made. */
  onWarning?: (message: string) => void;
};

/** Operations of one transaction at most, unless a single set is larger. */
export const MAXIMUM_GROUP = 256;

const HOUR_MS = 3_600_000;

/**
 * Opens, locks and checks the database; nothing is owned before this resolves.
 * @throws StoreLockedError (another bridge is the owner), StoreNewerError, MusterError.
 */
export async function openStore(
  options: OpenStoreOptions
): Promise<SqliteStore> {
  const createWorker = options.createWorker ?? threadOf();
  const worker = createWorker({
    role: 'store',
    engine: {
      file: options.file,
      backupsFolder: options.backupsFolder,
      version: options.version ?? '0.0.0',
      ...(options.minimumEpoch === undefined
        ? {}
        : { minimumEpoch: options.minimumEpoch })
    }
  });
  const store = new SqliteStore(worker, options);
  try {
    await store.opened;
  } catch (error) {
    await worker.terminate();
    throw error;
  }
  return store;
}

type Waiting = {
  resolve: (value: unknown) => void;
  reject: (error: MusterError) => void;
};

type Entry =
  | { type: 'set'; operations: readonly StoreOperation[]; waiting: Waiting }
  | { type: 'call'; call: StoreCall; waiting: Waiting }
  /** Something outside the thread that no transaction may run beside. */
  | { type: 'pause'; act: () => Promise<unknown>; waiting: Waiting };

/**
 * One queue, one request in flight. While a commit is on its way everything that arrives gathers
 * behind it and shares the next transaction; an idle store commits at the end of the turn, so
 * nothing ever waits for a timer.
 */
export class SqliteStore implements Store {
  constructor(worker: StoreWorker, options: OpenStoreOptions) {
    this.#worker = worker;
    this.#options = options;
    this.opened = new Promise((resolve, reject) => {
      this.#inFlight = {
        id: 0,
        answer: reply => {
          if ('failure' in reply) {
            this.#closed = true;
            reject(unpackFailure(reply.failure));
          } else {
            this.#epoch = Number(reply.value);
            this.#open = true;
            this.#startTasks();
            resolve();
          }
        },
        fail: reject
      };
    });
    worker.on('message', reply => {
      this.#receive(reply);
    });
    worker.on('error', error => {
      this.#die(`the store's thread failed: ${error.message}`);
    });
    worker.on('exit', code => {
      this.#die(`the store's thread ended (${code})`);
    });
  }

  /** Resolves when the database is ours. */
  readonly opened: Promise<void>;
  readonly #worker: StoreWorker;
  readonly #options: OpenStoreOptions;
  readonly #queue: Entry[] = [];
  readonly #tasks: RepeatedTask[] = [];
  #inFlight: {
    id: number;
    answer: (reply: StoreReply) => void;
    fail: (error: MusterError) => void;
  } | null = null;
  #lastId = 0;
  #epoch = 0;
  #scheduled = false;
  /** Set once: no call is taken after it. */
  #closed = false;
  #dead: MusterError | null = null;
  #open = false;

  get epoch(): number {
    return this.#epoch;
  }

  load(): Promise<StoreSnapshot> {
    return this.#enqueueCall({ type: 'load' }) as Promise<StoreSnapshot>;
  }

  transaction(operations: readonly StoreOperation[]): Promise<void> {
    if (operations.length === 0) {
      return Promise.resolve();
    }
    return this.#enqueue(waiting => ({
      type: 'set',
      // What the caller changes afterwards is not what was asked.
      operations: structuredClone(operations),
      waiting
    })) as Promise<void>;
  }

  events(query: {
    cluster: ClusterId | null;
    after: number;
    limit: number;
  }): Promise<ClusterEvent[]> {
    return this.#enqueueCall({ type: 'events', query }) as Promise<
      ClusterEvent[]
    >;
  }

  latestEvents(query: {
    cluster: ClusterId;
    limit: number;
  }): Promise<ClusterEvent[]> {
    return this.#enqueueCall({ type: 'latest-events', query }) as Promise<
      ClusterEvent[]
    >;
  }

  /** A whole copy in the backups folder; its path. */
  backup(): Promise<string> {
    return this.#enqueueCall({ type: 'backup' }) as Promise<string>;
  }

  /** Between two transactions: can another process read the file? `shared` ends the ownership. */
  async selfCheck(nodePath: string): Promise<ExclusiveCheck> {
    const result = (await this.#enqueue(waiting => ({
      type: 'pause',
      act: () => checkExclusive(this.#options.file, nodePath),
      waiting
    }))) as ExclusiveCheck;
    if (result.type === 'shared') {
      this.#lose(new OwnershipLostError(result.message));
    }
    return result;
  }

  /** What was asked before is done first. Safe to repeat. */
  async close(): Promise<void> {
    this.#stopTasks();
    if (this.#closed) {
      return;
    }
    const done = this.#enqueueCall({ type: 'close' });
    this.#closed = true;
    try {
      await done;
    } finally {
      await this.#worker.terminate();
    }
  }

  #enqueueCall(call: StoreCall): Promise<unknown> {
    return this.#enqueue(waiting => ({ type: 'call', call, waiting }));
  }

  #enqueue(make: (waiting: Waiting) => Entry): Promise<unknown> {
    if (this.#dead !== null) {
      return Promise.reject(this.#dead);
    }
    if (this.#closed) {
      return Promise.reject(unavailable('the state store is closed'));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push(make({ resolve, reject }));
      this.#schedule();
    });
  }

  #schedule(): void {
    if (!this.#scheduled && this.#inFlight === null) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#pump();
      });
    }
  }

  #pump(): void {
    const first = this.#queue[0];
    if (first === undefined || this.#inFlight !== null) {
      return;
    }
    if (first.type === 'set') {
      this.#sendGroup();
      return;
    }
    this.#queue.shift();
    const { waiting } = first;
    if (first.type === 'call') {
      this.#send(first.call, {
        answer: value => {
          waiting.resolve(value);
        },
        fail: error => {
          waiting.reject(error);
        }
      });
      return;
    }
    const flight = {
      id: ++this.#lastId,
      answer: () => undefined,
      fail: (error: MusterError) => {
        waiting.reject(error);
      }
    };
    this.#inFlight = flight;
    void first
      .act()
      .then(waiting.resolve, waiting.reject)
      .finally(() => {
        if (this.#inFlight === flight) {
          this.#inFlight = null;
        }
        this.#schedule();
      });
  }

  #sendGroup(): void {
    const sets: (readonly StoreOperation[])[] = [];
    const waiting: Waiting[] = [];
    let count = 0;
    for (
      let entry = this.#queue[0];
      entry?.type === 'set' &&
      (count === 0 || count + entry.operations.length <= MAXIMUM_GROUP);
      entry = this.#queue[0]
    ) {
      sets.push(entry.operations);
      waiting.push(entry.waiting);
      count += entry.operations.length;
      this.#queue.shift();
    }
    this.#send(
      { type: 'commit', sets },
      {
        answer: value => {
          const results = value as (StoreFailure | null)[];
          waiting.forEach(({ resolve, reject }, index) => {
            const result = results[index];
            if (result === null) {
              resolve(undefined);
            } else {
              reject(
                result === undefined
                  ? unavailable('the store gave no answer')
                  : unpackFailure(result)
              );
            }
          });
        },
        fail: error => {
          for (const { reject } of waiting) {
            reject(error);
          }
        }
      }
    );
  }

  #send(
    call: StoreCall,
    end: {
      answer: (value: unknown) => void;
      fail: (error: MusterError) => void;
    }
  ): void {
    const id = ++this.#lastId;
    this.#inFlight = {
      id,
      answer: reply => {
        if ('failure' in reply) {
          const error = unpackFailure(reply.failure);
          end.fail(error);
          if (error instanceof OwnershipLostError) {
            this.#lose(error);
          }
        } else {
          end.answer(reply.value);
        }
      },
      fail: end.fail
    };
    this.#worker.postMessage({ id, call });
  }

  #receive(reply: StoreReply): void {
    const flight = this.#inFlight;
    if (flight === null || flight.id !== reply.id) {
      return;
    }
    this.#inFlight = null;
    flight.answer(reply);
    this.#schedule();
  }

  #startTasks(): void {
    const onError = (error: unknown): void => {
      this.#options.onWarning?.(
        String((error as { message?: unknown } | null)?.message ?? error)
      );
    };
    const check = this.#options.selfCheck ?? null;
    if (check !== null) {
      const act = async (): Promise<void> => {
        const result = await this.selfCheck(check.nodePath);
        if (result.type === 'unknown') {
          this.#options.onWarning?.(result.message);
        }
      };
      const { firstMs, everyMs } = check;
      this.#tasks.push(new RepeatedTask({ firstMs, everyMs, act, onError }));
    }
    const everyMs = this.#options.backupEveryMs ?? HOUR_MS;
    if (everyMs > 0) {
      // The first one soon: a store that was never copied cannot be restored.
      const firstMs = Math.min(60_000, everyMs);
      const act = (): Promise<unknown> => this.backup();
      this.#tasks.push(new RepeatedTask({ firstMs, everyMs, act, onError }));
    }
  }

  #stopTasks(): void {
    for (const task of this.#tasks.splice(0)) {
      task.stop();
    }
  }

  /** The file is another's: nothing more is written. */
  #lose(error: MusterError): void {
    if (this.#dead === null) {
      this.#dead = error;
      this.#closed = true;
      this.#stopTasks();
      this.#rejectAll(error);
      void this.#worker.terminate();
      if (this.#open) {
        this.#options.onLost?.(error);
      }
    }
  }

  #die(message: string): void {
    if (this.#closed) {
      // Also a pending close is over now.
      this.#rejectAll(unavailable(message));
      return;
    }
    this.#lose(unavailable(message));
  }

  #rejectAll(error: MusterError): void {
    this.#inFlight?.fail(error);
    this.#inFlight = null;
    for (const entry of this.#queue.splice(0)) {
      entry.waiting.reject(error);
    }
  }
}

function unavailable(message: string): MusterError {
  return new MusterError({ code: 'backend-unavailable', message });
}
