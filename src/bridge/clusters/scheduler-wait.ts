/** From "the scheduler's process runs" to "its address is known": reads its file until it is whole. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { now } from './context.js';
import { schedulerFileOf } from './requests.js';

/** The file appears 50 to 1 000 ms after the start: look often at first. */
function pauseAfter(elapsedMs: number): number {
  return elapsedMs < 2_000 ? 8 : elapsedMs < 10_000 ? 50 : 250;
}

export class SchedulerWait {
  constructor(context: Context, state: ClusterState) {
    this._context = context;
    this._state = state;
  }

  /** Start waiting unless that is under way. `onKnown` is called once the address is written down. */
  begin(onKnown: () => void): void {
    if (this._waiting) {
      return;
    }
    this._waiting = true;
    this._wait(onKnown)
      .catch((error: unknown) => {
        this._context.log.error(
          { err: error, cluster: this._state.id },
          'waiting for the scheduler failed'
        );
        this._context.enqueue(this._state.id, 1_000);
      })
      .finally(() => {
        this._waiting = false;
      });
  }

  private async _wait(onKnown: () => void): Promise<void> {
    const state = this._state;
    const started = performance.now();
    const { life } = state.record;
    while (this._wanted(life)) {
      const file = await this._context.commands.readSchedulerFile(
        schedulerFileOf(state)
      );
      const job = state.schedulerJob;
      if (file !== null && job !== null && this._wanted(life)) {
        state.record.scheduler = {
          job: job.id,
          address: file.address,
          schedulerId: file.id,
          dashboardPort: file.dashboardPort,
          version: null
        };
        state.record.phase = 'running';
        state.record.startedAt = now();
        onKnown();
        await this._context.books.commit(state, {
          events: [
            this._context.books.event(
              state,
              'scheduler-started',
              `Scheduler listens at ${file.address}`,
              {
                job: job.id,
                data: { address: file.address }
              }
            )
          ]
        });
        this._context.enqueue(state.id);
        return;
      }
      await sleep(pauseAfter(performance.now() - started));
    }
  }

  private _wanted(life: number): boolean {
    const { record } = this._state;
    return (
      record.life === life &&
      record.phase === 'creating' &&
      record.scheduler === null &&
      this._state.schedulerJob !== null &&
      !this._context.closed()
    );
  }

  private readonly _context: Context;
  private readonly _state: ClusterState;
  private _waiting = false;
}
