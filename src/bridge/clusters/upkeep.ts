/**
 * What a cluster that runs for long may need to be told of: packages that changed under it,
 * certificates that end. Looked at seldom; nothing is changed.
 */
import { formatDuration } from '../../protocol/index.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { now } from './context.js';

/** Packages whose versions must be the same in scheduler, workers and clients. */
const COMPARED = [
  'dask',
  'distributed',
  'msgpack',
  'cloudpickle',
  'toolz'
] as const;
/** Running Dask processes do not reload certificates: enough time to restart. */
const WARN_MS = 14 * 86_400_000;

export async function lookAfter(
  context: Context,
  state: ClusterState
): Promise<void> {
  await versions(context, state);
  await certificates(context, state);
  context.books.changed(state);
}

/** New workers would come with other versions than the scheduler runs. */
async function versions(context: Context, state: ClusterState): Promise<void> {
  const running = state.link?.packages;
  if (running === undefined) {
    return;
  }
  const { python } = state.record.spec.environment;
  const present = await context.environments.packages(python);
  const changed = COMPARED.flatMap(name => {
    const was = running[name];
    const is = present[name];
    return was != null && is != null && was !== is
      ? [`${name} ${was}, now ${is}`]
      : [];
  });
  state.setReason(
    'version-mismatch',
    changed.length === 0
      ? null
      : {
          message: `The environment has changed since the scheduler started: ${changed.join('; ')}`,
          hint: 'Restart the cluster, so that scheduler and workers are the same.'
        },
    now()
  );
}

async function certificates(
  context: Context,
  state: ClusterState
): Promise<void> {
  const { record } = state;
  const end = record.spec.security.tls
    ? await context.certificates.notAfter(record.folder)
    : null;
  const leftMs = end === null ? Infinity : end.getTime() - Date.now();
  state.setReason(
    'certificate-expiring',
    leftMs > WARN_MS
      ? null
      : {
          message: `Its certificates end in ${formatDuration(leftMs / 1000)}`,
          hint: 'Restart the cluster before: running Dask processes do not take new ones.'
        },
    now()
  );
}
