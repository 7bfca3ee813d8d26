/** The "Clusters" section of the Running panel. */
import type { IRunningSessions } from '@jupyterlab/running';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import { attempt } from '../actions/report.js';
import { CommandIDs } from '../commands.js';
import { clustersIcon } from '../elements/icons.js';
import type { Muster } from '../elements/muster-context.js';
import { clusterWord } from '../elements/words.js';
import { hasEnded } from '../model/cluster-order.js';
import type { ClusterView } from '../../protocol/index.js';
import { figuresOf } from './clusters/figures.js';

export class RunningClusters implements IRunningSessions.IManager {
  constructor(options: { muster: Muster }) {
    this._muster = options.muster;
    const { trans } = this._muster;
    this.name = trans.__('Clusters');
    this.shutdownLabel = trans.__('Stop');
    this.shutdownAllLabel = trans.__('Stop All');
    this.shutdownAllConfirmationText = trans.__(
      'Stop all clusters? What their workers hold in memory is lost.'
    );
    this._muster.model.changed.connect(this._onChanged, this);
  }

  readonly name: string;
  readonly shutdownLabel: string;
  readonly shutdownAllLabel: string;
  readonly shutdownAllConfirmationText: string;

  get runningChanged(): ISignal<this, void> {
    return this._runningChanged;
  }

  running(): IRunningSessions.IRunningItem[] {
    const { commands, trans } = this._muster;
    return this._living().map(view => ({
      icon: () => clustersIcon,
      label: () => view.name,
      labelTitle: () => `${view.backend}: ${clusterWord(view, trans)}`,
      detail: () => {
        const { connected } = figuresOf(view);
        return trans._n('%1 worker', '%1 workers', connected);
      },
      open: () => {
        void commands.execute(CommandIDs.openCluster, { cluster: view.id });
      },
      shutdown: () => {
        void commands.execute(CommandIDs.stopCluster, { cluster: view.id });
      }
    }));
  }

  /** The Running panel has asked already: it is confirmed. */
  shutdownAll(): void {
    const { model, trans } = this._muster;
    for (const view of this._living()) {
      void attempt(
        model.stop(view.id),
        trans.__('%1 could not be stopped', view.name),
        trans
      );
    }
  }

  /** The Running panel calls this when shown or refreshed: one look, then silence again. */
  refreshRunning(): void {
    const { model } = this._muster;
    const viewing = model.attach();
    const release = (): void => {
      viewing.dispose();
    };
    model.ready.then(release, release);
  }

  private _living(): ClusterView[] {
    return this._muster.model.clusters.filter(view => !hasEnded(view));
  }

  private _onChanged(): void {
    const key = this._living()
      .map(view => `${view.id} ${view.phase} ${figuresOf(view).connected}`)
      .join();
    if (key !== this._key) {
      this._key = key;
      this._runningChanged.emit();
    }
  }

  private _muster: Muster;
  private _key = '';
  private _runningChanged = new Signal<this, void>(this);
}
