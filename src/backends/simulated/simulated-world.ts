/**
 * A resource manager that exists only in memory, for tests of the bridge's core and of the
 * conformance suite; never listed to users. It has its own clock, a queue, a capacity, and faults
 * that are asked for one by one. It outlives the instances that drive it, as a real one does.
 */
import type { JobOutcome, JobPhase } from '../../protocol/index.js';
import type { Exit, Handle, JobIntent } from '../resource-manager.js';

export type SimulatedJob = {
  nativeId: string;
  token: string;
  attempt: number;
  intent: JobIntent;
  phase: Exclude<JobPhase, 'submitting' | 'uncertain'>;
  outcome: JobOutcome | null;
  exit: Exit | null;
  reason: string | null;
  submittedAt: number;
  /** When it was granted; it runs `startMs` later. */
  grantedAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  /** When the manager will end it. */
  deadline: number | null;
  stderr: string;
};

export type WorldEvent =
  | { type: 'changed' }
  | { type: 'ended'; job: SimulatedJob }
  | {
      type: 'reclaiming';
      job: SimulatedJob;
      reason: 'walltime' | 'preempt' | 'maintenance';
      certainty: 'likely' | 'firm';
    }
  | { type: 'reclaiming-withdrawn'; job: SimulatedJob };

export type SimulatedWorldOptions = {
  /** Milliseconds since 1970 at which its clock stands first. */
  start?: number;
  /** From submission to the grant, where there is room. */
  queueMs?: number;
  /** From the grant to running. */
  startMs?: number;
  /** Jobs granted at once. */
  capacity?: number;
};

/** Asked for by a test; counts go down by one with every use. */
export type SimulatedFaults = {
  /** Requests that take effect, but whose answers are lost. */
  lostAnswers: number;
  /** Nobody answers. */
  unreachable: boolean;
  /** Observations that are empty though complete, as of a manager that has just restarted. */
  emptyListings: number;
  /** Native id → observations that lack it. */
  hidden: Map<string, number>;
  /** The next jobs are refused with this message. */
  refusals: string[];
  /** The next jobs end as soon as they have started. */
  crashes: number;
};

export class SimulatedWorld {
  constructor(options: SimulatedWorldOptions = {}) {
    this.#now = options.start ?? Date.UTC(2026, 0, 1);
    this.#queueMs = options.queueMs ?? 0;
    this.#startMs = options.startMs ?? 0;
    this.capacity = options.capacity ?? Number.POSITIVE_INFINITY;
  }

  readonly faults: SimulatedFaults = {
    lostAnswers: 0,
    unreachable: false,
    emptyListings: 0,
    hidden: new Map(),
    refusals: [],
    crashes: 0
  };
  readonly jobs = new Map<string, SimulatedJob>();
  capacity: number;
  readonly #queueMs: number;
  readonly #startMs: number;
  readonly #listeners = new Set<(event: WorldEvent) => void>();
  #now: number;
  #next = 1;

  get now(): number {
    return this.#now;
  }

  /** Every instance that watches; returns how to stop. */
  watch(listener: (event: WorldEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Let time pass: jobs are granted, start, and end by their deadlines. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
    this.settle();
  }

  /** What the present moment brings. */
  settle(): void {
    let changed = false;
    for (const job of this.jobs.values()) {
      changed = this.#step(job) || changed;
    }
    if (changed) {
      this.#tell({ type: 'changed' });
    }
  }

  submit(intent: JobIntent): SimulatedJob {
    const known = [...this.jobs.values()].find(
      job => job.token === intent.token && job.attempt === intent.attempt
    );
    if (known !== undefined) {
      return known;
    }
    const job: SimulatedJob = {
      nativeId: String(this.#next++),
      token: intent.token,
      attempt: intent.attempt,
      intent,
      phase: 'queued',
      outcome: null,
      exit: null,
      reason: 'waiting for resources',
      submittedAt: this.#now,
      grantedAt: null,
      startedAt: null,
      endedAt: null,
      deadline: null,
      stderr: ''
    };
    this.jobs.set(job.nativeId, job);
    this.settle();
    return job;
  }

  /** The job a handle means, if it is that very one. */
  find(handle: Handle): SimulatedJob | null {
    const job = this.jobs.get(handle.nativeId);
    return job !== undefined && job.token === handle.data['token'] ? job : null;
  }

  get(nativeId: string): SimulatedJob {
    const job = this.jobs.get(nativeId);
    if (job === undefined) {
      throw new RangeError(`there is no simulated job ${nativeId}`);
    }
    return job;
  }

  /** End a job as a test wants it. */
  end(
    nativeId: string,
    how: {
      outcome: JobOutcome;
      exit?: Exit | null;
      reason?: string;
      stderr?: string;
    }
  ): void {
    const job = this.get(nativeId);
    if (job.phase === 'ended') {
      return;
    }
    job.phase = 'ended';
    job.outcome = how.outcome;
    job.exit = how.exit ?? null;
    job.reason = how.reason ?? null;
    job.stderr += how.stderr ?? '';
    job.endedAt = this.#now;
    this.#tell({ type: 'ended', job });
    this.settle();
  }

  /** The manager announces that it takes the job back; at the time said, it does. */
  reclaim(
    nativeId: string,
    how: {
      afterMs: number;
      reason: 'walltime' | 'preempt' | 'maintenance';
      certainty?: 'likely' | 'firm';
    }
  ): void {
    const job = this.get(nativeId);
    job.deadline = this.#now + how.afterMs;
    this.#tell({
      type: 'reclaiming',
      job,
      reason: how.reason,
      certainty: how.certainty ?? 'firm'
    });
  }

  withdraw(nativeId: string): void {
    const job = this.get(nativeId);
    job.deadline = null;
    this.#tell({ type: 'reclaiming-withdrawn', job });
  }

  /** Hold back, or suspend: whatever a manager's operator may do. */
  setPhase(
    nativeId: string,
    phase: 'held' | 'queued' | 'suspended' | 'running'
  ): void {
    this.get(nativeId).phase = phase;
    this.#tell({ type: 'changed' });
    this.settle();
  }

  /** A job of somebody else, not asked for by anyone here. */
  addForeign(intent: JobIntent): SimulatedJob {
    return this.submit(intent);
  }

  #step(job: SimulatedJob): boolean {
    const before = job.phase;
    if (
      job.phase === 'queued' &&
      this.#now >= job.submittedAt + this.#queueMs &&
      this.#granted() < this.capacity
    ) {
      job.phase = 'starting';
      job.reason = null;
      job.grantedAt = this.#now;
    }
    if (
      job.phase === 'starting' &&
      this.#now >= (job.grantedAt ?? this.#now) + this.#startMs
    ) {
      job.phase = 'running';
      job.startedAt = this.#now;
      if (this.faults.crashes > 0) {
        this.faults.crashes--;
        job.phase = 'ended';
        job.outcome = 'failed';
        job.exit = { code: 1, signal: null };
        job.endedAt = this.#now;
        job.stderr = 'it crashed at once\n';
        this.#tell({ type: 'ended', job });
      }
    }
    if (
      job.deadline !== null &&
      this.#now >= job.deadline &&
      job.phase !== 'ended'
    ) {
      job.phase = 'ended';
      job.outcome = 'preempted';
      job.exit = { code: null, signal: 'SIGTERM' };
      job.endedAt = this.#now;
      this.#tell({ type: 'ended', job });
    }
    return job.phase !== before;
  }

  #granted(): number {
    return [...this.jobs.values()].filter(job =>
      ['starting', 'running', 'suspended', 'stopping'].includes(job.phase)
    ).length;
  }

  #tell(event: WorldEvent): void {
    for (const listener of [...this.#listeners]) {
      listener(event);
    }
  }
}
