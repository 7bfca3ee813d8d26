/**
 * The pools of this host: finds them by their folders, starts them, hands out connections. What it
 * remembers is connections only; everything else is read from the folders, so that a fresh instance
 * finds the same pools.
 */
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { PoolClient, PoolRequestError } from './pool-client.js';
import {
  poolKey,
  readOnceVariables,
  type PoolIdentity
} from './pool-environment.js';
import {
  poolStateSchema,
  type PoolProcess,
  type PoolState
} from './pool-messages.js';
import { PoolStartError, startPool } from './pool-starter.js';
import {
  checkPrivateFolder,
  makePrivateFolder,
  writePrivateFile
} from './private-folder.js';
import { StandbyPools } from './standby-pools.js';

export type PoolDirectoryOptions = {
  /** Text of `pool.py`. */
  program: string;
  /** Absolute, on a local disk; made 0700 where missing: sockets whose own path is too long, standby pools. */
  runtimeFolder: string;
  host: string;
  inspection: 'proc' | 'ps';
  /** Does a process of this pid and start time live here? */
  isAlive: (process: { pid: number; startTime: string }) => Promise<boolean>;
  bootId: () => Promise<string>;
  forceExec: boolean;
  /** Without children and without a bridge, a pool ends after this. */
  idleSeconds: number;
  /** Without a cluster, a standby pool ends after this. */
  standbySeconds: number;
  /** Imports included; shared file systems are slow. */
  startTimeoutMs: number;
  answerTimeoutMs: number;
};

export type PoolEvents = {
  exit: (poolFolder: string, process: PoolProcess) => void;
  /** The connection broke: the pool died, or gave up on us. */
  lost: (poolFolder: string) => void;
};

export type PoolNeed = {
  python: string;
  /** Whole environment of the processes. */
  environment: Readonly<Record<string, string>>;
};

/** `gone`: it is dead for certain. `silent`: it may live, but nobody answered. */
export type Reach =
  | { type: 'connected'; client: PoolClient }
  | { type: 'gone' }
  | { type: 'silent'; message: string };

export type OpenPool = { name: string; folder: string; client: PoolClient };

const GENERATIONS = 10;
const REVIVALS = 3;
const REVIVAL_WINDOW_MS = 10 * 60_000;
const RETIRE_WAIT_MS = 5000;

const configSchema = z.object({
  python: z.string(),
  environment: z.record(z.string(), z.string())
});

export class PoolDirectory {
  constructor(options: PoolDirectoryOptions, events: PoolEvents) {
    this.#options = options;
    this.#events = events;
    this.#standby = new StandbyPools(options);
  }

  readonly #options: PoolDirectoryOptions;
  readonly #events: PoolEvents;
  readonly #standby: StandbyPools;
  readonly #clients = new Map<string, PoolClient>();
  readonly #ready = new WeakSet<PoolClient>();
  readonly #reaching = new Map<string, Promise<Reach>>();
  readonly #opening = new Map<string, Promise<PoolClient>>();
  readonly #revivals = new Map<string, number[]>();
  #closed = false;

  /** The name of the folder of the pool that serves such processes of such a cluster. */
  nameFor(folder: string, need: PoolNeed): string {
    return poolKey(this.#identity(need, folder));
  }

  /**
   * The pool for such processes in this cluster, started if there is none.
   * @throws PoolStartError, PoolRequestError, UnsafeFolderError or the system's error.
   */
  async ensure(folder: string, need: PoolNeed): Promise<OpenPool> {
    const key = this.nameFor(folder, need);
    await checkPrivateFolder(folder);
    await makePrivateFolder(join(folder, 'pool'));
    for (let generation = 0; generation < GENERATIONS; generation++) {
      const name = generation === 0 ? key : `${key}-${generation}`;
      const poolFolder = join(folder, 'pool', name);
      const client = await this.#open(poolFolder, key, need);
      // One that has answered before does not import any more.
      const hello = await client.hello(
        this.#ready.has(client)
          ? this.#options.answerTimeoutMs
          : this.#options.startTimeoutMs
      );
      this.#ready.add(client);
      if (!hello.draining) {
        return { name, folder: poolFolder, client };
      }
    }
    throw new PoolStartError(
      'failed',
      'all worker pools of this cluster are being ended'
    );
  }

  /** Find a pool that was started before. */
  reach(poolFolder: string): Promise<Reach> {
    const client = this.#clients.get(poolFolder);
    if (client !== undefined) {
      return Promise.resolve({ type: 'connected', client });
    }
    return once(this.#reaching, poolFolder, () => this.#reach(poolFolder));
  }

  /** Will we be told of its exits? */
  isConnected(poolFolder: string): boolean {
    return this.#clients.has(poolFolder);
  }

  /** Folders of all pools a cluster ever had. */
  async poolFolders(folder: string): Promise<string[]> {
    const parent = join(folder, 'pool');
    const entries = await readdir(parent, { withFileTypes: true }).catch(
      (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
          return [];
        }
        throw error;
      }
    );
    return entries
      .filter(entry => entry.isDirectory())
      .map(entry => join(parent, entry.name));
  }

  /**
   * Have a pool again where the one that was there was killed, for what it has left running: its
   * memory limits are enforced again and ends are noticed. Safe to call again and again: does
   * nothing while a pool may live, and gives up on one that is killed over and over.
   */
  async revive(poolFolder: string): Promise<void> {
    if ((await this.reach(poolFolder)).type !== 'gone' || this.#closed) {
      return;
    }
    const config = configSchema.safeParse(
      await readJson(join(poolFolder, 'config.json'))
    ).data;
    const now = Date.now();
    const recent = (this.#revivals.get(poolFolder) ?? []).filter(
      time => now - time < REVIVAL_WINDOW_MS
    );
    if (
      config === undefined ||
      recent.length >= REVIVALS ||
      this.#opening.has(poolFolder)
    ) {
      return;
    }
    this.#revivals.set(poolFolder, [...recent, now]);
    await this.#open(poolFolder, null, config);
  }

  /** End all pools of a cluster. */
  async retire(folder: string): Promise<void> {
    await Promise.all(
      (await this.poolFolders(folder)).map(async poolFolder => {
        this.#revivals.set(
          poolFolder,
          new Array<number>(REVIVALS).fill(Number.POSITIVE_INFINITY)
        );
        await this.#retire(poolFolder);
      })
    );
  }

  /** Have a pool ready for the next cluster of this interpreter and these variables. */
  async prepare(need: PoolNeed): Promise<void> {
    await this.#standby.prepare(poolKey(this.#identity(need, null)), need);
  }

  /** Drops the connections. Pools of clusters live on; those that wait for a cluster are of no use without a bridge. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const client of [...this.#clients.values()]) {
      client.close();
    }
    this.#clients.clear();
    await this.#standby.end();
  }

  #identity(need: PoolNeed, folder: string | null): PoolIdentity {
    return {
      host: this.#options.host,
      python: need.python,
      variables: readOnceVariables(need.environment, folder),
      program: this.#options.program,
      forceExec: this.#options.forceExec
    };
  }

  #open(
    poolFolder: string,
    key: string | null,
    need: PoolNeed
  ): Promise<PoolClient> {
    return once(this.#opening, poolFolder, async () => {
      await makePrivateFolder(poolFolder);
      for (let attempt = 0; ; attempt++) {
        const reach = await this.reach(poolFolder);
        if (reach.type === 'connected') {
          return reach.client;
        }
        if (reach.type === 'silent') {
          throw new PoolRequestError('silent', reach.message);
        }
        try {
          return await this.#begin(poolFolder, key, need);
        } catch (error) {
          // Somebody else has just started it, or a standby pool we gave up on came after all.
          if (
            !(error instanceof PoolStartError && error.code === 'busy') ||
            attempt >= 20
          ) {
            throw error;
          }
          await new Promise(resolve => setTimeout(resolve, 100));
        }
      }
    });
  }

  async #begin(
    poolFolder: string,
    key: string | null,
    need: PoolNeed
  ): Promise<PoolClient> {
    const { runtimeFolder } = this.#options;
    await makePrivateFolder(runtimeFolder);
    await makePrivateFolder(join(runtimeFolder, 'sockets'));
    const fallbackSocket = this.#fallbackSocket(poolFolder);
    await writePrivateFile(
      join(poolFolder, 'config.json'),
      JSON.stringify({ python: need.python, environment: need.environment })
    );
    const standby =
      key === null
        ? null
        : await this.#standby.take(key, { folder: poolFolder, fallbackSocket });
    if (standby !== null) {
      await writePrivateFile(
        join(poolFolder, 'pool.py'),
        this.#options.program
      );
      return this.#adopt(poolFolder, standby);
    }
    const socket = await startPool({
      folder: poolFolder,
      python: need.python,
      program: this.#options.program,
      environment: need.environment,
      fallbackSocket,
      standby: false,
      idleSeconds: this.#options.idleSeconds,
      unassignedSeconds: this.#options.standbySeconds,
      forceExec: this.#options.forceExec,
      inspection: this.#options.inspection,
      timeoutMs: this.#options.startTimeoutMs
    });
    return this.#adopt(poolFolder, await PoolClient.connect(socket));
  }

  #fallbackSocket(poolFolder: string): string {
    const name = createHash('sha256')
      .update(poolFolder)
      .digest('hex')
      .slice(0, 16);
    return join(this.#options.runtimeFolder, 'sockets', name);
  }

  async #reach(poolFolder: string): Promise<Reach> {
    const state = await this.#state(poolFolder);
    if (state === null) {
      return { type: 'gone' };
    }
    try {
      const client = await PoolClient.connect(state.socket);
      await client
        .hello(this.#options.answerTimeoutMs)
        .catch((error: unknown) => {
          client.close();
          throw error;
        });
      return {
        type: 'connected',
        client: await this.#adopt(poolFolder, client)
      };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return (await this.#mayLive(state))
        ? {
            type: 'silent',
            message: `the worker pool (pid ${state.pid}) does not answer: ${message}`
          }
        : { type: 'gone' };
    }
  }

  async #state(poolFolder: string): Promise<PoolState | null> {
    return (
      poolStateSchema.safeParse(await readJson(join(poolFolder, 'pool.json')))
        .data ?? null
    );
  }

  async #mayLive(state: PoolState): Promise<boolean> {
    if (state.bootId !== (await this.#options.bootId())) {
      return state.host !== this.#options.host;
    }
    return state.host === this.#options.host && this.#options.isAlive(state);
  }

  async #adopt(poolFolder: string, client: PoolClient): Promise<PoolClient> {
    await client.subscribe(this.#options.startTimeoutMs);
    if (this.#closed) {
      client.close();
      throw new PoolRequestError('closed', 'the backend is closed');
    }
    this.#clients.set(poolFolder, client);
    client.listen({
      exit: process => {
        this.#events.exit(poolFolder, process);
      },
      closed: () => {
        this.#clients.delete(poolFolder);
        if (!this.#closed) {
          this.#events.lost(poolFolder);
        }
      }
    });
    return client;
  }

  async #retire(poolFolder: string): Promise<void> {
    const state = await this.#state(poolFolder);
    const reach = await this.reach(poolFolder);
    if (reach.type === 'connected') {
      try {
        if ((await reach.client.shutdown(this.#options.answerTimeoutMs)) > 0) {
          return; // It stays for what still runs, and ends after the last of them.
        }
      } catch {
        // It ended before it could answer, or it hangs: seen below.
      }
    }
    if (state === null || state.host !== this.#options.host) {
      return;
    }
    const deadline = Date.now() + RETIRE_WAIT_MS;
    while (Date.now() < deadline) {
      if (!(await this.#mayLive(state))) {
        return;
      }
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    // It hangs or is stopped. Its pid and start time were verified in the line above.
    try {
      process.kill(state.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') {
        throw error;
      }
    }
  }
}

export async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (
      error instanceof SyntaxError ||
      (error as NodeJS.ErrnoException).code === 'ENOENT'
    ) {
      return null;
    }
    throw error;
  }
}

/** One at a time per key; those who come meanwhile get the same answer. */
function once<T>(
  running: Map<string, Promise<T>>,
  key: string,
  act: () => Promise<T>
): Promise<T> {
  const present = running.get(key);
  if (present !== undefined) {
    return present;
  }
  const promise = act().finally(() => running.delete(key));
  running.set(key, promise);
  return promise;
}
