/**
 * How many workers each adaptive group shall have: the scheduler's own target as the base, cut and
 * spread over the groups, up at once, down only after the lower target has held. PURE.
 * Source: specs/dask-wire-protocol.md §4, specs/resource-manager.md §9.
 */

export type AdaptiveGroup = {
  name: string;
  /** Workers, whole jobs; both ends inclusive. */
  minimum: number;
  maximum: number;
  workersPerJob: number;
  /** Threads of one worker. */
  cores: number;
};

export type AdaptiveLoad = {
  /** `adaptive_target` of the scheduler, in workers of the mean size of those present. */
  schedulerTarget: number;
  /** Workers registered now; 0: the scheduler's target counted threads as workers. */
  present: number;
  /** Workers being drained: they still count in the scheduler's arithmetic, not as capacity. */
  draining: number;
  /** Workers of groups with a fixed size: capacity that is there anyway. */
  fixedWorkers: number;
  /** Tasks that could run now or soon (processing, queued, unrunnable, waiting excluded); null: unknown. */
  runnableTasks: number | null;
  /** Mean threads of the workers present; 0 if none. */
  meanThreads: number;
};

/** Workers wanted in all, before limits: never more than there are tasks to run (flaw #4108). */
export function wantedWorkers(
  load: AdaptiveLoad,
  groups: readonly AdaptiveGroup[]
): number {
  const threads =
    load.present > 0
      ? Math.max(1, load.meanThreads)
      : Math.max(1, groups[0]?.cores ?? 1);
  let wanted = load.schedulerTarget;
  if (load.present === 0) {
    wanted = Math.ceil(wanted / threads);
  }
  if (load.runnableTasks !== null && wanted > load.present - load.draining) {
    // Only growth is cut: data held in memory is a reason to stay, not to grow.
    const useful = Math.ceil(load.runnableTasks / threads);
    wanted = Math.max(
      Math.min(wanted, useful),
      Math.min(wanted, load.present - load.draining)
    );
  }
  return Math.max(0, wanted);
}

/** Spread over the groups: every minimum first, the rest in the order of listing up to each maximum. */
export function spread(
  wanted: number,
  groups: readonly AdaptiveGroup[]
): Map<string, number> {
  const targets = new Map(groups.map(group => [group.name, group.minimum]));
  let rest = wanted - groups.reduce((sum, group) => sum + group.minimum, 0);
  for (const group of groups) {
    if (rest <= 0) {
      break;
    }
    const room = group.maximum - group.minimum;
    const jobs = Math.ceil(Math.min(rest, room) / group.workersPerJob);
    const more = Math.min(jobs * group.workersPerJob, room);
    targets.set(group.name, group.minimum + more);
    rest -= more;
  }
  return targets;
}

/** What was wanted lately, newest last; kept for the hysteresis. */
export type AdaptiveMemory = {
  time: number;
  targets: ReadonlyMap<string, number>;
}[];

export type AdaptiveStep = {
  memory: AdaptiveMemory;
  targets: Map<string, number>;
};

/**
 * One step. A group goes up at once; it goes down to the most that was wanted during the last
 * `downAfterMs`, once there has been a look at least that long ago.
 * @param now milliseconds of a monotonic clock.
 */
export function adaptiveStep(options: {
  memory: AdaptiveMemory;
  load: AdaptiveLoad;
  groups: readonly AdaptiveGroup[];
  current: ReadonlyMap<string, number>;
  downAfterMs: number;
  now: number;
}): AdaptiveStep {
  const { groups, load, now, downAfterMs } = options;
  const wish = spread(wantedWorkers(load, groups) - load.fixedWorkers, groups);
  const memory = [...options.memory, { time: now, targets: wish }];
  const horizon = now - downAfterMs;
  // One sample at or before the horizon is kept: it proves that the window is covered.
  const firstInside = memory.findIndex(sample => sample.time > horizon);
  const kept = memory.slice(Math.max(0, firstInside - 1));
  const covered = (kept[0]?.time ?? now) <= horizon;
  const targets = new Map<string, number>();
  for (const group of groups) {
    const current = Math.min(
      Math.max(options.current.get(group.name) ?? group.minimum, group.minimum),
      group.maximum
    );
    const wanted = wish.get(group.name) ?? group.minimum;
    const most = Math.max(
      ...kept.map(sample => sample.targets.get(group.name) ?? group.minimum)
    );
    const target =
      wanted >= current
        ? wanted
        : covered
          ? Math.min(current, Math.max(most, wanted))
          : current;
    targets.set(
      group.name,
      Math.min(Math.max(target, group.minimum), group.maximum)
    );
  }
  return { memory: kept, targets };
}
