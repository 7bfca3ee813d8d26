/** The keyboard's and the palette's way to what the toolbar picker does. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import {
  InputDialog,
  Notification,
  type ICommandPalette
} from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ClusterView } from '../../protocol/index.js';
import { CommandIDs } from '../commands.js';
import { ClusterPicker } from './cluster-picker.js';
import { hasEnded } from './cluster-source.js';
import type { IClusterSource } from './cluster-source.js';
import type { NotebookLink } from './notebook-link.js';
import type { NotebookLinks } from './notebook-links.js';

export namespace NotebookCommandIDs {
  /** Args `{cluster?: id or name}`; without, the user is asked. */
  export const bind = 'muster:bind-notebook';
  export const unbind = 'muster:unbind-notebook';
  export const toggleReconnect = 'muster:toggle-reconnect';
}

export type NotebookParts = {
  app: JupyterFrontEnd;
  links: NotebookLinks;
  source: IClusterSource;
  tracker: INotebookTracker;
  trans: TranslationBundle;
  palette: ICommandPalette | null;
};

export function createPicker(
  panel: NotebookPanel,
  parts: NotebookParts
): ClusterPicker {
  const { app, links, source, trans } = parts;
  const link = links.of(panel);
  return new ClusterPicker({
    link,
    source,
    trans,
    choose: cluster => {
      links.choose(link, cluster);
    },
    startAgain: () => startAgain(link, trans),
    newCluster: async () => {
      const created: unknown = await app.commands.execute(
        CommandIDs.newCluster
      );
      if (isCluster(created) && !link.isDisposed) {
        links.choose(link, created);
      }
    }
  });
}

export function addNotebookCommands(parts: NotebookParts): void {
  const { app, links, tracker, trans, palette } = parts;
  const { commands } = app;
  const isOpen = (): boolean => tracker.currentWidget !== null;
  const isBound = (): boolean => (links.current?.binding ?? null) !== null;
  const none = { type: 'object', properties: {} } as const;

  commands.addCommand(NotebookCommandIDs.bind, {
    label: trans.__('Connect Notebook to Cluster…'),
    caption: trans.__('Bind the current notebook to a cluster'),
    isEnabled: isOpen,
    execute: async args => {
      const link = links.current;
      const cluster = await clusterOf(args['cluster'], parts);
      if (link !== null && cluster !== null && !link.isDisposed) {
        links.choose(link, cluster);
      }
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          cluster: {
            type: 'string',
            description: trans.__('Id or name of the cluster')
          }
        }
      }
    }
  });
  commands.addCommand(NotebookCommandIDs.unbind, {
    label: trans.__('Disconnect Notebook from Its Cluster'),
    caption: trans.__('The cluster itself goes on'),
    isEnabled: isBound,
    execute: () => links.current?.unbind(),
    describedBy: { args: none }
  });
  commands.addCommand(NotebookCommandIDs.toggleReconnect, {
    label: trans.__('Reconnect Notebook When Its Kernel Restarts'),
    isEnabled: isBound,
    isToggleable: true,
    isToggled: () => links.current?.binding?.reconnect ?? false,
    execute: () => {
      const link = links.current;
      link?.setReconnect(!(link.binding?.reconnect ?? false));
    },
    describedBy: { args: none }
  });
  for (const command of [
    NotebookCommandIDs.bind,
    NotebookCommandIDs.unbind,
    NotebookCommandIDs.toggleReconnect
  ]) {
    palette?.addItem({ command, category: trans.__('Clusters') });
  }
}

async function startAgain(
  link: NotebookLink,
  trans: TranslationBundle
): Promise<void> {
  try {
    await link.startAgain();
  } catch (error) {
    Notification.error(
      trans.__(
        'The cluster could not be started again: %1',
        error instanceof Error ? error.message : String(error)
      ),
      { autoClose: false }
    );
  }
}

/** The cluster meant by an argument, or the user's choice among the living. */
async function clusterOf(
  wanted: unknown,
  parts: NotebookParts
): Promise<ClusterView | null> {
  const { source, trans } = parts;
  const living = source.clusters.filter(cluster => !hasEnded(cluster));
  if (typeof wanted === 'string') {
    return (
      living.find(cluster => cluster.id === wanted) ??
      living.find(cluster => cluster.name === wanted) ??
      null
    );
  }
  if (living.length === 0) {
    Notification.info(trans.__('There is no cluster to connect to yet.'));
    return null;
  }
  const { value } = await InputDialog.getItem({
    title: trans.__('Connect this notebook to'),
    label: trans.__('Cluster'),
    items: living.map(cluster => cluster.name),
    okLabel: trans.__('Connect')
  });
  return living.find(cluster => cluster.name === value) ?? null;
}

function isCluster(value: unknown): value is ClusterView {
  return (
    typeof value === 'object' &&
    value !== null &&
    'id' in value &&
    'name' in value
  );
}
