/** "Give me more workers": intents become processes of the cluster's pool, each exactly once. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { homedir } from 'node:os';
import { readJournal } from '../pool/journal.js';
import { PoolRequestError } from '../pool/pool-client.js';
import type {
  OpenPool,
  PoolDirectory,
  PoolNeed
} from '../pool/pool-directory.js';
import { launchEnvironment } from '../pool/pool-environment.js';
import type {
  PoolLaunch,
  PoolProcess,
  StartReply
} from '../pool/pool-messages.js';
import { makePrivateFolder } from '../pool/private-folder.js';
import type { JobIntent, RequestResult } from '../resource-manager.js';
import { cleanEnvironment } from './clean-environment.js';
import { makeLocalHandle } from './local-handle.js';
import { checkIntent, pathsOf, wrapArgv } from './local-launch.js';
import { refusalOf } from './local-refusal.js';
import type { LocalWatch } from './local-watch.js';
import type { ProcessInspection } from './process-inspection.js';

const PRIVATE_UMASK = 0o077;

export type LocalRequestsOptions = {
  host: string;
  platform: NodeJS.Platform;
  inspection: ProcessInspection;
  pools: PoolDirectory;
  watch: LocalWatch;
  /** What processes may inherit is picked from here. */
  environment: Readonly<Record<string, string | undefined>>;
  startTimeoutMs: number;
  umask: number;
};

export class LocalRequests {
  constructor(options: LocalRequestsOptions) {
    this.#options = options;
  }

  readonly #options: LocalRequestsOptions;

  /** What a process of this interpreter with these variables needs of its pool. */
  need(python: string, variables: Readonly<Record<string, string>>): PoolNeed {
    return {
      python,
      environment: launchEnvironment(
        cleanEnvironment(this.#options.environment, python),
        variables
      )
    };
  }

  async request(intents: readonly JobIntent[]): Promise<RequestResult[]> {
    const results = new Map<JobIntent, RequestResult>();
    const batches = new Map<string, JobIntent[]>();
    for (const intent of intents) {
      const refused =
        checkIntent(intent, this.#options.platform) ?? this.#checkPool(intent);
      if (refused !== null) {
        results.set(intent, refused);
        continue;
      }
      const key = `${intent.folder}\0${this.#poolNames(intent)[0] ?? ''}`;
      batches.set(key, [...(batches.get(key) ?? []), intent]);
    }
    await Promise.all(
      [...batches.values()].map(batch => this.#batch(batch, results))
    );
    return intents.map(
      intent =>
        results.get(intent) ?? {
          type: 'uncertain',
          message: 'nothing was said of this job'
        }
    );
  }

  #poolNames(intent: JobIntent): string[] {
    return intent.launches.map(launch =>
      this.#options.pools.nameFor(
        intent.folder,
        this.need(launch.argv[0] ?? '', launch.environment)
      )
    );
  }

  #checkPool(intent: JobIntent): RequestResult | null {
    return new Set(this.#poolNames(intent)).size === 1
      ? null
      : {
          type: 'rejected',
          reasonClass: 'syntax',
          message:
            'the processes of one job need the same interpreter and the same variables that are read at its start'
        };
  }

  /** Intents of one cluster and one pool. */
  async #batch(
    intents: readonly JobIntent[],
    results: Map<JobIntent, RequestResult>
  ): Promise<void> {
    const [first] = intents;
    const launch = first?.launches[0];
    if (first === undefined || launch === undefined) {
      return;
    }
    try {
      await this.#findStarted(first.folder, intents, results);
      const fresh = intents.filter(intent => !results.has(intent));
      if (fresh.length === 0) {
        return;
      }
      const pool = await this.#options.pools.ensure(
        first.folder,
        this.need(launch.argv[0] ?? '', launch.environment)
      );
      await makePrivateFolder(join(first.folder, 'logs'));
      await this.#start(pool, fresh, results);
    } catch (error) {
      const refusal = refusalOf(error);
      for (const intent of intents) {
        if (!results.has(intent)) {
          results.set(intent, refusal);
        }
      }
    }
  }

  /**
   * Jobs a pool of this cluster has started before: perhaps one of an older program text, or one
   * that is being ended. The same request must find them rather than start them twice.
   */
  async #findStarted(
    folder: string,
    intents: readonly JobIntent[],
    results: Map<JobIntent, RequestResult>
  ): Promise<void> {
    for (const poolFolder of await this.#options.pools.poolFolders(folder)) {
      const processes = await readJournal(join(poolFolder, 'journal.jsonl'));
      for (const intent of intents) {
        const own = intent.launches.flatMap(
          ({ id }) =>
            processes.find(
              process => process.id === id && process.attempt === intent.attempt
            ) ?? []
        );
        if (own.length === intent.launches.length) {
          results.set(
            intent,
            await this.#accept(intent, basename(poolFolder), own)
          );
        }
      }
    }
  }

  async #start(
    pool: OpenPool,
    intents: readonly JobIntent[],
    results: Map<JobIntent, RequestResult>
  ): Promise<void> {
    const { watch, startTimeoutMs } = this.#options;
    let reply: StartReply;
    try {
      reply = await pool.client.start(
        intents.flatMap(intent => this.#launches(intent)),
        startTimeoutMs
      );
    } catch (error) {
      const refusal: RequestResult =
        error instanceof PoolRequestError &&
        ['closed', 'timeout', 'bad-reply'].includes(error.code)
          ? { type: 'uncertain', message: error.message }
          : refusalOf(error);
      intents.forEach(intent => results.set(intent, refusal));
      return;
    }
    let next = 0;
    for (const intent of intents) {
      const own = reply.results.slice(next, next + intent.launches.length);
      next += intent.launches.length;
      results.set(intent, await this.#settle(pool, intent, own));
    }
    const [first] = intents;
    const fellBack = reply.results.some(
      result => 'process' in result && result.process.mode === 'exec'
    );
    if (reply.fallback !== null && fellBack && first !== undefined) {
      watch.fellBack(first.cluster, pool.folder, reply.fallback);
    }
    // A process may have ended before its handle was known here.
    void watch.check(pool.folder);
  }

  /** All processes of the job, or none of them. */
  async #settle(
    pool: OpenPool,
    intent: JobIntent,
    own: StartReply['results']
  ): Promise<RequestResult> {
    const processes = own.flatMap(result =>
      'process' in result ? [result.process] : []
    );
    for (const result of own) {
      if ('error' in result) {
        await Promise.all(
          processes.map(process =>
            pool.client.terminate(process, 0, this.#options.startTimeoutMs)
          )
        );
        return refusalOf(
          Object.assign(new Error(result.error), { errno: result.errno ?? 0 })
        );
      }
    }
    return this.#accept(intent, pool.name, processes);
  }

  #launches(intent: JobIntent): PoolLaunch[] {
    return intent.launches.map(launch => {
      const { argv, wrapped } = wrapArgv(intent, launch.argv);
      return {
        ...pathsOf(intent.folder, launch.id),
        id: launch.id,
        attempt: intent.attempt,
        token: intent.token,
        argv,
        environment: this.need(launch.argv[0] ?? '', launch.environment)
          .environment,
        // A container's user may have no home that exists.
        cwd: existsSync(homedir()) ? homedir() : intent.folder,
        limit: launch.memoryLimit,
        wrapped,
        // A scheduler runs no task of the user's: what it writes is Muster's own (its address).
        umask: intent.group === null ? PRIVATE_UMASK : this.#options.umask
      };
    });
  }

  async #accept(
    intent: JobIntent,
    pool: string,
    processes: readonly PoolProcess[]
  ): Promise<RequestResult> {
    const { handle, data } = await makeLocalHandle({
      ...this.#options,
      folder: intent.folder,
      cluster: intent.cluster,
      attempt: intent.attempt,
      pool,
      processes
    });
    this.#options.watch.add(handle, data);
    return { type: 'accepted', handle };
  }
}
