/**
 * What we start must listen on loopback only (reliability-and-security.md S1, CVE-2021-42343): a
 * look at the sockets of a job soon after it came up. A listener that others can reach ends the
 * cluster. Looked at once a job: later listeners may be the user's own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobRecord } from '../store/records.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { backendOf, beginStop } from './context.js';

/** Not while a start takes the cores; an attacker gains nothing by the delay, TLS stands before it. */
const DELAY_MS = 1_000;

export async function checkBinding(
  context: Context,
  state: ClusterState,
  job: JobRecord
): Promise<void> {
  const backend = backendOf(context, state);
  if (backend.exposed === undefined || state.checked.has(job.id)) {
    return;
  }
  state.checked.add(job.id);
  await sleep(DELAY_MS, undefined, { ref: false });
  if (
    context.closed() ||
    job.handle === null ||
    job.phase === 'ended' ||
    job.endedByUs
  ) {
    return;
  }
  const addresses = await backend.exposed(job.handle);
  if (addresses.length === 0 || state.record.phase === 'stopping') {
    return;
  }
  const what = job.group === null ? 'The scheduler' : 'A worker';
  await beginStop(context, state, {
    then: 'failed',
    force: false,
    cause: {
      code: 'insecure-bind',
      message: `${what} listens where others can reach it: ${addresses.join(', ')}`,
      hint: 'Look for a Dask configuration or preload that sets an address or interface.'
    }
  });
}
