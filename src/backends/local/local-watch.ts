/**
 * Tells the bridge what happens to local jobs. The handles it watches are a cache, filled by
 * `request` and `observe`: what it forgets, the next observation says.
 */
import { join } from 'node:path';
import type { ClusterId } from '../../protocol/index.js';
import type { PoolDirectory } from '../pool/pool-directory.js';
import type { PoolProcess } from '../pool/pool-messages.js';
import type { BackendEvent, Handle } from '../resource-manager.js';
import type { LocalFacts } from './local-facts.js';
import type { LocalHandleData } from './local-handle.js';
import { pathsOf } from './local-launch.js';
import { hasEnded } from './local-observation.js';
import { jobEnd, type ProcessFacts } from './local-outcome.js';
import { lastLines, readLog } from './log-reader.js';

export type LocalWatchOptions = {
  pools: PoolDirectory;
  facts: LocalFacts;
  /** How often processes are looked at whose pool cannot tell their end. */
  lookEveryMs: number;
};

const TAIL_BYTES = 16 * 1024;
const TAIL_LINES = 20;

export class LocalWatch {
  constructor(options: LocalWatchOptions) {
    this.#options = options;
  }

  readonly #options: LocalWatchOptions;
  readonly #watched = new Map<
    string,
    { handle: Handle; data: LocalHandleData }
  >();
  readonly #toldFallback = new Set<string>();
  #listener: (event: BackendEvent) => void = () => undefined;
  #looking: NodeJS.Timeout | null = null;
  #closed = false;

  listen(listener: (event: BackendEvent) => void): void {
    this.#listener = listener;
  }

  /** Its end will be told. */
  add(handle: Handle, data: LocalHandleData): void {
    this.#watched.set(handle.nativeId, { handle, data });
  }

  /** What `observe` has just learnt of a job. */
  async seen(
    handle: Handle,
    data: LocalHandleData,
    processes: readonly ProcessFacts[]
  ): Promise<void> {
    if (hasEnded(processes)) {
      await this.#tellEnded(handle, data, processes);
    } else {
      this.add(handle, data);
    }
    this.#look();
  }

  forget(cluster: ClusterId): void {
    for (const [id, { data }] of this.#watched) {
      if (data.cluster === cluster) {
        this.#watched.delete(id);
      }
    }
  }

  /** A pool has told an exit. */
  exited(poolFolder: string, process: PoolProcess): void {
    const concerned = this.#of(poolFolder).some(({ data }) =>
      data.processes.some(own => own.launch === process.id)
    );
    if (concerned) {
      void this.check(poolFolder);
    }
  }

  /** A pool's connection broke. What runs goes on; a new pool takes it over. */
  async poolLost(poolFolder: string): Promise<void> {
    await this.check(poolFolder);
    if (this.#of(poolFolder).length === 0) {
      return;
    }
    this.#listener({ type: 'changed' });
    await this.#revive(poolFolder);
  }

  /** Once per pool. */
  fellBack(cluster: ClusterId, poolFolder: string, message: string): void {
    if (!this.#toldFallback.has(poolFolder)) {
      this.#toldFallback.add(poolFolder);
      this.#listener({
        type: 'changed',
        note: { code: 'pool-fallback', cluster, message }
      });
    }
  }

  /** Tell the ends of one pool's watched jobs; null: of those whose pool cannot tell us. */
  async check(poolFolder: string | null): Promise<void> {
    const watched =
      poolFolder === null
        ? [...this.#watched.values()].filter(
            ({ data }) => !this.#options.pools.isConnected(folderOf(data))
          )
        : this.#of(poolFolder);
    try {
      const facts = await this.#options.facts.of(
        watched.map(({ data }) => data)
      );
      for (const { handle, data } of watched) {
        const found = facts.get(data);
        if (found?.type === 'known' && hasEnded(found.processes)) {
          await this.#tellEnded(handle, data, found.processes);
        }
      }
    } catch {
      // A look that failed is no fact; the next one is at most a moment away.
    }
    this.#look();
  }

  close(): void {
    this.#closed = true;
    this.#watched.clear();
    this.#listener = () => undefined;
    this.#look();
  }

  #of(poolFolder: string) {
    return [...this.#watched.values()].filter(
      ({ data }) => folderOf(data) === poolFolder
    );
  }

  async #tellEnded(
    handle: Handle,
    data: LocalHandleData,
    processes: readonly ProcessFacts[]
  ): Promise<void> {
    if (!this.#watched.delete(handle.nativeId)) {
      return; // Told already, or never asked for.
    }
    const end = jobEnd(processes);
    const logTail = await tailOf(data.folder, end.launch);
    this.#listener({
      type: 'ended',
      handle,
      outcome: end.outcome,
      exit: end.exit,
      message: end.message,
      logTail
    });
  }

  async #lookAround(): Promise<void> {
    await this.check(null);
    const orphaned = new Set(
      [...this.#watched.values()]
        .map(({ data }) => folderOf(data))
        .filter(folder => !this.#options.pools.isConnected(folder))
    );
    await Promise.all([...orphaned].map(folder => this.#revive(folder)));
  }

  async #revive(poolFolder: string): Promise<void> {
    try {
      await this.#options.pools.revive(poolFolder);
    } catch {
      // They go on without a pool, are looked at from here, and the next look tries again.
    }
  }

  /** Look by ourselves as long as something is watched. */
  #look(): void {
    if (this.#closed || this.#watched.size === 0) {
      if (this.#looking !== null) {
        clearInterval(this.#looking);
        this.#looking = null;
      }
      return;
    }
    this.#looking ??= setInterval(() => {
      void this.#lookAround();
    }, this.#options.lookEveryMs).unref();
  }
}

function folderOf(data: LocalHandleData): string {
  return join(data.folder, 'pool', data.pool);
}

/** The last lines of what the process wrote: of its errors, else of its output. */
async function tailOf(folder: string, launch: string): Promise<string> {
  const paths = pathsOf(folder, launch);
  for (const path of [paths.stderr, paths.stdout]) {
    try {
      const { text } = await readLog(path, -TAIL_BYTES, TAIL_BYTES);
      if (text.trim() !== '') {
        return lastLines(text, TAIL_LINES);
      }
    } catch {
      // The tail is a courtesy; the end is told without it.
    }
  }
  return '';
}
