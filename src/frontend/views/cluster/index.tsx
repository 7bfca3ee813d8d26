/** The shell of a cluster's view: a main-area widget whose title follows the cluster. */
import { MainAreaWidget } from '@jupyterlab/apputils';
import { clustersIcon } from '../../elements/icons.js';
import type { Muster } from '../../elements/muster-context.js';
import type { ClustersModel } from '../../model/clusters-model.js';
import { ViewingWidget } from '../viewing-widget.js';
import { ClusterBody } from './body.js';
import type { ViewState } from './view-state.js';

export class ClusterViewWidget extends MainAreaWidget<ViewingWidget> {
  constructor(options: ClusterViewWidget.IOptions) {
    const { muster, state } = options;
    super({
      content: new ViewingWidget(muster, <ClusterBody state={state} />)
    });
    this.state = state;
    this._model = muster.model;
    this._muster = muster;
    this.id = `muster-cluster-${state.cluster}`;
    this.addClass('jp-MusterClusterView');
    this.title.icon = clustersIcon;
    this.title.closable = true;
    this.toolbar.hide();
    this._model.changed.connect(this._rename, this);
    this._rename();
  }

  readonly state: ViewState;

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._model.changed.disconnect(this._rename, this);
    super.dispose();
  }

  private _rename(): void {
    const view = this._model.get(this.state.cluster);
    this.title.label =
      view?.name ?? (this.title.label || this._muster.trans.__('Cluster'));
    this.title.caption = this._muster.trans.__('Cluster %1', this.title.label);
  }

  private _model: ClustersModel;
  private _muster: Muster;
}

export namespace ClusterViewWidget {
  export interface IOptions {
    muster: Muster;
    state: ViewState;
  }
}
