/**
 * The polite drain (§2.6): cordon, wait for running tasks, remove; and the ladder when a deadline
 * is missed. `retire_workers` alone is none: it moves data but throws running tasks away (H9).
 */
import { isClean, lostTasksOf, type Removal } from './event.js';
import type {
  DrainResult,
  SchedulerIdentity,
  SchedulerWorker
} from './scheduler-link.js';
import { LinkError } from './wire/errors.js';

/** What a drain needs of the link. */
export type DrainPort = {
  retire(
    addresses: readonly string[],
    options: { remove: boolean; stimulusId: string; deadlineMs: number }
  ): Promise<string[]>;
  processing(addresses: readonly string[]): Promise<Map<string, number>>;
  identity(): Promise<SchedulerIdentity>;
  unregister(address: string, stimulusId: string): Promise<void>;
  /** How it left, by its event (H17); null while it is there or nothing is known. */
  removal(address: string): Removal | null;
  /** Until all of these have left, or the time is over. */
  untilRemoved(addresses: readonly string[], timeoutMs: number): Promise<void>;
  /** A fresh snapshot with the history of events, after a loss (H10). */
  reconcile(): Promise<void>;
  /** Until the link is connected (again), or the time is over. */
  untilConnected(timeoutMs: number): Promise<void>;
  now(): number;
  sleep(ms: number): Promise<void>;
};

export type DrainOptions = {
  /** For running tasks to end; each step of the ladder gets as much, within bounds. */
  deadlineMs: number;
  /** Seen in the scheduler's log and events. */
  stimulusId: string;
};

const STEP_MIN_MS = 5_000;
const STEP_MAX_MS = 120_000;
/** From the reply of a removal to its event, which comes on another comm. */
const EVENT_WAIT_MS = 5_000;
const POLL_MIN_MS = 250;
/** A full identity costs the scheduler per worker: polled ever slower in large clusters. */
const POLL_MS_PER_WORKER = 5;

/**
 * Drains several at once: they do not copy data onto each other. Every address gets its result;
 * errors of the scheduler become steps of the ladder, never exceptions.
 */
export async function drainWorkers(
  port: DrainPort,
  addresses: readonly string[],
  options: DrainOptions
): Promise<Map<string, DrainResult>> {
  return new Drain(port, options).run([...new Set(addresses)]);
}

class Drain {
  constructor(port: DrainPort, options: DrainOptions) {
    this._port = port;
    this._options = options;
    this._stepMs = stepDeadline(options.deadlineMs);
  }

  async run(addresses: string[]): Promise<Map<string, DrainResult>> {
    this._left = addresses;
    if (this._left.length > 0) {
      await this._cordon();
    }
    for (let attempt = 1; attempt <= 2 && this._left.length > 0; attempt++) {
      await this._remove(attempt);
    }
    if (this._left.length > 0) {
      await this._force();
    }
    return this._results;
  }

  private async _cordon(): Promise<void> {
    const started = this._port.now();
    let retired = await this._retire(false);
    if (retired === null && !this._hung) {
      // The comm broke, the outcome is unknown, and a second cordon does no harm.
      await this._comeBack();
      retired = this._left.length === 0 ? [] : await this._retire(false);
    }
    this._settleDeparted();
    if (retired === null) {
      // Something hangs: waiting would not help, the removal decides.
      return;
    }
    const listed = new Set(retired);
    const missing = this._left.filter(address => !listed.has(address));
    if (missing.length > 0) {
      await this._settleMissing(missing);
    }
    await this._waitForTasks(started + this._options.deadlineMs);
  }

  /** Missing in a reply: refused if it is still there, else gone before we came. */
  private async _settleMissing(missing: readonly string[]): Promise<void> {
    const identity = await this._attempt('look', () => this._port.identity());
    this._settleDeparted();
    if (identity === null) {
      return;
    }
    const present = new Set(identity.workers.map(worker => worker.address));
    for (const address of missing) {
      if (this._left.includes(address)) {
        this._settle(
          address,
          present.has(address)
            ? { type: 'refused', message: REFUSED }
            : {
                type: 'lost',
                message: 'The scheduler does not know this worker (any more)',
                lostTasks: 0
              }
        );
      }
    }
  }

  /** Until nothing runs on them, or the deadline; the rest moves with the removal. */
  private async _waitForTasks(until: number): Promise<void> {
    const watch = new MetricsWatch();
    while (this._left.length > 0 && this._port.now() < until) {
      const assigned = await this._attempt('processing', () =>
        this._port.processing(this._left)
      );
      this._settleDeparted();
      let pollMs = POLL_MIN_MS;
      if (assigned !== null) {
        const busy = this._left.filter(
          address => (assigned.get(address) ?? 0) > 0
        );
        if (busy.length === 0) {
          return;
        }
        // Assigned, but perhaps only queued there: those stay stuck until the removal.
        const identity = await this._attempt('look', () =>
          this._port.identity()
        );
        if (identity !== null) {
          watch.see(identity.workers);
          if (busy.every(address => watch.isQuiet(address))) {
            return;
          }
          pollMs = Math.max(
            POLL_MIN_MS,
            identity.workers.length * POLL_MS_PER_WORKER
          );
        }
      }
      await this._port.sleep(
        Math.max(0, Math.min(pollMs, until - this._port.now()))
      );
    }
  }

  private async _remove(attempt: number): Promise<void> {
    const retired = await this._retire(true);
    if (retired === null) {
      await this._comeBack();
      if (this._left.length > 0) {
        this._note(
          attempt === 1 ? 'removal is tried once more' : 'it is forced out'
        );
      }
      return;
    }
    await this._port.untilRemoved(retired, EVENT_WAIT_MS);
    this._settleDeparted();
    const listed = new Set(retired);
    const missing = this._left.filter(address => !listed.has(address));
    if (missing.length > 0) {
      await this._settleMissing(missing);
    }
    if (this._left.length > 0) {
      // Listed as retired without an event: the listing proves nothing, the history may.
      await this._attempt('snapshot', () => this._port.reconcile());
      this._settleDeparted();
    }
  }

  /** After a loss: connected again, with a fresh snapshot (H10). */
  private async _comeBack(): Promise<void> {
    await this._port.untilConnected(this._stepMs);
    await this._attempt('snapshot', () => this._port.reconcile());
    this._settleDeparted();
  }

  private async _force(): Promise<void> {
    for (const address of this._left) {
      await this._attempt('unregister', () =>
        this._port.unregister(address, this._options.stimulusId)
      );
    }
    await this._port.untilRemoved(this._left, EVENT_WAIT_MS);
    for (const address of this._left) {
      const removal = this._port.removal(address);
      const lost = removal === null ? null : lostTasksOf(removal);
      this._results.set(address, {
        type: 'forced',
        message: `${[...this._notes].join('; ')}; ${
          lost === null
            ? 'the scheduler has not confirmed that it is gone'
            : `forced out, ${lost} tasks or results were lost`
        }`
      });
    }
    this._left = [];
  }

  private async _retire(remove: boolean): Promise<string[] | null> {
    return this._attempt(remove ? 'removal' : 'cordon', () =>
      this._port.retire(this._left, {
        remove,
        stimulusId: this._options.stimulusId,
        deadlineMs: this._stepMs
      })
    );
  }

  private async _attempt<T>(
    what: string,
    step: () => Promise<T>
  ): Promise<T | null> {
    try {
      return await step();
    } catch (error) {
      this._hung = error instanceof LinkError && error.kind === 'deadline';
      this._note(
        `${what} failed: ${error instanceof Error ? error.message : String(error)}`
      );
      return null;
    }
  }

  private _settleDeparted(): void {
    for (const address of this._left) {
      const removal = this._port.removal(address);
      if (removal !== null) {
        this._settle(address, judgeRemoval(removal));
      }
    }
  }

  private _settle(address: string, result: DrainResult): void {
    this._results.set(address, result);
    this._left = this._left.filter(other => other !== address);
  }

  private _note(text: string): void {
    this._notes.add(text);
  }

  private readonly _port: DrainPort;
  private readonly _options: DrainOptions;
  private readonly _stepMs: number;
  private readonly _results = new Map<string, DrainResult>();
  private readonly _notes = new Set<string>();
  private _left: string[] = [];
  /** The last failure was a missed deadline. */
  private _hung = false;
}

const REFUSED =
  'The scheduler did not let it go: it holds results that no other running worker can take, or an actor';

/** The deadline of one step: what the drain was given, within bounds. */
export function stepDeadline(deadlineMs: number): number {
  return Math.min(STEP_MAX_MS, Math.max(STEP_MIN_MS, deadlineMs));
}

/** Only this event is proof of a good end (H17). */
export function judgeRemoval(removal: Removal): DrainResult {
  if (isClean(removal)) {
    return { type: 'retired' };
  }
  const lostTasks = lostTasksOf(removal);
  return {
    type: 'lost',
    lostTasks,
    message: removal.expected
      ? `It left while ${removal.lostResults} results were only there`
      : `It died while it was being retired; ${lostTasks} tasks or results were lost`
  };
}

/**
 * Which workers run nothing, by their own metrics. Metrics seen right after the cordon may be older
 * than it, and the next ones may have been on their way: only those whose time has advanced twice
 * count. Their time is the worker's clock, so it is compared with itself alone.
 */
export class MetricsWatch {
  see(workers: readonly SchedulerWorker[]): void {
    for (const worker of workers) {
      const seen = this._seen.get(worker.address);
      const quiet = worker.executing === 0 && worker.longRunning === 0;
      if (seen === undefined) {
        this._seen.set(worker.address, {
          time: worker.metricsTime,
          advances: 0,
          quiet
        });
      } else {
        if (worker.metricsTime !== null && worker.metricsTime !== seen.time) {
          seen.advances += 1;
          seen.time = worker.metricsTime;
        }
        seen.quiet = quiet;
      }
    }
  }

  isQuiet(address: string): boolean {
    const seen = this._seen.get(address);
    return seen !== undefined && seen.advances >= 2 && seen.quiet;
  }

  private readonly _seen = new Map<
    string,
    { time: number | null; advances: number; quiet: boolean }
  >();
}
