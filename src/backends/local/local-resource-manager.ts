/**
 * Processes of this host, forked from the cluster's warm pool (pool/). Nothing here is a child of
 * the bridge: the pool is a process of its own, and what it started is found again by pid, start
 * time and boot id from the handle alone.
 */
import { hostname } from 'node:os';
import { isAbsolute } from 'node:path';
import { isId, parseWorkerId, type ClusterId } from '../../protocol/index.js';
import { PoolDirectory } from '../pool/pool-directory.js';
import { launchEnvironment } from '../pool/pool-environment.js';
import type {
  BackendDescription,
  BackendEvent,
  Handle,
  JobIntent,
  JobObservation,
  JobPreview,
  LogChunk,
  LogStream,
  Observation,
  Probe,
  ReleaseResult,
  RequestResult,
  ResourceManager
} from '../resource-manager.js';
import { foreignListeners } from './foreign-listeners.js';
import { hostResources } from './host-resources.js';
import { describeLocal } from './local-description.js';
import { LocalFacts } from './local-facts.js';
import { localHandleData } from './local-handle.js';
import { pathsOf, wrapArgv } from './local-launch.js';
import { observationOf } from './local-observation.js';
import { LocalReleases } from './local-releases.js';
import { LocalRequests } from './local-requests.js';
import { searchTokens } from './local-search.js';
import { LocalWatch } from './local-watch.js';
import { readLog } from './log-reader.js';
import { ProcInspection } from './proc-inspection.js';
import { isAlive, type ProcessInspection } from './process-inspection.js';
import { PsInspection } from './ps-inspection.js';

export type LocalOptions = {
  /** Text of `jupyterlab_muster/pool.py`. */
  poolProgram: string;
  /** Absolute folder on a local disk, ours alone; made 0700 where missing (its parent must exist). */
  runtimeFolder: string;
  /** What processes may inherit is picked from here; the bridge's own by default. */
  environment?: Readonly<Record<string, string | undefined>>;
  platform?: NodeJS.Platform;
  inspection?: ProcessInspection;
  host?: string;
  /** Of the files tasks write; 0o077 unless the bridge knows the user's own. */
  umask?: number;
  /** Never fork; start each process anew. */
  forceExec?: boolean;
  /** A pool without children and without a bridge ends after this; 600. */
  poolIdleSeconds?: number;
  /** A standby pool nobody takes ends after this; 600. */
  standbySeconds?: number;
  /** Until a pool has imported Dask; 120 s. */
  startTimeoutMs?: number;
  /** Until a pool that is there answers; 10 s. */
  answerTimeoutMs?: number;
  /** How often processes are looked at whose pool is gone; 1 s. */
  lookEveryMs?: number;
};

export class LocalResourceManager implements ResourceManager {
  constructor(options: LocalOptions) {
    this.#platform = options.platform ?? process.platform;
    this.#host = options.host ?? hostname();
    this.#inspection =
      options.inspection ??
      (this.#platform === 'linux' ? new ProcInspection() : new PsInspection());
    const answerTimeoutMs = options.answerTimeoutMs ?? 10_000;
    const startTimeoutMs = options.startTimeoutMs ?? 120_000;
    this.#pools = new PoolDirectory(
      {
        program: options.poolProgram,
        runtimeFolder: options.runtimeFolder,
        host: this.#host,
        inspection: this.#inspection.name,
        isAlive: found => isAlive(this.#inspection, found),
        bootId: () => this.#inspection.bootId(),
        forceExec: options.forceExec ?? false,
        idleSeconds: options.poolIdleSeconds ?? 600,
        standbySeconds: options.standbySeconds ?? 600,
        startTimeoutMs,
        answerTimeoutMs
      },
      {
        exit: (folder, ended) => {
          this.#watch.exited(folder, ended);
        },
        lost: folder => {
          void this.#watch.poolLost(folder);
        }
      }
    );
    const parts = {
      host: this.#host,
      platform: this.#platform,
      inspection: this.#inspection,
      pools: this.#pools,
      answerTimeoutMs,
      startTimeoutMs
    };
    this.#facts = new LocalFacts(parts);
    this.#watch = new LocalWatch({
      ...parts,
      facts: this.#facts,
      lookEveryMs: options.lookEveryMs ?? 1000
    });
    this.#requests = new LocalRequests({
      ...parts,
      watch: this.#watch,
      environment: options.environment ?? process.env,
      umask: options.umask ?? 0o077
    });
    this.#releases = new LocalReleases({ ...parts, facts: this.#facts });
  }

  readonly #platform: NodeJS.Platform;
  readonly #host: string;
  readonly #inspection: ProcessInspection;
  readonly #pools: PoolDirectory;
  readonly #facts: LocalFacts;
  readonly #watch: LocalWatch;
  readonly #requests: LocalRequests;
  readonly #releases: LocalReleases;

  describe(): BackendDescription {
    return describeLocal();
  }

  probe(): Promise<Probe> {
    if (this.#platform === 'win32') {
      return Promise.resolve({
        available: false,
        reason: 'Local clusters do not run on Windows itself.',
        fix: 'Start JupyterLab inside WSL (Windows Subsystem for Linux).',
        looked: { platform: this.#platform }
      });
    }
    const { cores, memory, limitedBy } = hostResources();
    return Promise.resolve({
      available: true,
      looked: {
        platform: this.#platform,
        host: this.#host,
        cores,
        memory,
        limitedBy,
        processes: this.#inspection.name
      },
      host: { cores, memory }
    });
  }

  preview(intents: readonly JobIntent[]): JobPreview[] {
    const host = hostResources();
    return intents.map(intent => {
      const launch = intent.launches[0];
      const { argv, script } = wrapArgv(intent, launch?.argv ?? []);
      const warnings: string[] = [];
      if (intent.resources.cores > host.cores) {
        warnings.push(
          `${intent.resources.cores} cores are asked for; this host has ${host.cores}`
        );
      }
      if ((intent.resources.memory ?? 0) > host.memory) {
        warnings.push('more memory is asked for than this host has');
      }
      return {
        argv: [...argv],
        script,
        environment: launchEnvironment({}, launch?.environment ?? {}),
        notHonoured: intent.resources.gpus > 0 ? ['gpus'] : [],
        warnings
      };
    });
  }

  request(intents: readonly JobIntent[]): Promise<RequestResult[]> {
    return this.#requests.request(intents);
  }

  release(
    handles: readonly Handle[],
    options: { graceSeconds: number }
  ): Promise<ReleaseResult[]> {
    return this.#releases.release(handles, options.graceSeconds);
  }

  async observe(query: {
    handles: readonly Handle[];
    tokens: readonly { token: string; folder: string }[];
  }): Promise<Observation> {
    const asOf = new Date().toISOString();
    const jobs = new Map<string, JobObservation>();
    const asked = query.handles.flatMap(handle => {
      const data = localHandleData(handle);
      return data === null ? [] : [{ handle, data }];
    });
    const facts = await this.#facts.of(asked.map(({ data }) => data));
    let complete = asked.length === query.handles.length;
    for (const { handle, data } of asked) {
      const found = facts.get(data);
      if (found?.type !== 'known') {
        complete = false;
        continue;
      }
      jobs.set(handle.nativeId, observationOf(handle, data, found.processes));
      await this.#watch.seen(handle, data, found.processes);
    }
    const search = await searchTokens({
      host: this.#host,
      inspection: this.#inspection,
      pools: this.#pools,
      facts: this.#facts,
      tokens: query.tokens
    });
    return {
      asOf,
      complete: complete && search.complete,
      jobs,
      foreign: search.found
    };
  }

  async logs(query: {
    handle: Handle;
    launch: string;
    folder: string;
    stream: LogStream;
    offset: number;
    limit: number;
  }): Promise<LogChunk> {
    if (!isId(query.launch) && parseWorkerId(query.launch) === null) {
      return { text: '', nextOffset: 0 };
    }
    const paths = pathsOf(query.folder, query.launch);
    return readLog(paths[query.stream], query.offset, query.limit);
  }

  onEvent(listener: (event: BackendEvent) => void): void {
    this.#watch.listen(listener);
  }

  async retireCluster(cluster: ClusterId, folder: string): Promise<void> {
    this.#watch.forget(cluster);
    await this.#pools.retire(folder);
  }

  async prepare(environment: {
    python: string;
    variables: Readonly<Record<string, string>>;
  }): Promise<void> {
    if (this.#platform !== 'win32' && isAbsolute(environment.python)) {
      await this.#pools.prepare(
        this.#requests.need(environment.python, environment.variables)
      );
    }
  }

  async exposed(handle: Handle): Promise<string[]> {
    const found = await Promise.all(
      (localHandleData(handle)?.processes ?? []).map(async process =>
        (await isAlive(this.#inspection, process))
          ? ((await foreignListeners(process.pid)) ?? [])
          : []
      )
    );
    return found.flat();
  }

  close(): Promise<void> {
    this.#watch.close();
    return this.#pools.close();
  }
}
