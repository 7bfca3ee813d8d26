/** Drives a SimulatedWorld as a backend drives a real manager. Stateless: all is in the world. */
import { z } from 'zod';
import type {
  BackendCapabilities,
  ClusterId,
  JobId,
  JobPhase,
  WorkerId
} from '../../protocol/index.js';
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
import type {
  SimulatedJob,
  SimulatedWorld,
  WorldEvent
} from './simulated-world.js';

export type SimulatedOptions = {
  world: SimulatedWorld;
  name?: string;
  capabilities?: Partial<BackendCapabilities>;
};

const RETRY_MS = 1000;
const optionsSchema = z.strictObject({});

export class SimulatedResourceManager implements ResourceManager {
  constructor(options: SimulatedOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#unwatch = options.world.watch(event => {
      this.#onWorld(event);
    });
  }

  readonly #options: SimulatedOptions;
  readonly #world: SimulatedWorld;
  readonly #unwatch: () => void;
  #listener: (event: BackendEvent) => void = () => undefined;
  #closed = false;

  describe(): BackendDescription {
    return {
      name: this.#options.name ?? 'simulated',
      title: 'Simulated',
      optionsSchema,
      capabilities: {
        identity: 'named',
        pending: 'listed',
        exactRelease: true,
        reclaimNotice: 'push',
        exitCodes: true,
        history: true,
        tags: true,
        hostBound: false,
        schedulerPlacement: ['bridge', 'job'],
        gpus: true,
        estimateStart: false,
        ...this.#options.capabilities
      },
      limits: { workersPerJob: 32, jobsPerRequest: 1000, launcher: false }
    };
  }

  probe(): Promise<Probe> {
    return Promise.resolve(
      this.#world.faults.unreachable
        ? { available: false, reason: 'nobody answers', looked: {} }
        : { available: true, looked: {} }
    );
  }

  preview(intents: readonly JobIntent[]): JobPreview[] {
    return intents.map(({ launches }) => ({
      argv: [...(launches[0]?.argv ?? [])],
      script: null,
      environment: { ...launches[0]?.environment },
      notHonoured: [],
      warnings: []
    }));
  }

  request(intents: readonly JobIntent[]): Promise<RequestResult[]> {
    return Promise.resolve(intents.map(intent => this.#requestOne(intent)));
  }

  release(handles: readonly Handle[]): Promise<ReleaseResult[]> {
    return Promise.resolve(
      handles.map((handle): ReleaseResult => {
        if (this.#world.faults.unreachable) {
          return { type: 'unreachable', message: 'nobody answers' };
        }
        const job = this.#world.find(handle);
        if (job === null) {
          return { type: 'denied', message: 'this is not a job of ours' };
        }
        if (job.phase === 'ended') {
          return { type: 'already-gone' };
        }
        this.#world.end(job.nativeId, {
          outcome: 'cancelled',
          exit: { code: null, signal: 'SIGTERM' },
          reason: 'ended by Muster'
        });
        return { type: 'gone' };
      })
    );
  }

  observe(query: {
    handles: readonly Handle[];
    tokens: readonly { token: string; folder: string }[];
  }): Promise<Observation> {
    const { faults } = this.#world;
    const asOf = new Date(this.#world.now).toISOString();
    if (faults.unreachable) {
      return Promise.resolve({
        asOf,
        complete: false,
        jobs: new Map(),
        foreign: []
      });
    }
    if (faults.emptyListings > 0) {
      faults.emptyListings--;
      return Promise.resolve({
        asOf,
        complete: true,
        jobs: new Map(),
        foreign: []
      });
    }
    const jobs = new Map<string, JobObservation>();
    let complete = true;
    for (const handle of query.handles) {
      const job = this.#world.find(handle);
      if (job === null) {
        complete = false;
      } else if (!this.#isHidden(job)) {
        jobs.set(handle.nativeId, observationOf(handle, job));
      }
    }
    const foreign: { token: string; handle: Handle; phase: JobPhase }[] = [];
    for (const { token } of query.tokens) {
      for (const job of this.#world.jobs.values()) {
        if (job.token === token && !this.#isHidden(job)) {
          foreign.push({ token, handle: handleOf(job), phase: job.phase });
        }
      }
    }
    return Promise.resolve({ asOf, complete, jobs, foreign });
  }

  /** Standard output is the launch's arguments after `echo`, one per line. */
  logs(query: {
    handle: Handle;
    launch: WorkerId | JobId;
    folder: string;
    stream: LogStream;
    offset: number;
    limit: number;
  }): Promise<LogChunk> {
    const job = this.#world.find(query.handle);
    const argv = job?.intent.launches.find(
      ({ id }) => id === query.launch
    )?.argv;
    const text =
      query.stream === 'stderr'
        ? (job?.stderr ?? '')
        : argv?.[0] === 'echo'
          ? `${argv.slice(1).join('\n')}\n`
          : '';
    const bytes = Buffer.from(text);
    const start = Math.min(
      query.offset < 0
        ? Math.max(0, bytes.length + query.offset)
        : query.offset,
      bytes.length
    );
    const part = bytes.subarray(start, start + query.limit);
    return Promise.resolve({
      text: part.toString(),
      nextOffset: start + part.length
    });
  }

  onEvent(listener: (event: BackendEvent) => void): void {
    this.#listener = listener;
  }

  retireCluster(_cluster: ClusterId, _folder: string): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#unwatch();
    return Promise.resolve();
  }

  #requestOne(intent: JobIntent): RequestResult {
    const { faults } = this.#world;
    if (faults.unreachable) {
      return {
        type: 'unavailable',
        message: 'nobody answers',
        retryAfterMs: RETRY_MS
      };
    }
    const checked = optionsSchema.safeParse(intent.options);
    if (!checked.success) {
      return {
        type: 'rejected',
        reasonClass: 'syntax',
        message: 'there is no such option'
      };
    }
    const refusal = faults.refusals.shift();
    if (refusal !== undefined) {
      return { type: 'rejected', reasonClass: 'limit', message: refusal };
    }
    const job = this.#world.submit(intent);
    if (faults.lostAnswers > 0) {
      faults.lostAnswers--;
      return { type: 'uncertain', message: 'the answer was lost' };
    }
    return { type: 'accepted', handle: handleOf(job) };
  }

  #isHidden(job: SimulatedJob): boolean {
    const { hidden } = this.#world.faults;
    const left = hidden.get(job.nativeId) ?? 0;
    if (left > 0) {
      hidden.set(job.nativeId, left - 1);
    }
    return left > 0;
  }

  #onWorld(event: WorldEvent): void {
    if (this.#closed || this.#world.faults.unreachable) {
      return; // What happens meanwhile is seen by the next observation.
    }
    switch (event.type) {
      case 'changed':
        this.#listener({ type: 'changed' });
        return;
      case 'ended':
        this.#listener({
          type: 'ended',
          handle: handleOf(event.job),
          outcome: event.job.outcome ?? 'lost',
          exit: event.job.exit,
          message: event.job.reason,
          logTail: event.job.stderr.trimEnd().split('\n').slice(-20).join('\n')
        });
        return;
      case 'reclaiming':
        this.#listener({
          type: 'reclaiming',
          handle: handleOf(event.job),
          deadline: new Date(
            event.job.deadline ?? this.#world.now
          ).toISOString(),
          reason: event.reason,
          hostAlso: true,
          certainty: event.certainty
        });
        return;
      case 'reclaiming-withdrawn':
        this.#listener({
          type: 'reclaiming-withdrawn',
          handle: handleOf(event.job)
        });
        return;
      default:
        event satisfies never;
    }
  }
}

function handleOf(job: SimulatedJob): Handle {
  return {
    nativeId: job.nativeId,
    incarnation: 0,
    data: { token: job.token, attempt: job.attempt }
  };
}

function observationOf(handle: Handle, job: SimulatedJob): JobObservation {
  const time = (value: number | null) =>
    value === null ? null : new Date(value).toISOString();
  return {
    handle,
    phase: job.phase,
    ...(job.outcome === null ? {} : { outcome: job.outcome }),
    nativeState: job.phase.toUpperCase(),
    reason: job.reason,
    exit: job.exit,
    host: job.startedAt === null ? null : `node${job.nativeId}`,
    startedAt: time(job.startedAt),
    endedAt: time(job.endedAt),
    deadline: time(job.deadline)
  };
}
