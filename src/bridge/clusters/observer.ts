/**
 * One look at a backend for all clusters of it at a time (R13): soon while something is pending,
 * seldom when all is stable, at once when the backend says so. Single-flight.
 */
import type {
  BackendEvent,
  Handle,
  Observation,
  ResourceManager
} from '../../backends/resource-manager.js';

export type ObserverQuery = {
  handles: Handle[];
  tokens: { token: string; folder: string }[];
  /** Something is pending: look again soon. */
  pending: boolean;
};

export type ObserverOptions = {
  backend: ResourceManager;
  /** What is to be looked for now. */
  query: () => ObserverQuery;
  onObservation: (
    observation: Observation,
    query: ObserverQuery
  ) => Promise<void>;
  onEvent: (event: BackendEvent) => void;
  /** The backend did not answer; nothing about any job is concluded. */
  onUnreachable: (message: string) => void;
  random?: () => number;
};

const PENDING_MS = 2_000;
const STABLE_MS = 30_000;
/** Looks that users or events ask for are at least this far apart. */
const FLOOR_MS = 250;
const OBSERVE_DEADLINE_MS = 60_000;

export class Observer {
  constructor(options: ObserverOptions) {
    this._options = options;
    this._random = options.random ?? Math.random;
    options.backend.onEvent(event => {
      if (this._closed) {
        return;
      }
      options.onEvent(event);
      if (event.type === 'changed') {
        this.soon();
      }
    });
  }

  /** Look soon; wishes within a short time are one look. */
  soon(): void {
    const since = performance.now() - this._lastLook;
    this._schedule(Math.max(0, FLOOR_MS - since));
  }

  /** Look now; joins a look that is under way. Never rejects. */
  look(): Promise<void> {
    this._flight ??= this._look().finally(() => {
      this._flight = null;
    });
    return this._flight;
  }

  async close(): Promise<void> {
    this._closed = true;
    if (this._timer !== null) {
      clearTimeout(this._timer);
    }
    await this._flight;
  }

  private async _look(): Promise<void> {
    this._lastLook = performance.now();
    const query = this._options.query();
    try {
      if (query.handles.length > 0 || query.tokens.length > 0) {
        const observation = await withDeadline(
          this._options.backend.observe({
            handles: query.handles,
            tokens: query.tokens
          }),
          OBSERVE_DEADLINE_MS
        );
        await this._options.onObservation(observation, query);
      }
      this._interval = query.pending
        ? PENDING_MS
        : Math.min(STABLE_MS, Math.max(PENDING_MS, this._interval * 2));
    } catch (error) {
      this._options.onUnreachable(
        error instanceof Error ? error.message : String(error)
      );
      this._interval = Math.min(
        STABLE_MS,
        Math.max(PENDING_MS, this._interval * 2)
      );
    }
    if (
      !this._closed &&
      (query.handles.length > 0 || query.tokens.length > 0)
    ) {
      this._schedule(this._interval * (0.9 + 0.2 * this._random()));
    }
  }

  private _schedule(delayMs: number): void {
    if (this._closed) {
      return;
    }
    const due = performance.now() + delayMs;
    if (this._timer !== null) {
      if (this._due <= due) {
        return;
      }
      clearTimeout(this._timer);
    }
    this._due = due;
    this._timer = setTimeout(() => {
      this._timer = null;
      void this.look();
    }, delayMs);
    this._timer.unref();
  }

  private readonly _options: ObserverOptions;
  private readonly _random: () => number;
  private _timer: NodeJS.Timeout | null = null;
  private _due = Infinity;
  private _interval = PENDING_MS;
  private _lastLook = -Infinity;
  private _flight: Promise<void> | null = null;
  private _closed = false;
}

export async function withDeadline<T>(
  promise: Promise<T>,
  ms: number
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${Math.round(ms / 1000)} s`));
    }, ms);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
