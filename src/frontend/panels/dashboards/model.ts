/** Which cluster the Dashboards section points at, and its scheduler's own list of plots. */
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type { ClusterView, DashboardView } from '../../../protocol/index.js';
import type { IClustersModel } from '../../tokens.js';
import { plotOf, plotTitle } from './plot-name.js';

const FIRST_RETRY_MS = 3_000;
const LONGEST_RETRY_MS = 60_000;

/** The cluster whose dashboards are shown: the selected one, else the only one that runs. */
export function followed(model: IClustersModel): ClusterView | null {
  const selected =
    model.selected === null ? undefined : model.get(model.selected);
  if (selected !== undefined && hasDashboards(selected)) {
    return selected;
  }
  const running = model.clusters.filter(hasDashboards);
  return running.length === 1 ? (running[0] ?? null) : null;
}

export function hasDashboards(view: ClusterView): boolean {
  return view.phase === 'running' && view.scheduler.dashboard !== null;
}

export class PlotsModel implements IDisposable {
  constructor(options: PlotsModel.IOptions) {
    this._clusters = options.clusters;
    this._clusters.changed.connect(this._update, this);
  }

  get cluster(): ClusterView | null {
    return followed(this._clusters);
  }

  /** In alphabetic order of their titles; empty until known. */
  get plots(): readonly DashboardView[] {
    return this._plots;
  }

  get error(): string | null {
    return this._error;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Nothing is asked while the section is hidden. */
  set isActive(isActive: boolean) {
    this._isActive = isActive;
    if (!isActive) {
      window.clearTimeout(this._timer);
      return;
    }
    if (this._error !== null) {
      this._key = null; // what could not be had while looked at is asked for again
    }
    this._update();
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    window.clearTimeout(this._timer);
    this._clusters.changed.disconnect(this._update, this);
    Signal.clearData(this);
  }

  private _update(): void {
    if (!this._isActive) {
      return;
    }
    const { cluster } = this;
    const key =
      cluster === null
        ? null
        : `${cluster.id} ${cluster.scheduler.address ?? ''}`;
    if (key === this._key) {
      return;
    }
    this._key = key;
    window.clearTimeout(this._timer);
    this._retry = FIRST_RETRY_MS;
    this._plots = [];
    this._error = null;
    this._changed.emit();
    if (cluster !== null && key !== null) {
      void this._load(cluster.id, key);
    }
  }

  /** Answers of a cluster no longer looked at are dropped (W19); a dead one is not asked (W12). */
  private async _load(id: string, key: string): Promise<void> {
    try {
      const plots = await this._clusters.dashboards(id);
      if (key !== this._key) {
        return;
      }
      this._plots = plots
        .map(plot => ({
          name: plot.name,
          title: plotTitle(plot),
          path: plotOf(plot.path)
        }))
        .sort((a, b) => a.title.localeCompare(b.title));
      this._error = null;
    } catch (error) {
      if (key !== this._key) {
        return;
      }
      this._error = error instanceof Error ? error.message : String(error);
      if (!this._isActive) {
        return;
      }
      this._timer = window.setTimeout(() => {
        void this._load(id, key);
      }, this._retry);
      this._retry = Math.min(this._retry * 2, LONGEST_RETRY_MS);
    }
    this._changed.emit();
  }

  private _clusters: IClustersModel;
  private _plots: readonly DashboardView[] = [];
  private _error: string | null = null;
  private _key: string | null = null;
  private _timer = 0;
  private _retry = FIRST_RETRY_MS;
  private _isActive = false;
  private _isDisposed = false;
  private _changed = new Signal<this, void>(this);
}

export namespace PlotsModel {
  export interface IOptions {
    clusters: IClustersModel;
  }
}
