/** Which cluster a command means: its argument, the row under the pointer, the selected one. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type {
  ReadonlyJSONObject,
  ReadonlyPartialJSONObject
} from '@lumino/coreutils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { hasEnded } from '../model/cluster-order.js';
import type { IClustersModel } from '../tokens.js';
import type { ClusterView } from '../../protocol/index.js';

export class CommandTarget {
  constructor(options: {
    model: IClustersModel;
    /** null outside JupyterLab: no context menu of the application's. */
    contextMenuHitTest: JupyterFrontEnd['contextMenuHitTest'] | null;
  }) {
    this._model = options.model;
    this._hitTest = options.contextMenuHitTest;
  }

  /** @returns null where no cluster is meant, or the one meant is gone. */
  of(args: ReadonlyPartialJSONObject): ClusterView | null {
    const wanted = args['cluster'];
    if (typeof wanted === 'string' && wanted !== '') {
      return this._model.get(wanted) ?? this._model.find(wanted) ?? null;
    }
    const row = this._hitTest?.(node => node.dataset['cluster'] !== undefined)
      ?.dataset['cluster'];
    if (row !== undefined) {
      return this._model.get(row) ?? null;
    }
    const { selected } = this._model;
    if (selected !== null) {
      return this._model.get(selected) ?? null;
    }
    const living = this._model.clusters.filter(view => !hasEnded(view));
    return living.length === 1 ? (living[0] ?? null) : null;
  }

  private _model: IClustersModel;
  private _hitTest: JupyterFrontEnd['contextMenuHitTest'] | null;
}

/** The JSON schema of arguments, with a cluster among them. */
export function clusterArgs(
  trans: TranslationBundle,
  more: Record<string, { type: string; description: string }> = {}
): { args: ReadonlyJSONObject } {
  return {
    args: {
      type: 'object',
      properties: {
        cluster: {
          type: 'string',
          description: trans.__(
            'Id or name of the cluster; default: the selected one'
          )
        },
        ...more
      }
    }
  };
}
