/** A lease we hold: renewed, looked at before every external write, given back (R7, R8). */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MusterError } from '../../protocol/index.js';
import {
  FENCE_MS,
  formatLease,
  LEASE_NAME,
  type LeaseRecord,
  LOOK_MS,
  type MonotonicClock,
  monotonic,
  readLease,
  RENEW_MS
} from './lease-record.js';

/** Longer than the two calls between which a lease can be missing by mistake. */
const GAP_MS = 200;

export type LeaseOptions = {
  folder: string;
  /** Called once when the lease is lost; the bridge ends with exit code 75 there. */
  onFenced(reason: string): void;
  clock?: MonotonicClock;
  wallClock?: () => number;
  /** Divides all times, for tests with real processes; 1 otherwise. */
  speed?: number;
};

/** A lease we hold. Renewed until `release` or until it is lost. */
export class Lease {
  constructor(options: LeaseOptions, record: LeaseRecord, renewedAt: number) {
    this.#options = options;
    this.#record = record;
    this.#clock = options.clock ?? monotonic;
    this.#wallClock = options.wallClock ?? Date.now;
    this.#speed = options.speed ?? 1;
    this.#renewedAt = renewedAt;
    this.#lookedAt = renewedAt;
    this.#lookedAtWall = this.#wallClock();
    this.#timer = setInterval(() => {
      this.#tick();
    }, RENEW_MS / this.#speed);
  }

  readonly #options: LeaseOptions;
  readonly #clock: MonotonicClock;
  readonly #wallClock: () => number;
  readonly #speed: number;
  readonly #timer: NodeJS.Timeout;
  #record: LeaseRecord;
  #renewedAt: number;
  #lookedAt: number;
  /** A suspended machine's monotonic clock may stand still; the wall's does not. */
  #lookedAtWall: number;
  #renewing: Promise<void> | null = null;
  #fenced: string | null = null;
  #released = false;
  #lastFailure: string | null = null;

  get epoch(): number {
    return this.#record.epoch;
  }

  get nonce(): string {
    return this.#record.nonce;
  }

  /** Why the last renewal did not succeed; null: it did. For health. */
  get trouble(): string | null {
    return this.#lastFailure;
  }

  /** The database's epoch was ahead (its lease file was lost once): the higher one counts. */
  async raiseEpoch(epoch: number): Promise<void> {
    if (epoch > this.#record.epoch) {
      this.#record = { ...this.#record, epoch };
      await this.renew();
    }
  }

  /**
   * Asked before every external write (R8c). false: nothing may be written any more, and `onFenced`
   * was called. Reads the file where the last look at it is older than LOOK_MS.
   * @throws MusterError `backend-unavailable` where it cannot be read just now: no write either.
   */
  async mayWrite(): Promise<boolean> {
    if (this.#fenced !== null || this.#released) {
      return false;
    }
    if (!this.#fresh()) {
      return this.#fence(
        `the lease could not be renewed for ${Math.round((this.#clock() - this.#renewedAt) / 1_000)} s${
          this.#lastFailure === null ? '' : `: ${this.#lastFailure}`
        }`
      );
    }
    const look = LOOK_MS / this.#speed;
    const old = this.#clock() - this.#lookedAt > look;
    // A jump of the wall clock triggers a look, nothing else (R14).
    const jumped =
      Math.abs(this.#wallClock() - this.#lookedAtWall) > look + LOOK_MS;
    if (old || jumped) {
      try {
        if (!(await this.#look())) {
          return false;
        }
      } catch (error) {
        // Not seen is not ours: no write now, but also not lost yet.
        this.#lastFailure = messageOf(error);
        throw new MusterError({
          code: 'backend-unavailable',
          message: `the lease of the state folder cannot be read: ${this.#lastFailure}`,
          hint: 'nothing was done; try again when the file system answers',
          cause: error
        });
      }
    }
    return !this.#isFenced() && this.#fresh();
  }

  /** Looks, then writes into our own name. Single-flight; errors are kept in `trouble`. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renewOnce().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  /** Gives the lease back, so that the next holder need not wait. Safe to repeat. */
  async release(): Promise<void> {
    if (this.#released) {
      return;
    }
    this.#released = true;
    clearInterval(this.#timer);
    await this.#renewing;
    if (this.#fenced === null && (await this.#look().catch(() => false))) {
      await this.#write({ ...this.#record, released: true });
    }
  }

  /** Asked anew after every wait: the timer may have fenced meanwhile. */
  #isFenced(): boolean {
    return this.#fenced !== null;
  }

  #fresh(): boolean {
    return this.#clock() - this.#renewedAt < FENCE_MS / this.#speed;
  }

  #tick(): void {
    if (!this.#fresh()) {
      this.#fence(
        `the lease could not be renewed in time${
          this.#lastFailure === null ? '' : `: ${this.#lastFailure}`
        }`
      );
      return;
    }
    void this.renew();
  }

  async #renewOnce(): Promise<void> {
    if (this.#fenced !== null || this.#released) {
      return;
    }
    const startedAt = this.#clock();
    try {
      if (!(await this.#look())) {
        return;
      }
      const record = { ...this.#record, renewals: this.#record.renewals + 1 };
      await this.#write(record);
      this.#record = { ...record, epoch: this.#record.epoch };
      // From before the write: what others saw change is not older than this.
      this.#renewedAt = startedAt;
      this.#lastFailure = null;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') {
        this.#fence('the lease was taken over (its file is gone)');
        return;
      }
      // EIO, ESTALE, ENOSPC: try again at the next tick, until FENCE_MS are over.
      this.#lastFailure = messageOf(error);
    }
  }

  /** Does the file still show our nonce? false: lost, and fenced. @throws where it cannot be read. */
  async #look(): Promise<boolean> {
    const startedAt = this.#clock();
    const wall = this.#wallClock();
    let sight = await readLease(this.#options.folder);
    if (sight.type === 'absent') {
      // A starter that judged an older lease may move ours and put it back in the next moment.
      await sleep(GAP_MS);
      sight = await readLease(this.#options.folder);
    }
    if (sight.type === 'absent') {
      return this.#fence('the lease was taken away');
    }
    if (sight.type === 'unreadable') {
      throw new Error('the lease file cannot be read');
    }
    if (sight.record.nonce !== this.#record.nonce) {
      return this.#fence(
        `the lease was taken over by ${sight.record.host} (pid ${sight.record.pid}, epoch ${sight.record.epoch})`
      );
    }
    this.#lookedAt = startedAt;
    this.#lookedAtWall = wall;
    return true;
  }

  /** In place, never creating: a name that is gone was taken over. */
  async #write(record: LeaseRecord): Promise<void> {
    const own = join(
      this.#options.folder,
      `${LEASE_NAME}.${this.#record.nonce}`
    );
    const file = await open(own, constants.O_WRONLY);
    try {
      const bytes = Buffer.from(formatLease(record));
      const { bytesWritten } = await file.write(bytes, 0, bytes.length, 0);
      if (bytesWritten !== bytes.length) {
        throw new Error('the lease was written only in part');
      }
      await file.sync();
    } finally {
      await file.close();
    }
  }

  #fence(reason: string): false {
    if (this.#fenced === null && !this.#released) {
      this.#fenced = reason;
      clearInterval(this.#timer);
      this.#options.onFenced(reason);
    }
    return false;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

function messageOf(error: unknown): string {
  return String((error as { message?: unknown } | null)?.message ?? error);
}
