/**
 * What is known of local jobs, from the best witness there is: the pool that started them, its
 * journal, and the processes themselves. Absence of the pool is never the end of a job; a pid that
 * is gone while boot, container and host are the same is (reliability-and-security.md R3, R5).
 */
import { join } from 'node:path';
import { readJournal } from '../pool/journal.js';
import type { PoolDirectory, Reach } from '../pool/pool-directory.js';
import type { PoolProcess } from '../pool/pool-messages.js';
import {
  pidNamespace,
  type LocalHandleData,
  type LocalProcess
} from './local-handle.js';
import type { ProcessFacts } from './local-outcome.js';
import type { ProcessInspection } from './process-inspection.js';

export type JobFacts =
  | { type: 'known'; processes: ProcessFacts[] }
  | { type: 'unknown'; message: string };

export type LocalFactsOptions = {
  host: string;
  inspection: ProcessInspection;
  pools: PoolDirectory;
  answerTimeoutMs: number;
};

/**
 * Where a handle's processes were started, seen from here. `restarted`: the machine was.
 * `other-container`: same kernel, other pid namespace or host name; pids mean nothing here, but
 * the pool's socket, if it lives, can be reached all the same. `other-host`: it may live there.
 */
type Place = 'here' | 'restarted' | 'other-container' | 'other-host';

type Wanted = 'exit' | 'end';

export class LocalFacts {
  constructor(options: LocalFactsOptions) {
    this.#options = options;
  }

  readonly #options: LocalFactsOptions;

  /**
   * An entry for each. Asks each pool once.
   * @param wanted `end`: a process that is gone has ended although its pool, which knows how, is
   *   silent; `exit`: that is not known yet.
   */
  async of(
    jobs: readonly LocalHandleData[],
    wanted: Wanted = 'exit'
  ): Promise<ReadonlyMap<LocalHandleData, JobFacts>> {
    const facts = new Map<LocalHandleData, JobFacts>();
    const byPool = new Map<string, LocalHandleData[]>();
    for (const job of jobs) {
      const poolFolder = join(job.folder, 'pool', job.pool);
      byPool.set(poolFolder, [...(byPool.get(poolFolder) ?? []), job]);
    }
    await Promise.all(
      [...byPool].map(async ([poolFolder, own]) => {
        try {
          await this.#ofPool(poolFolder, own, facts, wanted);
        } catch (error) {
          const message =
            error instanceof Error ? error.message : String(error);
          own.forEach(job => facts.set(job, { type: 'unknown', message }));
        }
      })
    );
    return facts;
  }

  async #ofPool(
    poolFolder: string,
    jobs: readonly LocalHandleData[],
    facts: Map<LocalHandleData, JobFacts>,
    wanted: Wanted
  ): Promise<void> {
    const here = {
      bootId: await this.#options.inspection.bootId(),
      pidNamespace: await pidNamespace()
    };
    const placed = jobs.map(job => ({ job, place: this.#place(job, here) }));
    const near = placed.filter(
      ({ place }) => place === 'here' || place === 'other-container'
    );
    const listed = await this.#listed(
      poolFolder,
      near.flatMap(({ job }) => job.processes.map(own => own.launch))
    );
    // Looked at before the journal is read: who is gone by now has its exit there by then.
    const alive = await this.#options.inspection.startTimes(
      placed
        .filter(({ place }) => place === 'here')
        .flatMap(({ job }) => job.processes.map(own => own.pid))
    );
    const journal =
      listed.type === 'listed' && this.#allListed(near, listed.processes)
        ? []
        : await readJournal(join(poolFolder, 'journal.jsonl'));
    for (const { job, place } of placed) {
      const processes: ProcessFacts[] = [];
      let unknown: string | null =
        place === 'other-host' ? `it runs on ${job.host}` : null;
      for (const own of job.processes) {
        const found = this.#process({
          own,
          attempt: job.attempt,
          place,
          wanted,
          listed,
          alive: alive.get(own.pid),
          journal
        });
        if (typeof found === 'string') {
          unknown ??= found;
        } else {
          processes.push(found);
        }
      }
      facts.set(
        job,
        unknown === null
          ? { type: 'known', processes }
          : { type: 'unknown', message: unknown }
      );
    }
  }

  #place(
    job: LocalHandleData,
    here: { bootId: string; pidNamespace: string }
  ): Place {
    const sameHost = job.host === this.#options.host;
    if (job.bootId !== here.bootId) {
      return sameHost ? 'restarted' : 'other-host';
    }
    return sameHost && job.pidNamespace === here.pidNamespace
      ? 'here'
      : 'other-container';
  }

  async #listed(poolFolder: string, ids: string[]): Promise<Listing> {
    if (ids.length === 0) {
      return { type: 'gone' };
    }
    const reach = await this.#options.pools.reach(poolFolder);
    if (reach.type !== 'connected') {
      return reach;
    }
    try {
      return {
        type: 'listed',
        processes: await reach.client.list(ids, this.#options.answerTimeoutMs)
      };
    } catch (error) {
      return {
        type: 'silent',
        message: error instanceof Error ? error.message : String(error)
      };
    }
  }

  #allListed(
    jobs: readonly { job: LocalHandleData }[],
    processes: readonly PoolProcess[]
  ): boolean {
    return jobs.every(({ job }) =>
      job.processes.every(own =>
        processes.some(process => this.#isOf(process, own, job.attempt))
      )
    );
  }

  /** Its facts, or why nothing can be said of it now. */
  #process(look: {
    own: LocalProcess;
    attempt: number;
    place: Place;
    wanted: Wanted;
    listed: Listing;
    alive: string | undefined;
    journal: readonly PoolProcess[];
  }): ProcessFacts | string {
    const { own, listed, place } = look;
    const mine = (process: PoolProcess) =>
      this.#isOf(process, own, look.attempt);
    if (listed.type === 'listed') {
      const process = listed.processes.find(mine);
      if (process !== undefined) {
        return factsOf(process);
      }
    }
    const record = look.journal.find(mine);
    if (record?.state === 'ended') {
      return factsOf(record);
    }
    const running: ProcessFacts = {
      launch: own.launch,
      state: 'running',
      exit: null,
      cause: null,
      requested: false,
      started: record?.started ?? null,
      ended: null,
      restarted: false
    };
    switch (place) {
      case 'here':
        if (this.#options.inspection.same(look.alive, own.startTime)) {
          return running;
        }
        // Its pool lives but does not answer: the exit may still be told.
        return listed.type === 'silent' && look.wanted === 'exit'
          ? listed.message
          : { ...running, state: 'ended' };
      case 'restarted':
        return { ...running, state: 'ended', restarted: true };
      case 'other-container':
        return listed.type === 'silent'
          ? listed.message
          : listed.type === 'listed'
            ? 'the worker pool does not know it'
            : { ...running, state: 'ended', restarted: true };
      case 'other-host':
        return 'it runs on another host';
      default:
        return place satisfies never;
    }
  }

  #isOf(process: PoolProcess, own: LocalProcess, attempt: number): boolean {
    return (
      process.id === own.launch &&
      process.attempt === attempt &&
      process.pid === own.pid &&
      this.#options.inspection.same(process.startTime, own.startTime)
    );
  }
}

type Listing =
  | { type: 'listed'; processes: PoolProcess[] }
  | Exclude<Reach, { type: 'connected' }>;

function factsOf(process: PoolProcess): ProcessFacts {
  const known = process.code !== null || process.signal !== null;
  return {
    launch: process.id,
    state: process.state,
    exit:
      process.state === 'ended' && known
        ? { code: process.code, signal: process.signal }
        : null,
    cause: process.cause,
    requested: process.requested,
    started: process.started,
    ended: process.ended,
    restarted: false
  };
}
