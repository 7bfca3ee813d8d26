/** POST preview: what would be run, per job; nothing is started, nothing is written. */
import type { PreviewView } from '../../protocol/index.js';
import { formatDuration, rangeOf } from '../../protocol/index.js';
import type { ClusterRecord } from '../store/records.js';
import { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { backendOf } from './context.js';
import { previewIntents } from './requests.js';

export function previewView(
  context: Context,
  record: ClusterRecord
): PreviewView {
  const state = new ClusterState(record);
  const tls = record.spec.security.tls
    ? context.certificates.files(record.folder)
    : null;
  const intents = previewIntents(context, state, tls);
  const previews = backendOf(context, state).preview(
    intents.map(one => one.intent)
  );
  return {
    summary: summaryOf(record, backendOf(context, state).describe().title),
    jobs: intents.map(({ group, intent }, index) => {
      const spec = record.spec.groups.find(one => one.name === group);
      const preview = previews[index];
      return {
        group,
        count:
          spec === undefined ? 1 : rangeOf(spec).minimum / spec.workersPerJob,
        workers: intent.group === null ? 0 : intent.launches.length,
        argv: preview?.argv ?? [],
        script: preview?.script ?? null,
        environment: preview?.environment ?? {},
        notHonoured: preview?.notHonoured ?? [],
        warnings: preview?.warnings ?? []
      };
    })
  };
}

/** "2 workers (1 core each) on this computer; stops after 24 h without work". */
export function summaryOf(
  record: Pick<ClusterRecord, 'spec'>,
  title: string
): string {
  const groups = record.spec.groups.map(group => {
    const { minimum, maximum } = rangeOf(group);
    const count =
      minimum === maximum ? `${minimum}` : `${minimum} to ${maximum}`;
    const cores = `${group.worker.cores} ${group.worker.cores === 1 ? 'core' : 'cores'} each`;
    return `${count} ${maximum === 1 ? 'worker' : 'workers'} (${cores})`;
  });
  const { idleTimeout } = record.spec.lifetime;
  const end =
    idleTimeout === null
      ? 'never stops by itself'
      : `stops after ${formatDuration(idleTimeout)} without work`;
  return `${groups.join(' and ')} on ${title.replace(/^This /, 'this ')}; ${end}`;
}
