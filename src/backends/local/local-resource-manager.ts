/**
 * Processes of this host, forked from the cluster's warm pool (pool/). Nothing here is a child of
 * the bridge: the pool is a process of its own, and what it started is found again by pid, start
 * time and boot id from the handle alone.
 */
import { readlink } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { isAbsolute, join } from 'node:path';
import {
  isId,
  parseWorkerId,
  type ClusterId,
  type JobPhase
} from '../../protocol/index.js';
import { readJournal } from '../pool/journal.js';
import { PoolRequestError } from '../pool/pool-client.js';
import { PoolDirectory, type OpenPool } from '../pool/pool-directory.js';
import { launchEnvironment } from '../pool/pool-environment.js';
import type { PoolLaunch, PoolProcess } from '../pool/pool-messages.js';
import { makePrivateFolder } from '../pool/private-folder.js';
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
import { cleanEnvironment } from './clean-environment.js';
import { hostResources } from './host-resources.js';
import { describeLocal } from './local-description.js';
import {
  localHandle,
  localHandleData,
  type LocalHandleData
} from './local-handle.js';
import { LocalFacts, type JobFacts } from './local-facts.js';
import { checkIntent, pathsOf, wrapArgv } from './local-launch.js';
import { jobEnd, type ProcessFacts } from './local-outcome.js';
import { endDirectly } from './local-release.js';
import { lastLines, readLog } from './log-reader.js';
import { isAlive, type ProcessInspection } from './process-inspection.js';
import { ProcInspection } from './proc-inspection.js';
import { PsInspection } from './ps-inspection.js';
import { refusalOf } from './local-refusal.js';

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

const TAIL_BYTES = 16 * 1024;
const TAIL_LINES = 20;
/** Beyond the grace: SIGKILL needs a moment, a process in the kernel's hands longer. */
const KILL_WAIT_MS = 5000;

export class LocalResourceManager implements ResourceManager {
  constructor(options: LocalOptions) {
    this.#options = options;
    this.#platform = options.platform ?? process.platform;
    this.#host = options.host ?? hostname();
    this.#inspection =
      options.inspection ??
      (this.#platform === 'linux' ? new ProcInspection() : new PsInspection());
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
        startTimeoutMs: options.startTimeoutMs ?? 120_000,
        answerTimeoutMs: options.answerTimeoutMs ?? 10_000
      },
      {
        exit: (folder, ended) => {
          this.#onExit(folder, ended);
        },
        lost: folder => {
          void this.#onPoolLost(folder);
        }
      }
    );
    this.#facts = new LocalFacts({
      host: this.#host,
      inspection: this.#inspection,
      pools: this.#pools,
      answerTimeoutMs: options.answerTimeoutMs ?? 10_000
    });
  }

  readonly #options: LocalOptions;
  readonly #platform: NodeJS.Platform;
  readonly #host: string;
  readonly #inspection: ProcessInspection;
  readonly #pools: PoolDirectory;
  readonly #facts: LocalFacts;
  /** Handles whose end is still to be told; a cache, filled again by `observe`. */
  readonly #watched = new Map<
    string,
    { handle: Handle; data: LocalHandleData }
  >();
  readonly #toldFallback = new Set<string>();
  #listener: (event: BackendEvent) => void = () => undefined;
  #looking: NodeJS.Timeout | null = null;
  #closed = false;

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

  async request(intents: readonly JobIntent[]): Promise<RequestResult[]> {
    const results = new Array<RequestResult | undefined>(intents.length);
    const batches = new Map<string, { intent: JobIntent; index: number }[]>();
    intents.forEach((intent, index) => {
      const problem =
        checkIntent(intent, this.#platform) ?? this.#checkPools(intent);
      if (problem !== null) {
        results[index] = problem;
        return;
      }
      const key = `${intent.folder}\0${this.#poolName(intent)}`;
      const batch = batches.get(key) ?? [];
      batch.push({ intent, index });
      batches.set(key, batch);
    });
    await Promise.all(
      [...batches.values()].map(async batch => {
        const answers = await this.#requestBatch(
          batch.map(({ intent }) => intent)
        );
        batch.forEach(({ index }, position) => {
          results[index] = answers[position];
        });
      })
    );
    return results.map(
      result =>
        result ?? { type: 'uncertain', message: 'no answer for this job' }
    );
  }

  async release(
    handles: readonly Handle[],
    options: { graceSeconds: number }
  ): Promise<ReleaseResult[]> {
    const results = new Map<number, ReleaseResult>();
    const open = new Map<number, LocalHandleData>();
    handles.forEach((handle, index) => {
      const data = localHandleData(handle);
      if (data === null) {
        results.set(index, {
          type: 'denied',
          message: 'this is not a job of the local backend'
        });
      } else {
        open.set(index, data);
      }
    });
    const before = await this.#facts.of([...open.values()]);
    const ending: Promise<void>[] = [];
    for (const [index, data] of open) {
      const facts = before.get(data);
      if (facts?.type !== 'known') {
        results.set(index, {
          type: 'unreachable',
          message: facts?.message ?? 'nothing is known of it'
        });
        open.delete(index);
      } else if (facts.processes.every(({ state }) => state === 'ended')) {
        results.set(index, { type: 'already-gone' });
        open.delete(index);
      } else {
        ending.push(
          this.#end(data, facts.processes, options.graceSeconds).then(
            message => {
              if (message !== null) {
                results.set(index, { type: 'denied', message });
                open.delete(index);
              }
            }
          )
        );
      }
    }
    const ended = Promise.all(ending);
    await Promise.race([ended, pause(1000)]);
    const deadline =
      Date.now() + Math.max(0, options.graceSeconds) * 1000 + KILL_WAIT_MS;
    let wait = 20;
    while (open.size > 0) {
      const facts = await this.#facts.of([...open.values()]);
      for (const [index, data] of open) {
        const found = facts.get(data);
        if (
          found?.type === 'known' &&
          found.processes.every(({ state }) => state === 'ended')
        ) {
          results.set(index, { type: 'gone' });
          open.delete(index);
        }
      }
      if (open.size === 0 || Date.now() > deadline) {
        break;
      }
      await pause(wait);
      wait = Math.min(wait * 2, 200);
    }
    return handles.map(
      (_, index) =>
        results.get(index) ?? {
          type: 'uncertain',
          message: 'it was killed but has not gone yet'
        }
    );
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
      const observation = this.#observation(handle, data, found);
      jobs.set(handle.nativeId, observation);
      if (observation.phase !== 'ended') {
        this.#watched.set(handle.nativeId, { handle, data });
      } else if (this.#watched.has(handle.nativeId)) {
        await this.#tellEnded(handle, data, found.processes);
      }
    }
    const search = await this.#search(query.tokens);
    this.#look();
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
    this.#listener = listener;
  }

  async retireCluster(cluster: ClusterId, folder: string): Promise<void> {
    for (const [id, { data }] of this.#watched) {
      if (data.cluster === cluster) {
        this.#watched.delete(id);
      }
    }
    await this.#pools.retire(folder);
  }

  async prepare(environment: {
    python: string;
    variables: Readonly<Record<string, string>>;
  }): Promise<void> {
    if (this.#platform === 'win32' || !isAbsolute(environment.python)) {
      return;
    }
    await this.#pools.prepare({
      python: environment.python,
      environment: launchEnvironment(
        this.#clean(environment.python),
        environment.variables
      )
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    if (this.#looking !== null) {
      clearInterval(this.#looking);
      this.#looking = null;
    }
    this.#watched.clear();
    this.#listener = () => undefined;
    return this.#pools.close();
  }

  // -- request ------------------------------------------------------------------------------

  #clean(python: string): Record<string, string> {
    return cleanEnvironment(this.#options.environment ?? process.env, python);
  }

  #need(launch: JobIntent['launches'][number]) {
    const python = launch.argv[0] ?? '';
    return {
      python,
      environment: launchEnvironment(this.#clean(python), launch.environment)
    };
  }

  #poolName(intent: JobIntent): string {
    const launch = intent.launches[0];
    return launch === undefined
      ? ''
      : this.#pools.nameFor(intent.folder, this.#need(launch));
  }

  #checkPools(intent: JobIntent): RequestResult | null {
    const names = new Set(
      intent.launches.map(launch =>
        this.#pools.nameFor(intent.folder, this.#need(launch))
      )
    );
    return names.size === 1
      ? null
      : {
          type: 'rejected',
          reasonClass: 'syntax',
          message:
            'the processes of one job need the same interpreter and the same variables that are read at its start'
        };
  }

  /** Intents of one cluster and one pool. */
  async #requestBatch(intents: readonly JobIntent[]): Promise<RequestResult[]> {
    const [first] = intents;
    const launch = first?.launches[0];
    if (first === undefined || launch === undefined) {
      return [];
    }
    const known = await this.#startedElsewhere(first.folder, intents);
    const fresh = intents.filter(intent => !known.has(intent));
    const answers = new Map<JobIntent, RequestResult>(known);
    if (fresh.length > 0) {
      let pool: OpenPool;
      try {
        pool = await this.#pools.ensure(first.folder, this.#need(launch));
        await makePrivateFolder(join(first.folder, 'logs'));
      } catch (error) {
        const refusal = refusalOf(error);
        fresh.forEach(intent => answers.set(intent, refusal));
        return intents.map(intent => answers.get(intent) ?? refusal);
      }
      for (const [intent, answer] of await this.#start(pool, fresh)) {
        answers.set(intent, answer);
      }
    }
    return intents.map(
      intent =>
        answers.get(intent) ?? { type: 'uncertain', message: 'no answer' }
    );
  }

  /**
   * Jobs another pool of this cluster has started: one of an older program text, or one that is
   * being ended. The same request must find them rather than start them twice.
   */
  async #startedElsewhere(
    folder: string,
    intents: readonly JobIntent[]
  ): Promise<Map<JobIntent, RequestResult>> {
    const found = new Map<JobIntent, RequestResult>();
    const folders = await this.#pools.poolFolders(folder).catch(() => []);
    for (const poolFolder of folders) {
      const processes = await readJournal(join(poolFolder, 'journal.jsonl'));
      for (const intent of intents) {
        const own = intent.launches.flatMap(
          ({ id }) =>
            processes.find(
              process => process.id === id && process.attempt === intent.attempt
            ) ?? []
        );
        if (own.length > 0 && own.length === intent.launches.length) {
          const name = poolFolder.slice(poolFolder.lastIndexOf('/') + 1);
          found.set(intent, await this.#accept(intent, name, own));
        }
      }
    }
    return found;
  }

  async #start(
    pool: OpenPool,
    intents: readonly JobIntent[]
  ): Promise<Map<JobIntent, RequestResult>> {
    const answers = new Map<JobIntent, RequestResult>();
    const timeoutMs = this.#options.startTimeoutMs ?? 120_000;
    const launches = intents.flatMap(intent => this.#launches(intent));
    let reply;
    try {
      reply = await pool.client.start(launches, timeoutMs);
    } catch (error) {
      const refusal: RequestResult =
        error instanceof PoolRequestError &&
        ['closed', 'timeout', 'bad-reply'].includes(error.code)
          ? { type: 'uncertain', message: error.message }
          : refusalOf(error);
      return new Map(intents.map(intent => [intent, refusal]));
    }
    let next = 0;
    let started = false;
    for (const intent of intents) {
      const own = reply.results.slice(next, next + intent.launches.length);
      next += intent.launches.length;
      const processes = own.flatMap(result =>
        'process' in result ? [result.process] : []
      );
      const failed = own.find(result => 'error' in result);
      if (failed !== undefined && 'error' in failed) {
        await Promise.all(
          processes.map(process => pool.client.terminate(process, 0, timeoutMs))
        );
        answers.set(
          intent,
          refusalOf(
            Object.assign(new Error(failed.error), { errno: failed.errno })
          )
        );
        continue;
      }
      started ||= processes.some(process => process.mode === 'exec');
      answers.set(intent, await this.#accept(intent, pool.name, processes));
    }
    const [intent] = intents;
    if (reply.fallback !== null && started && intent !== undefined) {
      this.#tellFallback(intent.cluster, pool.folder, reply.fallback);
    }
    // A process may have ended before its handle was known here.
    void this.#checkWatched(pool.folder);
    return answers;
  }

  #launches(intent: JobIntent): PoolLaunch[] {
    return intent.launches.map(launch => {
      const paths = pathsOf(intent.folder, launch.id);
      const { argv, wrapped } = wrapArgv(intent, launch.argv);
      return {
        id: launch.id,
        attempt: intent.attempt,
        token: intent.token,
        argv,
        environment: this.#need(launch).environment,
        stdout: paths.stdout,
        stderr: paths.stderr,
        cwd: homedir(),
        limit: launch.memoryLimit,
        wrapped
      };
    });
  }

  async #accept(
    intent: Pick<JobIntent, 'folder' | 'cluster' | 'attempt'>,
    pool: string,
    processes: readonly PoolProcess[]
  ): Promise<RequestResult> {
    const handle = await this.#handle(intent, pool, processes);
    const data = localHandleData(handle);
    if (data === null) {
      return { type: 'uncertain', message: 'the handle cannot be read back' };
    }
    this.#watched.set(handle.nativeId, { handle, data });
    return { type: 'accepted', handle };
  }

  async #handle(
    intent: Pick<JobIntent, 'folder' | 'cluster' | 'attempt'>,
    pool: string,
    processes: readonly PoolProcess[]
  ): Promise<Handle> {
    return localHandle({
      host: this.#host,
      bootId: await this.#inspection.bootId(),
      pidNamespace: await readlink('/proc/self/ns/pid').catch(() => ''),
      folder: intent.folder,
      pool,
      cluster: intent.cluster,
      attempt: intent.attempt,
      processes: processes.map(({ id, pid, startTime }) => ({
        launch: id,
        pid,
        startTime
      }))
    });
  }

  #tellFallback(cluster: ClusterId, folder: string, message: string): void {
    if (!this.#toldFallback.has(folder)) {
      this.#toldFallback.add(folder);
      this.#listener({
        type: 'changed',
        note: { code: 'pool-fallback', cluster, message }
      });
    }
  }

  // -- release ------------------------------------------------------------------------------

  /** null: on its way out. */
  async #end(
    data: LocalHandleData,
    facts: readonly ProcessFacts[],
    graceSeconds: number
  ): Promise<string | null> {
    const reach = await this.#pools.reach(join(data.folder, 'pool', data.pool));
    const messages = await Promise.all(
      data.processes.map(async (own, index) => {
        if (facts[index]?.state === 'ended') {
          return null;
        }
        if (reach.type === 'connected') {
          try {
            const known = await reach.client.terminate(
              { id: own.launch, pid: own.pid, startTime: own.startTime },
              graceSeconds,
              this.#options.answerTimeoutMs ?? 10_000
            );
            if (known !== null) {
              return null;
            }
          } catch {
            // The pool died meanwhile: directly, then.
          }
        }
        return endDirectly(this.#inspection, own, graceSeconds);
      })
    );
    return messages.find(message => message !== null) ?? null;
  }

  // -- observe ------------------------------------------------------------------------------

  #observation(
    handle: Handle,
    data: LocalHandleData,
    facts: JobFacts & { type: 'known' }
  ): JobObservation {
    const { processes } = facts;
    const started = processes.flatMap(({ started }) => started ?? []).sort();
    const common = {
      handle,
      host: data.host,
      startedAt: started[0] ?? null,
      deadline: null
    };
    const living = processes.filter(({ state }) => state !== 'ended');
    if (living.length > 0) {
      const stopping = living.every(({ state }) => state === 'stopping');
      return {
        ...common,
        phase: stopping ? 'stopping' : 'running',
        nativeState: stopping ? 'stopping' : 'running',
        reason:
          living.length < processes.length
            ? `${processes.length - living.length} of ${processes.length} processes have ended`
            : null,
        exit: null,
        endedAt: null
      };
    }
    const end = jobEnd(processes);
    const ended = processes.flatMap(process => process.ended ?? []).sort();
    return {
      ...common,
      phase: 'ended',
      outcome: end.outcome,
      nativeState: 'ended',
      reason: end.message,
      exit: end.exit,
      endedAt: ended.at(-1) ?? null
    };
  }

  async #search(
    tokens: readonly { token: string; folder: string }[]
  ): Promise<{ complete: boolean; found: Observation['foreign'] }> {
    const found: { token: string; handle: Handle; phase: JobPhase }[] = [];
    let complete = true;
    for (const { token, folder } of tokens) {
      const cluster = token.split('-')[1] as ClusterId | undefined;
      for (const poolFolder of await this.#pools.poolFolders(folder)) {
        // A start is in the journal before the process runs: nothing is missed.
        const own = (
          await readJournal(join(poolFolder, 'journal.jsonl'))
        ).filter(process => process.token === token);
        const attempt = Math.max(...own.map(process => process.attempt));
        const processes = own.filter(process => process.attempt === attempt);
        if (processes.length === 0 || cluster === undefined) {
          continue;
        }
        const name = poolFolder.slice(poolFolder.lastIndexOf('/') + 1);
        const handle = await this.#handle(
          { folder, cluster, attempt },
          name,
          processes
        );
        const data = localHandleData(handle);
        const facts =
          data === null ? undefined : (await this.#facts.of([data])).get(data);
        if (data === null || facts?.type !== 'known') {
          complete = false;
          continue;
        }
        found.push({
          token,
          handle,
          phase: this.#observation(handle, data, facts).phase
        });
      }
    }
    return { complete, found };
  }

  // -- events -------------------------------------------------------------------------------

  #onExit(poolFolder: string, ended: PoolProcess): void {
    const concerned = [...this.#watched.values()].some(
      ({ data }) =>
        poolFolder === join(data.folder, 'pool', data.pool) &&
        data.processes.some(own => own.launch === ended.id)
    );
    if (concerned) {
      void this.#checkWatched(poolFolder);
    }
  }

  async #onPoolLost(poolFolder: string): Promise<void> {
    await this.#checkWatched(poolFolder);
    const left = [...this.#watched.values()].some(
      ({ data }) => poolFolder === join(data.folder, 'pool', data.pool)
    );
    if (left) {
      this.#listener({ type: 'changed' });
      this.#look();
      try {
        await this.#pools.revive(poolFolder);
      } catch {
        // They go on without a pool, and are looked at every second.
      }
    }
  }

  /** Tell the ends of one pool's watched jobs; null: of those whose pool cannot tell us. */
  async #checkWatched(poolFolder: string | null): Promise<void> {
    const watched = [...this.#watched.values()].filter(({ data }) => {
      const own = join(data.folder, 'pool', data.pool);
      return poolFolder === null
        ? !this.#pools.isConnected(own)
        : poolFolder === own;
    });
    try {
      const facts = await this.#facts.of(watched.map(({ data }) => data));
      for (const { handle, data } of watched) {
        const found = facts.get(data);
        if (
          found?.type === 'known' &&
          found.processes.every(({ state }) => state === 'ended')
        ) {
          await this.#tellEnded(handle, data, found.processes);
        }
      }
    } catch {
      // A look that failed is no fact; the next one is at most a moment away.
    }
    this.#look();
  }

  async #tellEnded(
    handle: Handle,
    data: LocalHandleData,
    processes: readonly ProcessFacts[]
  ): Promise<void> {
    if (!this.#watched.delete(handle.nativeId)) {
      return; // Told already.
    }
    const end = jobEnd(processes);
    const logTail = await this.#tail(data.folder, end.launch);
    this.#listener({
      type: 'ended',
      handle,
      outcome: end.outcome,
      exit: end.exit,
      message: end.message,
      logTail
    });
  }

  async #tail(folder: string, launch: string): Promise<string> {
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

  /** Look by ourselves as long as something is watched whose pool cannot tell us. */
  #look(): void {
    if (this.#closed || this.#watched.size === 0) {
      if (this.#looking !== null) {
        clearInterval(this.#looking);
        this.#looking = null;
      }
      return;
    }
    this.#looking ??= setInterval(() => {
      void this.#checkWatched(null);
    }, this.#options.lookEveryMs ?? 1000).unref();
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}
