/**
 * A keyed, deduplicated work queue: at most one pass of a key at a time, any number of wishes
 * while one runs make one more, a failing pass is tried again with full-jitter backoff.
 */
export type WorkQueueOptions = {
  work: (key: string) => Promise<void>;
  onError: (key: string, error: unknown) => void;
  random?: () => number;
};

type Slot = {
  running: boolean;
  again: boolean;
  timer: NodeJS.Timeout | null;
  due: number;
  failures: number;
};

const BASE_MS = 250;
const CAP_MS = 60_000;

export class WorkQueue {
  constructor(options: WorkQueueOptions) {
    this._work = options.work;
    this._onError = options.onError;
    this._random = options.random ?? Math.random;
  }

  /** Look at this key, now or after a while; the earliest wish wins. */
  enqueue(key: string, delayMs = 0): void {
    if (this._closed) {
      return;
    }
    let slot = this._slots.get(key);
    if (slot === undefined) {
      slot = {
        running: false,
        again: false,
        timer: null,
        due: Infinity,
        failures: 0
      };
      this._slots.set(key, slot);
    }
    if (slot.running && delayMs === 0) {
      slot.again = true;
      return;
    }
    const due = performance.now() + delayMs;
    if (slot.timer !== null && slot.due <= due) {
      return;
    }
    if (slot.timer !== null) {
      clearTimeout(slot.timer);
    }
    slot.due = due;
    slot.timer = setTimeout(
      () => {
        this._run(key, slot);
      },
      Math.min(delayMs, 2 ** 31 - 1)
    );
  }

  /** Forget a key; a pass that runs is not interrupted. */
  drop(key: string): void {
    const slot = this._slots.get(key);
    if (slot?.timer != null) {
      clearTimeout(slot.timer);
    }
    this._slots.delete(key);
  }

  /** No new passes; resolves when those that run have ended. */
  async close(): Promise<void> {
    this._closed = true;
    for (const key of [...this._slots.keys()]) {
      this.drop(key);
    }
    await Promise.allSettled(this._passes);
  }

  private _run(key: string, slot: Slot): void {
    slot.timer = null;
    slot.due = Infinity;
    if (slot.running) {
      slot.again = true;
      return;
    }
    slot.running = true;
    slot.again = false;
    const pass = this._work(key)
      .then(
        () => {
          slot.failures = 0;
        },
        (error: unknown) => {
          this._onError(key, error);
          slot.failures += 1;
          const backoff =
            this._random() * Math.min(CAP_MS, BASE_MS * 2 ** slot.failures);
          slot.running = false;
          this.enqueue(key, Math.max(1, backoff));
        }
      )
      .finally(() => {
        this._passes.delete(pass);
        slot.running = false;
        if (slot.again) {
          slot.again = false;
          this.enqueue(key);
        }
      });
    this._passes.add(pass);
  }

  private readonly _work: (key: string) => Promise<void>;
  private readonly _onError: (key: string, error: unknown) => void;
  private readonly _random: () => number;
  private readonly _slots = new Map<string, Slot>();
  private readonly _passes = new Set<Promise<void>>();
  private _closed = false;
}
