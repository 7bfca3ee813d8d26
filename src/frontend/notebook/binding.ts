/**
 * The tie between a notebook and a cluster, kept in the notebook's metadata under `muster`.
 * By id and name only: an address or a certificate in a file that people share would be a leak
 * (specs/user-interface.md §4).
 */
import type { INotebookModel } from '@jupyterlab/notebook';
import { isId, NAME_PATTERN } from '../../protocol/index.js';
import type { ClusterId, ClusterView } from '../../protocol/index.js';
import { hasEnded } from './cluster-source.js';

export const BINDING_KEY = 'muster';

export type Binding = {
  cluster: { id: ClusterId; name: string };
  /** Run the connect code again when the kernel starts, restarts or is replaced. */
  reconnect: boolean;
};

/** What of a model the binding needs. */
export type BindingModel = Pick<
  INotebookModel,
  'getMetadata' | 'setMetadata' | 'deleteMetadata'
>;

/** The notebook's binding; null where there is none or where it is not one of ours. */
export function readBinding(model: BindingModel): Binding | null {
  const value: unknown = model.getMetadata(BINDING_KEY);
  if (!isRecord(value) || !isRecord(value['cluster'])) {
    return null;
  }
  const { id, name } = value['cluster'];
  if (typeof id !== 'string' || typeof name !== 'string') {
    return null;
  }
  if (!isId(id) || !NAME_PATTERN.test(name)) {
    return null;
  }
  return {
    cluster: { id: id as ClusterId, name },
    reconnect: value['reconnect'] !== false
  };
}

export function writeBinding(model: BindingModel, binding: Binding): void {
  model.setMetadata(BINDING_KEY, {
    cluster: { id: binding.cluster.id, name: binding.cluster.name },
    reconnect: binding.reconnect
  });
}

export function removeBinding(model: BindingModel): void {
  model.deleteMetadata(BINDING_KEY);
}

/**
 * The cluster a binding means: the one with its id while that lives, else a living one of its name
 * (started again, or the notebook came from somebody else), else the ended one, else null.
 *
 * The metadata is not rewritten when a name is followed: two people with one shared notebook and
 * two bridges would overwrite each other's id without end.
 */
export function boundCluster(
  binding: Binding,
  clusters: readonly ClusterView[]
): ClusterView | null {
  const same = clusters.find(cluster => cluster.id === binding.cluster.id);
  if (same !== undefined && !hasEnded(same)) {
    return same;
  }
  const named = clusters.find(
    cluster => cluster.name === binding.cluster.name && !hasEnded(cluster)
  );
  return named ?? same ?? null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
