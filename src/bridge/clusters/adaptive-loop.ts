/** Asks the scheduler of one cluster for its target and writes the groups' targets down; survives every failure. */
import type { ClusterEvent } from '../../protocol/index.js';
import { rangeOf } from '../../protocol/index.js';
import type { TaskCounts } from '../dask/scheduler-link.js';
import type { AdaptiveGroup, AdaptiveLoad } from './adaptive.js';
import { adaptiveStep } from './adaptive.js';
import type { Books } from './books.js';
import type { ClusterState, LiveWorker } from './cluster-state.js';
import { targetOf } from './views.js';

export type AdaptiveLoopOptions = {
  state: ClusterState;
  books: Books;
  enqueue: () => void;
  onError: (error: unknown) => void;
  /** The scheduler is told the new targets. */
  tellSpec: () => Promise<void>;
  /** Milliseconds a lower target must hold. */
  downAfterMs: number;
  adaptiveIntervalMs: number;
};

/** The scheduler's own window: its target is the workers that finish the load in this time. */
const TARGET_DURATION_SECONDS = 5;
/** `adaptive_target` costs the scheduler about 3 µs a worker: never above 0.1 % of a core. */
const MS_PER_WORKER = 5;

export class AdaptiveLoop {
  constructor(options: AdaptiveLoopOptions) {
    this._options = options;
  }

  /** Begin, or look earlier; does nothing where no group is adaptive. */
  schedule(delayMs: number): void {
    clearTimeout(this._timer);
    const { state, onError, adaptiveIntervalMs } = this._options;
    if (
      this._closed ||
      !state.record.spec.groups.some(group => group.scale.type === 'adaptive')
    ) {
      return;
    }
    this._timer = setTimeout(() => {
      // One failing tick is one line in the log, the loop goes on (dask/distributed#4421).
      this._tick()
        .catch(onError)
        .finally(() => {
          this.schedule(
            Math.max(adaptiveIntervalMs, state.workers.size * MS_PER_WORKER)
          );
        });
    }, delayMs);
  }

  close(): void {
    this._closed = true;
    clearTimeout(this._timer);
  }

  private async _tick(): Promise<void> {
    const { state, books, downAfterMs } = this._options;
    const link = state.link;
    if (link?.connected !== true || state.record.phase !== 'running') {
      return;
    }
    const [schedulerTarget, counts] = await Promise.all([
      link.adaptiveTarget(TARGET_DURATION_SECONDS),
      link.taskCounts()
    ]);
    const groups = adaptiveGroups(state);
    const current = new Map(
      state.record.spec.groups.map(
        group => [group.name, targetOf(state, group)] as const
      )
    );
    const step = adaptiveStep({
      memory: state.adaptive,
      load: loadOf(state, groups, schedulerTarget, counts),
      groups,
      current,
      downAfterMs,
      now: performance.now()
    });
    state.adaptive = step.memory;
    const events: ClusterEvent[] = [];
    for (const [name, target] of step.targets) {
      const from = current.get(name) ?? 0;
      if (target !== from) {
        events.push(
          books.event(
            state,
            'adapted',
            `${name}: ${from} → ${target} workers`,
            {
              data: {
                group: name,
                from,
                to: target,
                schedulerTarget,
                load: counts
              }
            }
          )
        );
      }
    }
    if (events.length > 0) {
      state.record.targets = {
        ...state.record.targets,
        ...Object.fromEntries(step.targets)
      };
      await books.commit(state, { events });
      this._options.enqueue();
      await this._options.tellSpec();
    }
  }

  private readonly _options: AdaptiveLoopOptions;
  private _timer: NodeJS.Timeout | undefined;
  private _closed = false;
}

function adaptiveGroups(state: ClusterState): AdaptiveGroup[] {
  return state.record.spec.groups.flatMap(group =>
    group.scale.type === 'adaptive'
      ? [
          {
            name: group.name,
            ...rangeOf(group),
            workersPerJob: group.workersPerJob,
            cores: group.worker.cores
          }
        ]
      : []
  );
}

function loadOf(
  state: ClusterState,
  groups: readonly AdaptiveGroup[],
  schedulerTarget: number,
  counts: TaskCounts
): AdaptiveLoad {
  const adaptive = new Set(groups.map(group => group.name));
  const present = [...state.workers.values()].filter(
    worker => worker.status !== 'lost'
  );
  const jobOf = (worker: LiveWorker) => state.workerOf(worker.id)?.job;
  const threads = present.reduce(
    (sum, worker) => sum + (worker.metrics?.nthreads ?? 1),
    0
  );
  return {
    schedulerTarget,
    present: present.length,
    draining: present.filter(worker => {
      const job = jobOf(worker);
      return job !== undefined && state.draining.has(job.id);
    }).length,
    fixedWorkers: present.filter(
      worker => !adaptive.has(jobOf(worker)?.group ?? '')
    ).length,
    runnableTasks:
      counts.processing + counts.queued + counts.unrunnable + counts.waiting,
    meanThreads: present.length === 0 ? 0 : threads / present.length
  };
}
