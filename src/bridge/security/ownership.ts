/**
 * Becoming the one owner of a state folder: lease, then the database's lock (R7, R8, "Recovery
 * order at start"). Nothing of the state is read or written before both are held.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { MusterError } from '../../protocol/index.js';
import { bootId, pidNamespace, UNKNOWN_BOOT } from '../host/boot-id.js';
import { fileSystemType } from '../host/file-system.js';
import { hostName } from '../host/host-name.js';
import {
  ownIdentity,
  processLives,
  signalProcess
} from '../host/process-identity.js';
import { StoreLockedError } from '../store/store-failure.js';
import type { Lease } from './lease.js';
import { LeaseObserver, type Observation } from './lease-observer.js';
import {
  EXPIRY_MS,
  type LeaseHolder,
  type LeaseRecord,
  type LeaseSight
} from './lease-record.js';
import { takeLease } from './lease-taking.js';

/** Another bridge owns the state: use that one. */
export class StateOwnedError extends MusterError {
  constructor(
    readonly owner: LeaseRecord | null,
    readonly sameHost: boolean
  ) {
    super({
      code: 'conflict',
      message:
        owner === null
          ? 'another Muster bridge owns this state folder'
          : `another Muster bridge owns this state folder: ${owner.host}, pid ${owner.pid}`,
      hint: 'use that bridge; its folder is free 30 s after it was last alive',
      details: owner === null ? {} : { host: owner.host, pid: owner.pid }
    });
    this.name = 'StateOwnedError';
  }
}

/** What ownership needs of the store. */
export type OwnedStore = { readonly epoch: number; close(): Promise<void> };

export type OwnershipOptions<Store extends OwnedStore> = {
  /** This host's state folder, private already. */
  folder: string;
  /** Opens the store with an epoch of at least this. @throws StoreLockedError. */
  openStore(minimumEpoch: number): Promise<Store>;
  /** Does a bridge answer `hello` on this host's socket? Deadline 2 s. */
  ownerAnswers(): Promise<boolean>;
  onFenced(reason: string): void;
  /** What is being waited for, for the log. */
  onWaiting?: (message: string) => void;
  /** Divides all times, for tests; 1 otherwise. */
  speed?: number;
  /** Who we are; the default is the truth. */
  holder?: LeaseHolder;
};

export type Ownership<Store> = { lease: Lease; store: Store };

/** Time for a lock to become free: a killed process's descriptors, a self-check of a dead bridge. */
const LOCK_PATIENCE_MS = 5_000;

/** @throws StateOwnedError where a live bridge owns it; the store's own errors. */
export async function takeOwnership<Store extends OwnedStore>(
  options: OwnershipOptions<Store>
): Promise<Ownership<Store>> {
  const speed = options.speed ?? 1;
  const holder = options.holder ?? ownHolder();
  const observer = new LeaseObserver(options.folder, {
    expiryMs: EXPIRY_MS / speed
  });
  const over = await waitUntilFree(options, holder, observer, speed);
  // Several starters that find the same dead lease may push one another aside: until both lease and
  // lock are held a loss only means that another one is the owner.
  const state = { starting: true, lost: false };
  const lease = await takeLease({
    folder: options.folder,
    holder,
    over,
    onFenced: reason => {
      state.lost = true;
      if (!state.starting) {
        options.onFenced(reason);
      }
    },
    speed
  });
  if (lease === null) {
    // Another starter was faster.
    throw owned((await observer.look()).sight, holder);
  }
  try {
    const store = await openLocked(options, holder, over, lease.epoch, () => {
      return state.lost;
    });
    await lease.raiseEpoch(store.epoch);
    // A look at the file after the lock is held: from here on nobody starts beside us.
    await lease.renew();
    if (state.lost) {
      await store.close();
      throw owned((await observer.look()).sight, holder);
    }
    state.starting = false;
    return { lease, store };
  } catch (error) {
    await lease.release();
    throw error instanceof StoreLockedError
      ? owned((await observer.look()).sight, holder)
      : error;
  }
}

/** This process as a lease's holder. */
export function ownHolder(): LeaseHolder {
  const { pid, startTime } = ownIdentity();
  return {
    host: hostName(),
    bootId: bootId(),
    pidNamespace: pidNamespace(),
    pid,
    startTime
  };
}

/** Waits while a lease may still be somebody's. @throws StateOwnedError when it is. */
async function waitUntilFree<Store extends OwnedStore>(
  options: OwnershipOptions<Store>,
  holder: LeaseHolder,
  observer: LeaseObserver,
  speed: number
): Promise<LeaseSight> {
  let first: Observation | null = null;
  for (;;) {
    const now = await observer.look();
    const { sight } = now;
    if (now.expired || isOver(sight, holder, options.folder)) {
      return sight;
    }
    if (first === null) {
      first = now;
      options.onWaiting?.(
        sight.type === 'held'
          ? `the lease names ${sight.record.host} (pid ${sight.record.pid}); watching whether it is alive`
          : 'the lease cannot be read; waiting until it is over'
      );
    } else if (now.unchangedMs === 0) {
      // Somebody renewed it: alive.
      throw owned(sight, holder);
    }
    if (
      sight.type === 'held' &&
      isOurHost(sight.record, holder) &&
      (await options.ownerAnswers())
    ) {
      throw owned(sight, holder);
    }
    await sleep(500 / speed);
  }
}

/** Is the holder positively dead? */
function isOver(
  sight: LeaseSight,
  holder: LeaseHolder,
  folder: string
): boolean {
  if (sight.type !== 'held') {
    return sight.type === 'absent';
  }
  const { record } = sight;
  if (isOurHost(record, holder)) {
    return !processLives(record);
  }
  // The same host before a reboot, on its own disk: nobody else can have written it.
  return (
    record.host === holder.host &&
    record.bootId !== holder.bootId &&
    record.bootId !== UNKNOWN_BOOT &&
    fileSystemType(folder).kind === 'local'
  );
}

/** Do the record's pids mean something to us? */
function isOurHost(record: LeaseRecord, holder: LeaseHolder): boolean {
  return (
    record.host === holder.host &&
    record.bootId === holder.bootId &&
    record.bootId !== UNKNOWN_BOOT &&
    record.pidNamespace === holder.pidNamespace
  );
}

/** Opens the store; a stopped holder of an expired lease still has the lock and is killed (R8a). */
async function openLocked<Store extends OwnedStore>(
  options: OwnershipOptions<Store>,
  holder: LeaseHolder,
  over: LeaseSight,
  epoch: number,
  isLost: () => boolean
): Promise<Store> {
  let deadline = performance.now() + LOCK_PATIENCE_MS;
  let killed = false;
  for (;;) {
    try {
      return await options.openStore(epoch);
    } catch (error) {
      if (!(error instanceof StoreLockedError)) {
        throw error;
      }
      if (
        !killed &&
        !isLost() &&
        over.type === 'held' &&
        !over.record.released &&
        isOurHost(over.record, holder) &&
        over.record.pid !== holder.pid &&
        !(await options.ownerAnswers())
      ) {
        // pid, start time and boot id are verified in there.
        killed = signalProcess(over.record, 'SIGKILL');
        // Its descriptors close when the kernel gets to it.
        deadline = performance.now() + LOCK_PATIENCE_MS;
      }
      if (isLost() || performance.now() > deadline) {
        throw error;
      }
      await sleep(100);
    }
  }
}

function owned(sight: LeaseSight, holder: LeaseHolder): StateOwnedError {
  const record = sight.type === 'held' ? sight.record : null;
  return new StateOwnedError(
    record,
    record === null || isOurHost(record, holder)
  );
}
