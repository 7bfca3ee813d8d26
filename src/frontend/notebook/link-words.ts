/** What the picker says of a notebook's link: never by colour alone. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ClusterView } from '../../protocol/index.js';
import { clusterTone } from '../elements/words.js';
import type { Tone } from '../elements/words.js';
import { connectedWorkers } from './cluster-source.js';
import type { LinkState, NotebookLink } from './notebook-link.js';

export type LinkWords = {
  /** Beside the dot in the toolbar. */
  label: string;
  /** A sentence: tooltip, and what a screen reader says. */
  caption: string;
  dot: DotKind;
};

/** As in the panel; `none`: an empty ring. */
export type DotKind = Tone | 'none';

export function linkWords(
  link: Pick<NotebookLink, 'binding' | 'cluster' | 'state'>,
  trans: TranslationBundle
): LinkWords {
  const name = link.cluster?.name ?? link.binding?.cluster.name;
  if (name === undefined) {
    return {
      label: trans.__('No cluster'),
      caption: trans.__('Choose a cluster for this notebook'),
      dot: 'none'
    };
  }
  return { ...boundWords(name, link.state, link.cluster, trans) };
}

function boundWords(
  name: string,
  state: LinkState,
  cluster: ClusterView | null,
  trans: TranslationBundle
): LinkWords {
  switch (state.kind) {
    case 'unbound':
    case 'unknown':
      return {
        label: name,
        caption: trans.__('%1: waiting for the bridge', name),
        dot: 'none'
      };
    case 'cluster-starting':
      return {
        label: trans.__('%1 (starting)', name),
        caption: trans.__('%1 is starting; the kernel will be connected', name),
        dot: 'busy'
      };
    case 'cluster-ended':
      return {
        label:
          cluster?.phase === 'stopping'
            ? trans.__('%1 (stopping)', name)
            : trans.__('%1 (stopped)', name),
        caption:
          state.record === null
            ? trans.__('%1 is no longer there; choose another cluster', name)
            : trans.__('%1 has ended; it can be started again', name),
        dot: 'ended'
      };
    case 'no-kernel':
      return {
        label: name,
        caption: trans.__('%1: connects when a kernel starts', name),
        dot: 'none'
      };
    case 'wrong-language':
      return {
        label: trans.__('%1 (not Python)', name),
        caption: trans.__(
          'The kernel speaks %1; Dask clusters need a Python kernel',
          state.language
        ),
        dot: 'warn'
      };
    case 'connecting':
      return {
        label: trans.__('%1 (connecting)', name),
        caption: trans.__(
          'Connecting the kernel to %1; a busy kernel is waited for',
          name
        ),
        dot: 'busy'
      };
    case 'paused':
      return {
        label: trans.__('%1 (not connected)', name),
        caption: trans.__(
          'The kernel is not connected to %1; choose it to connect',
          name
        ),
        dot: 'none'
      };
    case 'kept':
      return {
        label: trans.__('%1 (own client)', name),
        caption: trans.__(
          'The kernel has a live client of your own; it was left alone. Use jupyterlab_muster.connect() or insert code for %1',
          name
        ),
        dot: 'warn'
      };
    case 'no-dask':
      return {
        label: trans.__('%1 (no Dask)', name),
        caption: trans.__(
          'The kernel cannot import distributed: %1',
          state.message
        ),
        dot: 'warn'
      };
    case 'failed':
      return {
        label: trans.__('%1 (not connected)', name),
        caption: trans.__(
          'The kernel could not be connected to %1: %2',
          name,
          state.message
        ),
        dot: 'error'
      };
    case 'connected':
      return connectedWords(name, state.named, cluster, trans);
  }
}

function connectedWords(
  name: string,
  named: boolean,
  cluster: ClusterView | null,
  trans: TranslationBundle
): LinkWords {
  const workers = cluster === null ? 0 : connectedWorkers(cluster);
  return {
    label: trans.__('%1 · %2', name, workers),
    caption: named
      ? trans._n(
          'The kernel is connected to %2 (%1 worker) as client',
          'The kernel is connected to %2 (%1 workers) as client',
          workers,
          name
        )
      : trans._n(
          'The kernel is connected to %2 (%1 worker); your variable client was left alone, use distributed.get_client()',
          'The kernel is connected to %2 (%1 workers); your variable client was left alone, use distributed.get_client()',
          workers,
          name
        ),
    dot: cluster === null ? 'ok' : clusterTone(cluster)
  };
}

/** What stands right of a cluster's name in the picker's menu. */
export function clusterDetail(
  cluster: ClusterView,
  trans: TranslationBundle
): string {
  switch (cluster.phase) {
    case 'creating':
      return trans.__('starting');
    case 'stopping':
      return trans.__('stopping');
    case 'stopped':
      return trans.__('stopped');
    case 'failed':
      return trans.__('failed');
    case 'running':
      return trans._n('%1 worker', '%1 workers', connectedWorkers(cluster));
  }
}
