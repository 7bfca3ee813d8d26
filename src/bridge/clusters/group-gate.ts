/** May this group ask for more now? The breaker's word, written down when it stops a group. */
import type { PastJob } from './breaker.js';
import { breaker } from './breaker.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import type { PlanGroup } from './reconcile.js';
import { targetOf } from './views.js';

export async function planGroups(
  context: Context,
  state: ClusterState
): Promise<PlanGroup[]> {
  const groups: PlanGroup[] = [];
  for (const group of state.record.spec.groups) {
    groups.push({
      name: group.name,
      workersPerJob: group.workersPerJob,
      target: targetOf(state, group),
      notBefore: await notBefore(context, state, group.name)
    });
  }
  return groups;
}

async function notBefore(
  context: Context,
  state: ClusterState,
  group: string
): Promise<number> {
  if (state.record.failingGroups[group] !== undefined) {
    return Infinity;
  }
  const verdict = breaker(pastOf(state, group), Date.now(), Math.random());
  const refusedUntil =
    Date.now() + Math.max(0, state.retryAfter - performance.now());
  switch (verdict.type) {
    case 'go':
      return refusedUntil;
    case 'wait':
      return Math.max(verdict.until, refusedUntil);
    case 'failing':
      await stopGroup(context, state, group, verdict.reason);
      return Infinity;
    default:
      return verdict satisfies never;
  }
}

/** Ended jobs of this life since the user last resumed. */
function pastOf(state: ClusterState, group: string): PastJob[] {
  const since = state.resumedAt.get(group) ?? 0;
  return state.current.flatMap((job): PastJob[] => {
    if (
      job.group !== group ||
      job.handle === null ||
      job.phase !== 'ended' ||
      job.outcome === null ||
      job.endedAt === null
    ) {
      return [];
    }
    const endedAt = Date.parse(job.endedAt);
    return endedAt < since
      ? []
      : [
          {
            endedAt,
            outcome: job.outcome,
            endedByUs: job.endedByUs,
            everConnected: job.connected.length > 0
          }
        ];
  });
}

async function stopGroup(
  context: Context,
  state: ClusterState,
  group: string,
  reason: string
): Promise<void> {
  state.record.failingGroups = {
    ...state.record.failingGroups,
    [group]: reason
  };
  const tail =
    state.current.findLast(job => job.group === group && job.logTail !== null)
      ?.logTail ?? '';
  await context.books.commit(state, {
    events: [
      context.books.event(
        state,
        'group-failing',
        `${group}: no more workers are started, because ${reason}`,
        {
          severity: 'error',
          data: { group, reason, logTail: tail }
        }
      )
    ]
  });
}
