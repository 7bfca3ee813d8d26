/** Stopping asks once, naming the cluster and what is lost. */
import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ClusterView } from '../../protocol/index.js';

/** What stops with it, in words: `3 clients connected, 12 tasks running.` */
export function whatIsLost(
  view: ClusterView,
  trans: TranslationBundle
): string {
  const workers = view.groups.reduce(
    (sum, group) => sum + group.counts.connected,
    0
  );
  const tasks =
    view.load === null
      ? 0
      : view.load.tasks.processing +
        view.load.tasks.queued +
        view.load.tasks.waiting;
  const results = view.load?.tasks.memory ?? 0;
  const { clients } = view.scheduler;
  const parts = [
    workers > 0 ? trans._n('%1 worker', '%1 workers', workers) : '',
    clients > 0
      ? trans._n('%1 client connected', '%1 clients connected', clients)
      : '',
    tasks > 0
      ? trans._n('%1 unfinished task', '%1 unfinished tasks', tasks)
      : '',
    results > 0
      ? trans._n('%1 result in memory', '%1 results in memory', results)
      : ''
  ].filter(part => part !== '');
  return parts.join(', ');
}

export async function askToStop(
  view: ClusterView,
  trans: TranslationBundle
): Promise<boolean> {
  const lost = whatIsLost(view, trans);
  const result = await showDialog({
    title: trans.__('Stop cluster “%1”?', view.name),
    body:
      lost === ''
        ? trans.__('Nothing is running on it.')
        : trans.__('This ends: %1.', lost),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: trans.__('Stop') })
    ]
  });
  return result.button.accept;
}

export async function askToStopAll(
  views: readonly ClusterView[],
  trans: TranslationBundle
): Promise<boolean> {
  const result = await showDialog({
    title: trans._n('Stop %1 cluster?', 'Stop all %1 clusters?', views.length),
    body: views
      .map(view => {
        const lost = whatIsLost(view, trans);
        return lost === '' ? view.name : `${view.name}: ${lost}`;
      })
      .join('\n'),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: trans.__('Stop All') })
    ]
  });
  return result.button.accept;
}
