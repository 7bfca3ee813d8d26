/**
 * Pools started ahead of time, without a cluster: `<runtime folder>/standby/<key>-<random>/`. The
 * next cluster of that interpreter and those read-once variables takes one, and starts warm. One per
 * key and two in all; one nobody takes ends by itself.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PoolClient } from './pool-client.js';
import { poolStateSchema, type PoolState } from './pool-messages.js';
import {
  readJson,
  type PoolDirectoryOptions,
  type PoolNeed
} from './pool-directory.js';
import { startPool } from './pool-starter.js';
import { makePrivateFolder } from './private-folder.js';

const AT_MOST = 2;

type Standby = { folder: string; key: string; state: PoolState };

export class StandbyPools {
  constructor(options: PoolDirectoryOptions) {
    this.#options = options;
    this.#folder = join(options.runtimeFolder, 'standby');
  }

  readonly #options: PoolDirectoryOptions;
  readonly #folder: string;
  #preparing: Promise<void> = Promise.resolve();

  /** One after the other, so that the counts hold. Resolves when it listens, before its imports end. */
  prepare(key: string, need: PoolNeed): Promise<void> {
    const next = this.#preparing.then(() => this.#prepare(key, need));
    this.#preparing = next.catch(() => undefined);
    return next;
  }

  /** A ready pool of this key, moved to its new place; null: there is none. */
  async take(
    key: string,
    place: { folder: string; fallbackSocket: string }
  ): Promise<PoolClient | null> {
    await this.#preparing;
    for (const standby of await this.#all()) {
      if (standby.key !== key) {
        continue;
      }
      try {
        const client = await PoolClient.connect(standby.state.socket);
        try {
          await client.assign(place, this.#options.startTimeoutMs);
          return client;
        } catch {
          client.close(); // Taken by somebody else, or ending.
        }
      } catch {
        continue; // It has ended.
      }
    }
    return null;
  }

  /** Nobody will take them any more. */
  async end(): Promise<void> {
    await this.#preparing;
    await Promise.all((await this.#all()).map(standby => this.#end(standby)));
  }

  async #prepare(key: string, need: PoolNeed): Promise<void> {
    const present = await this.#all();
    if (present.some(standby => standby.key === key)) {
      return;
    }
    for (const surplus of present.slice(0, present.length - AT_MOST + 1)) {
      await this.#end(surplus);
    }
    await makePrivateFolder(this.#options.runtimeFolder);
    await makePrivateFolder(this.#folder);
    const folder = join(
      this.#folder,
      `${key}-${randomBytes(4).toString('hex')}`
    );
    await makePrivateFolder(folder);
    try {
      await startPool({
        folder,
        python: need.python,
        program: this.#options.program,
        environment: need.environment,
        fallbackSocket: `${folder}.socket`,
        standby: true,
        idleSeconds: this.#options.idleSeconds,
        unassignedSeconds: this.#options.standbySeconds,
        forceExec: this.#options.forceExec,
        inspection: this.#options.inspection,
        timeoutMs: this.#options.startTimeoutMs
      });
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Those that live, oldest first; what dead ones left is removed. */
  async #all(): Promise<Standby[]> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        return [];
      }
      throw error;
    });
    const bootId = await this.#options.bootId();
    const found: Standby[] = [];
    for (const name of names) {
      const match = /^([0-9a-f]{10})-[0-9a-f]{8}$/.exec(name);
      if (match === null) {
        continue;
      }
      const folder = join(this.#folder, name);
      const state = poolStateSchema.safeParse(
        await readJson(join(folder, 'pool.json'))
      ).data;
      if (state === undefined) {
        // Just being started, by us or by another bridge of this user; else left by one that failed.
        const made = await stat(folder).catch(() => null);
        if (
          made !== null &&
          Date.now() - made.mtimeMs > this.#options.startTimeoutMs
        ) {
          await rm(folder, { recursive: true, force: true });
        }
        continue;
      }
      if (state.bootId !== bootId || !(await this.#options.isAlive(state))) {
        await rm(folder, { recursive: true, force: true });
        continue;
      }
      found.push({ folder, key: match[1] ?? '', state });
    }
    return found.sort(
      (a, b) => Number(a.state.startTime) - Number(b.state.startTime)
    );
  }

  async #end(standby: Standby): Promise<void> {
    try {
      const client = await PoolClient.connect(standby.state.socket);
      try {
        await client.shutdown(this.#options.answerTimeoutMs);
      } finally {
        client.close();
      }
    } catch {
      // It has ended, or been taken, meanwhile.
    }
  }
}
