import { ReactWidget } from '@jupyterlab/ui-components';
import { GroupItem, TextItem } from '@jupyterlab/statusbar';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import { CommandIDs } from '../commands.js';
import { clustersIcon } from '../elements/icons.js';
import type { Muster } from '../elements/muster-context.js';
import {
  MusterContext,
  useClusters,
  useMuster
} from '../elements/muster-context.js';
import { hasEnded } from '../model/cluster-order.js';

/** `2 · 12 workers`; only what is known now is said, nothing is asked for it. */
export class StatusItem extends ReactWidget {
  constructor(options: { muster: Muster }) {
    super();
    this._muster = options.muster;
    this.addClass('jp-MusterStatus');
    this._muster.model.changed.connect(this._onChanged, this);
  }

  get isWorthShowing(): boolean {
    const { model } = this._muster;
    return model.isReady && model.clusters.some(view => !hasEnded(view));
  }

  get worthChanged(): ISignal<this, void> {
    return this._worthChanged;
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._muster.model.changed.disconnect(this._onChanged, this);
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return (
      <MusterContext.Provider value={this._muster}>
        <Status />
      </MusterContext.Provider>
    );
  }

  private _onChanged(): void {
    if (this.isWorthShowing !== this._wasWorth) {
      this._wasWorth = this.isWorthShowing;
      this._worthChanged.emit();
    }
  }

  private _muster: Muster;
  private _wasWorth = false;
  private _worthChanged = new Signal<this, void>(this);
}

function Status(): React.JSX.Element {
  const model = useClusters();
  const { commands, trans } = useMuster();
  const living = model.clusters.filter(view => !hasEnded(view));
  const workers = living.reduce(
    (sum, view) =>
      sum + view.groups.reduce((all, group) => all + group.counts.connected, 0),
    0
  );
  const isCurrent = model.link.state === 'live';
  const said = trans.__(
    '%1 · %2',
    living.length,
    trans._n('%1 worker', '%1 workers', workers)
  );
  return (
    <GroupItem
      spacing={4}
      role="button"
      tabIndex={0}
      title={trans.__('Dask clusters: %1. Show the panel.', said)}
      onClick={() => {
        void commands.execute(CommandIDs.showPanel);
      }}
      onKeyDown={event => {
        if (event.key === 'Enter' || event.key === ' ') {
          void commands.execute(CommandIDs.showPanel);
        }
      }}
    >
      <clustersIcon.react tag="span" width="16px" height="16px" />
      <TextItem source={isCurrent ? said : trans.__('reconnecting…')} />
    </GroupItem>
  );
}
