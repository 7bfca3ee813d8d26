/** The scheduler's operations (§2), one method each: request, deadline, checked reply. */
import { readIdentity, readReply } from './replies.js';
import type { SchedulerIdentity } from './scheduler-link.js';
import type { Capabilities } from './versions.js';
import type { CallOptions } from './wire/rpc-pool.js';
import type { Request } from './wire/rpc.js';

/** Deadlines, milliseconds. */
export const DEADLINES = {
  cheap: 5_000,
  dumpState: 15_000,
  retire: 120_000,
  terminate: 30_000,
  /** 2024 imports every optional package to answer it. */
  versions: 30_000
} as const;

export type Call = (request: Request, options: CallOptions) => Promise<unknown>;

/** What the cheap look tells: how many, and who where that costs the same. */
export type CheapLook =
  { kind: 'count'; workers: number } | { kind: 'addresses'; workers: string[] };

export class Operations {
  constructor(call: Call, capabilities: Capabilities) {
    this._call = call;
    this._capabilities = capabilities;
  }

  /** Everything of every worker: ~660 bytes each, so never on a short period (H16). */
  async identity(): Promise<SchedulerIdentity> {
    const reply = await this._cheap({
      op: 'identity',
      // -1: all. Older schedulers answer an error to the argument.
      n_workers: this._capabilities.limitedIdentity ? -1 : undefined
    });
    return readIdentity(reply).identity;
  }

  /** Costs the scheduler about as much as an `echo`; serves as the keep-alive too. */
  async look(): Promise<CheapLook> {
    if (this._capabilities.limitedIdentity) {
      const reply = await this._cheap({ op: 'identity', n_workers: 0 });
      const { workerCount } = readIdentity(reply);
      if (workerCount !== null) {
        return { kind: 'count', workers: workerCount };
      }
    }
    const ncores = readReply('ncores', await this._cheap({ op: 'ncores' }));
    return { kind: 'addresses', workers: Object.keys(ncores) };
  }

  async adaptiveTarget(targetDurationSeconds: number): Promise<number> {
    return readReply(
      'adaptive_target',
      await this._cheap({
        op: 'adaptive_target',
        target_duration: `${targetDurationSeconds}s`
      })
    );
  }

  async workersToClose(n: number): Promise<string[]> {
    if (n <= 0) {
      return [];
    }
    const reply = await this._cheap({
      op: 'workers_to_close',
      n,
      attribute: 'address'
    });
    return readReply('workers_to_close', reply).slice(0, n);
  }

  async idleSince(): Promise<number | null> {
    return readReply('check_idle', await this._cheap({ op: 'check_idle' }));
  }

  async setMetadata(keys: readonly string[], value: unknown): Promise<void> {
    await this._cheap({ op: 'set_metadata', keys, value: value ?? null });
  }

  async getMetadata(keys: readonly string[]): Promise<unknown> {
    return this._cheap({ op: 'get_metadata', keys, default: null });
  }

  /** The last thousand events of the topic `all`: what the stream missed. */
  async history(): Promise<[number, unknown][]> {
    return readReply(
      'events',
      await this._cheap({ op: 'events', topic: 'all' })
    );
  }

  /** An event of our own on a topic; as a note, not as proof of anything. */
  async logEvent(topic: string, message: unknown): Promise<void> {
    await this._cheap({ op: 'log_event', topic, msg: message });
  }

  /** Tasks assigned to each of these: running and queued there. */
  async processing(addresses: readonly string[]): Promise<Map<string, number>> {
    const reply = readReply(
      'processing',
      await this._cheap({ op: 'processing', workers: addresses })
    );
    return new Map(
      Object.entries(reply).map(([address, keys]) => [address, keys.length])
    );
  }

  /** Task counts by state, without queued and unrunnable tasks, which the scheduler omits here. */
  async prefixStates(): Promise<
    Record<'memory' | 'erred' | 'released' | 'processing' | 'waiting', number>
  > {
    const states = Object.values(
      readReply(
        'get_task_prefix_states',
        await this._cheap({ op: 'get_task_prefix_states' })
      )
    );
    const sum = (state: string): number =>
      states.reduce((total, counts) => total + (counts[state] ?? 0), 0);
    return {
      memory: sum('memory'),
      erred: sum('erred'),
      released: sum('released'),
      processing: sum('processing'),
      waiting: sum('waiting')
    };
  }

  /** A debug format: parse defensively. Linear in tasks, and blocks the scheduler's loop. */
  async dumpState(exclude: readonly string[]): Promise<unknown> {
    return this._call(
      { op: 'dump_state', exclude },
      { deadlineMs: DEADLINES.dumpState, slow: true }
    );
  }

  /**
   * `remove: false` is the cordon: the only public way to make a worker take no new task.
   * `remove: true` closes the worker too; never one without the other (H6).
   * @returns the addresses the scheduler lists as retired, which is no proof (H17).
   */
  async retire(
    addresses: readonly string[],
    options: { remove: boolean; stimulusId: string; deadlineMs: number }
  ): Promise<string[]> {
    const reply = await this._call(
      {
        op: 'retire_workers',
        workers: addresses,
        close_workers: options.remove,
        remove: options.remove,
        stimulus_id: options.stimulusId
      },
      { deadlineMs: options.deadlineMs, slow: true }
    );
    return Object.keys(readReply('retire_workers', reply));
  }

  async unregister(address: string, stimulusId: string): Promise<void> {
    readReply(
      'unregister',
      await this._call(
        { op: 'unregister', address, stimulus_id: stimulusId },
        { deadlineMs: DEADLINES.cheap, slow: true }
      )
    );
  }

  private _cheap(request: Request): Promise<unknown> {
    return this._call(request, { deadlineMs: DEADLINES.cheap });
  }

  private readonly _call: Call;
  private readonly _capabilities: Capabilities;
}
