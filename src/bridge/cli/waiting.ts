/** Waiting for a cluster or worker to become what was asked for. */
import type { ClusterView } from '../../protocol/index.js';
import type { ApiClient } from './api-client.js';
import type { CliContext } from './context.js';
import { CliFailure, EXIT } from './failure.js';

/** Milliseconds between looks. */
const LOOK_EVERY = 300;

/**
 * Looks until `met` says something other than null.
 * @throws CliFailure with exit code 4 after the timeout.
 */
export async function waitFor<T>(
  look: () => Promise<T | null>,
  options: { timeoutSeconds: number | null; what: () => string }
): Promise<T> {
  const until =
    options.timeoutSeconds === null
      ? Infinity
      : performance.now() + options.timeoutSeconds * 1000;
  for (;;) {
    const met = await look();
    if (met !== null) {
      return met;
    }
    if (performance.now() >= until) {
      throw new CliFailure(
        EXIT.timedOut,
        `timed out waiting for ${options.what()}`,
        'it goes on by itself; look again with `muster show`'
      );
    }
    await new Promise(resolve => setTimeout(resolve, LOOK_EVERY));
  }
}

export function connectedOf(cluster: ClusterView): number {
  return cluster.groups.reduce((sum, group) => sum + group.counts.connected, 0);
}

export function targetOf(cluster: ClusterView): number {
  return cluster.groups.reduce((sum, group) => sum + group.target, 0);
}

/** Until the cluster runs with n workers connected; null: with as many as are wanted. */
export async function untilConnected(
  context: CliContext,
  client: ApiClient,
  id: string,
  options: {
    workers: number | null;
    timeoutSeconds: number | null;
    /** Job of the scheduler before a restart: only another one counts. */
    formerScheduler?: string | null;
  }
): Promise<ClusterView> {
  let last: ClusterView | null = null;
  return waitFor(
    async () => {
      const cluster = await client.get<ClusterView>(`clusters/${id}`);
      last = cluster;
      failIfEnded(cluster);
      const wanted = options.workers ?? targetOf(cluster);
      const connected = connectedOf(cluster);
      context.progress(
        `${cluster.name}: ${cluster.phase}, ${connected} of ${wanted} workers connected …`
      );
      const anew =
        options.formerScheduler == null ||
        cluster.scheduler.job !== options.formerScheduler;
      return anew && cluster.phase === 'running' && connected >= wanted
        ? cluster
        : null;
    },
    {
      timeoutSeconds: options.timeoutSeconds,
      what: () =>
        last === null
          ? 'the cluster'
          : `workers of '${last.name}': ${connectedOf(last)} of ${options.workers ?? targetOf(last)} connected${causes(last)}`
    }
  );
}

function failIfEnded(cluster: ClusterView): void {
  // `stopping` may be the first half of a restart; if it is not, `stopped` follows.
  if (cluster.phase === 'failed' || cluster.phase === 'stopped') {
    throw new CliFailure(
      EXIT.failed,
      `'${cluster.name}' is ${cluster.phase}${causes(cluster)}`,
      `muster events ${cluster.name}; muster logs ${cluster.name}`
    );
  }
}

/** `: Resources (2 jobs); …`: why it is not there yet. */
export function causes(cluster: ClusterView): string {
  const said = [
    ...cluster.reasons.map(reason => reason.message),
    ...cluster.groups.flatMap(group =>
      group.pendingReasons.map(
        pending =>
          `${pending.jobs} ${pending.jobs === 1 ? 'job' : 'jobs'}: ${pending.reason}`
      )
    )
  ];
  return said.length === 0 ? '' : ` (${said.join('; ')})`;
}
