/**
 * The lease: which bridge owns a state folder, decided between hosts (specs/reliability-and-
 * security.md R7, R8). On one host the database's lock and the socket decide.
 *
 * The file `lease` is a hard link of the holder's own `lease.<nonce>`. A holder renews by writing
 * into its own name, so a holder that was paused while another took over writes into a file nobody
 * looks at, never over the new holder's. Observers use only their own monotonic clock.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  link,
  lstat,
  open,
  readdir,
  readFile,
  rename,
  unlink
} from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import { MusterError } from '../../protocol/index.js';
import { createPrivateFile, verifyPrivateFile } from './private-files.js';

export const LEASE_NAME = 'lease';
export const RENEW_MS = 5_000;
/** A lease is over when an observer saw no change for this long. */
export const EXPIRY_MS = 30_000;
/** A holder whose last renewal is older than this writes nothing any more. */
export const FENCE_MS = 20_000;
/** How long the sight of our own nonce in the file counts. */
export const LOOK_MS = 5_000;

export const leaseRecordSchema = z.object({
  epoch: z.int().nonnegative(),
  host: z.string(),
  bootId: z.string(),
  /** Of the holder's container, where there is such a thing: pids mean nothing outside. */
  pidNamespace: z.string().nullable(),
  pid: z.int().positive(),
  /** As `processStartTime` says it. */
  startTime: z.string(),
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  /** Grows with every renewal: what observers see change. */
  renewals: z.int().nonnegative(),
  /** Given back by its holder: free at once. */
  released: z.boolean()
});

export type LeaseRecord = z.infer<typeof leaseRecordSchema>;

/** The holder, as it describes itself. */
export type LeaseHolder = Pick<
  LeaseRecord,
  'host' | 'bootId' | 'pidNamespace' | 'pid' | 'startTime'
>;

/** Milliseconds that never go back; `performance.now` outside tests. */
export type MonotonicClock = () => number;

/** One renewal is one write of this many bytes, so that a reader does not meet half of two. */
const RECORD_BYTES = 1_024;

/** The lease in a state folder; null: there is none. A half-written or foreign one: `unreadable`. */
export type LeaseSight =
  | { type: 'absent' }
  | { type: 'held'; record: LeaseRecord; text: string }
  | { type: 'unreadable'; text: string };

/** @throws MusterError `forbidden` where others can read or write it (S15); the system's own errors. */
export async function readLease(folder: string): Promise<LeaseSight> {
  const path = join(folder, LEASE_NAME);
  let text: string;
  try {
    verifyPrivateFile(path);
    // Opened anew each time: that is when NFS asks the server (R11).
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return { type: 'absent' };
    }
    throw error;
  }
  const record = leaseRecordSchema.safeParse(parseJson(text));
  return record.success
    ? { type: 'held', record: record.data, text }
    : { type: 'unreadable', text };
}

export type Observation = {
  sight: LeaseSight;
  /** For how long this observer has seen exactly this. */
  unchangedMs: number;
  /** Nobody renewed it for EXPIRY_MS of this observer's clock, or it was given back. */
  expired: boolean;
};

/** Watches another's lease. Its first look starts the clock: an old file is not an expired one. */
export class LeaseObserver {
  constructor(
    private readonly folder: string,
    private readonly options: {
      clock?: MonotonicClock;
      expiryMs?: number;
    } = {}
  ) {}

  #seen: { text: string; since: number } | null = null;

  async look(): Promise<Observation> {
    const now = (this.options.clock ?? monotonic)();
    const sight = await readLease(this.folder);
    if (sight.type === 'absent') {
      this.#seen = null;
      return { sight, unchangedMs: 0, expired: true };
    }
    if (this.#seen?.text !== sight.text) {
      this.#seen = { text: sight.text, since: now };
    }
    const unchangedMs = now - this.#seen.since;
    return {
      sight,
      unchangedMs,
      expired:
        (sight.type === 'held' && sight.record.released) ||
        unchangedMs >= (this.options.expiryMs ?? EXPIRY_MS)
    };
  }
}

export type LeaseOptions = {
  folder: string;
  holder: LeaseHolder;
  /** What was seen and found free: absent, expired, or its holder positively dead. */
  over: LeaseSight;
  /** Called once when the lease is lost; the bridge ends with exit code 75 there. */
  onFenced(reason: string): void;
  clock?: MonotonicClock;
  wallClock?: () => number;
  /** Divides all times, for tests with real processes; 1 otherwise. */
  speed?: number;
};

/**
 * Takes the lease where it is still exactly what `over` says.
 * @returns null where somebody else was faster: look again.
 */
export async function takeLease(options: LeaseOptions): Promise<Lease | null> {
  const { folder, over } = options;
  const nonce = randomBytes(16).toString('hex');
  const record: LeaseRecord = {
    ...options.holder,
    epoch: (over.type === 'held' ? over.record.epoch : 0) + 1,
    nonce,
    renewals: 0,
    released: false
  };
  const own = join(folder, `${LEASE_NAME}.${nonce}`);
  const path = join(folder, LEASE_NAME);
  createPrivateFile(own, format(record));
  const startedAt = (options.clock ?? monotonic)();
  try {
    if (over.type !== 'absent' && !(await moveAway(folder, nonce, over))) {
      await removeIfThere(own);
      return null;
    }
    let refusal: unknown = null;
    try {
      await link(own, path);
    } catch (error) {
      // On NFS the answer may be lost although the link was made: only the count tells.
      refusal = error;
    }
    if ((await lstat(own)).nlink !== 2) {
      if (refusal !== null && codeOf(refusal) !== 'EEXIST') {
        throw refusal;
      }
      await removeIfThere(own);
      return null;
    }
  } catch (error) {
    await removeIfThere(own);
    throw error;
  }
  if (over.type === 'held') {
    await removeIfThere(join(folder, `${LEASE_NAME}.${over.record.nonce}`));
  }
  await removeStrays(folder, nonce);
  return new Lease(options, record, startedAt);
}

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
    return this.#fenced === null && this.#fresh();
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
    const sight = await readLease(this.#options.folder);
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
      const bytes = Buffer.from(format(record));
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

/**
 * Moves the old lease out of the way, if it is still the one that was judged.
 * @returns false where it is not: whatever was moved by mistake is put back.
 */
async function moveAway(
  folder: string,
  nonce: string,
  over: Exclude<LeaseSight, { type: 'absent' }>
): Promise<boolean> {
  const path = join(folder, LEASE_NAME);
  const aside = join(folder, `${LEASE_NAME}.old-${nonce}`);
  try {
    await rename(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return true;
    }
    throw error;
  }
  const found = await readFile(aside, 'utf8');
  if (found === over.text) {
    await removeIfThere(aside);
    return true;
  }
  // Renewed or taken in this very moment. Its holder may notice the gap and end itself: safe.
  try {
    await link(aside, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') {
      throw error;
    }
  }
  await removeIfThere(aside);
  return false;
}

/** Names left by holders and takers that were killed; a live holder's name is never touched. */
async function removeStrays(folder: string, nonce: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const match = /^lease\.(?:old-)?([0-9a-f]{32})$/.exec(name);
    if (match === null || match[1] === nonce) {
      continue;
    }
    const path = join(folder, name);
    // A taker just now at work has a young file; ages are compared on the server's clock only.
    const [stray, own] = await Promise.all([
      lstat(path).catch(() => null),
      lstat(join(folder, `${LEASE_NAME}.${nonce}`))
    ]);
    if (stray !== null && own.mtimeMs - stray.mtimeMs > 10 * EXPIRY_MS) {
      await removeIfThere(path);
    }
  }
}

function format(record: LeaseRecord): string {
  const text = JSON.stringify(record);
  if (Buffer.byteLength(text) >= RECORD_BYTES) {
    throw new RangeError('the lease record is too long');
  }
  return `${text}${' '.repeat(RECORD_BYTES - 1 - Buffer.byteLength(text))}\n`;
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') {
      throw error;
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function monotonic(): number {
  return performance.now();
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

function messageOf(error: unknown): string {
  return String((error as { message?: unknown } | null)?.message ?? error);
}
