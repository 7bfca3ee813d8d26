/** What a dashboard pane shows, and whose: it follows the panel, or is pinned to one cluster. */
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import { followed, hasDashboards } from '../../panels/dashboards/model.js';
import type { IClustersModel } from '../../tokens.js';
import type { ClusterId, ClusterView } from '../../../protocol/index.js';

/** The scheduler's own front page. */
export const STATUS_PLOT = 'status';

export class PaneState {
  constructor(options: {
    plot: string;
    title: string;
    /** null: follow the panel. */
    pinned: ClusterId | null;
  }) {
    this.plot = options.plot;
    this.title = options.title;
    this._pinned = options.pinned;
  }

  readonly plot: string;
  readonly title: string;

  get pinned(): ClusterId | null {
    return this._pinned;
  }

  set pinned(pinned: ClusterId | null) {
    this._pinned = pinned;
    this._changed.emit();
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Whose plot is shown; null: nobody's, so nothing is asked of anybody. */
  clusterOf(model: IClustersModel): ClusterView | null {
    if (this._pinned === null) {
      return followed(model);
    }
    const view = model.get(this._pinned);
    return view !== undefined && hasDashboards(view) ? view : null;
  }

  private _pinned: ClusterId | null;
  private _changed = new Signal<this, void>(this);
}
