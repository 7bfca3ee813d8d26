/** Commands on the panel as a whole, and those that make clusters. */
import { showDialog, Dialog, Notification } from '@jupyterlab/apputils';
import { CommandIDs } from '../commands.js';
import type { Muster } from '../elements/muster-context.js';
import { hasEnded } from '../model/cluster-order.js';
import type { ClusterSpec, ClusterView } from '../../protocol/index.js';
import { openNewClusterDialog } from '../views/new-cluster/index.js';
import { attempt } from './report.js';
import { askToStopAll } from './stop-question.js';

/** @returns the ids added, for the palette. */
export function addPanelCommands(
  muster: Muster,
  options: { defaultProfile: () => string; activatePanel: () => void }
): string[] {
  const { commands, model, client, trans, service } = muster;
  const none = { args: { type: 'object', properties: {} } } as const;
  const text = (
    description: string
  ): { type: string; description: string } => ({
    type: 'string',
    description
  });
  const label =
    (fallback: string) =>
    (args: Readonly<Record<string, unknown>>): string =>
      typeof args['label'] === 'string' ? args['label'] : fallback;

  commands.addCommand(CommandIDs.showPanel, {
    label: trans.__('Show Clusters'),
    describedBy: none,
    execute: options.activatePanel
  });
  commands.addCommand(CommandIDs.newCluster, {
    label: label(trans.__('New Cluster…')),
    caption: trans.__('Describe a cluster and start it'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          backend: text(trans.__('Backend to begin with')),
          profile: text(trans.__('Profile to begin with')),
          from: text(trans.__('Id of a cluster to duplicate'))
        }
      }
    },
    execute: async args => {
      const created = await openNewClusterDialog(muster, args);
      if (created !== null) {
        options.activatePanel();
      }
      return created;
    }
  });
  commands.addCommand(CommandIDs.startCluster, {
    label: label(trans.__('Start Cluster from the Default Profile')),
    caption: trans.__('Start a cluster at once'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          profile: text(trans.__('Profile; default: the one in the settings')),
          backend: text(trans.__('Backend; default: the profile’s'))
        }
      }
    },
    execute: async (args): Promise<ClusterView | null> => {
      const profile =
        (args['profile'] as string | undefined) ??
        (args['backend'] === undefined ? options.defaultProfile() : '');
      const kernelspec = service.notebook?.kernelspec ?? null;
      const spec: ClusterSpec = {
        ...(profile === '' ? {} : { profile }),
        ...(typeof args['backend'] === 'string'
          ? { backend: args['backend'] }
          : {}),
        // The active notebook's interpreter, so that kernel and workers agree (nebari-dev/nebari#1294).
        ...(kernelspec === null ? {} : { environment: { kernelspec } })
      };
      const created = await attempt(
        model.create(spec),
        trans.__('The cluster could not be started'),
        trans
      );
      if (created !== null) {
        options.activatePanel(); // what was begun is to be seen
      }
      return created;
    }
  });
  commands.addCommand(CommandIDs.refresh, {
    label: trans.__('Refresh Clusters'),
    describedBy: none,
    execute: () => {
      model.refresh();
    }
  });
  commands.addCommand(CommandIDs.restartBridge, {
    label: trans.__('Restart Bridge'),
    caption: trans.__('Clusters are untouched'),
    describedBy: none,
    execute: async () => {
      const answer = await attempt(
        client.restartBridge(),
        trans.__('The bridge could not be restarted'),
        trans
      );
      model.refresh();
      return answer;
    }
  });
  commands.addCommand(CommandIDs.stopAll, {
    label: trans.__('Stop All Clusters…'),
    describedBy: none,
    isEnabled: () => model.clusters.some(view => !hasEnded(view)),
    execute: async () => {
      const living = model.clusters.filter(view => !hasEnded(view));
      if (living.length > 0 && (await askToStopAll(living, trans))) {
        await Promise.all(
          living.map(view =>
            attempt(
              model.stop(view.id),
              trans.__('%1 could not be stopped', view.name),
              trans
            )
          )
        );
      }
    }
  });
  commands.addCommand(CommandIDs.forgetEnded, {
    label: trans.__('Forget Ended Clusters…'),
    describedBy: none,
    isEnabled: () => model.clusters.some(hasEnded),
    execute: async () => {
      const ended = model.clusters.filter(hasEnded);
      if (ended.length === 0 || !(await askToForget(ended, muster))) {
        return;
      }
      for (const view of ended) {
        await attempt(
          model.forget(view.id),
          trans.__('%1 could not be forgotten', view.name),
          trans
        );
      }
      Notification.info(
        trans._n(
          '%1 cluster forgotten.',
          '%1 clusters forgotten.',
          ended.length
        ),
        { autoClose: 2_000 }
      );
    }
  });
  return [
    CommandIDs.showPanel,
    CommandIDs.newCluster,
    CommandIDs.startCluster,
    CommandIDs.refresh,
    CommandIDs.restartBridge,
    CommandIDs.stopAll,
    CommandIDs.forgetEnded
  ];
}

async function askToForget(
  ended: readonly ClusterView[],
  muster: Muster
): Promise<boolean> {
  const { trans } = muster;
  const result = await showDialog({
    title: trans._n(
      'Forget %1 ended cluster?',
      'Forget %1 ended clusters?',
      ended.length
    ),
    body: trans.__(
      'Their records and logs are removed: %1.',
      ended.map(view => view.name).join(', ')
    ),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: trans.__('Forget') })
    ]
  });
  return result.button.accept;
}
