/** The shell of the "Dashboards" section: title, chooser, body. */
import { PanelWithToolbar, ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import type { Muster } from '../../elements/muster-context.js';
import { MusterContext } from '../../elements/muster-context.js';
import { ViewingWidget } from '../../views/viewing-widget.js';
import { ClusterChooser, DashboardsBody } from './body.js';
import { PlotsModel } from './model.js';

export class DashboardsSection extends PanelWithToolbar {
  constructor(options: DashboardsSection.IOptions) {
    super();
    const { muster } = options;
    this._plots = new PlotsModel({ clusters: muster.model });
    this.addClass('jp-MusterDashboards');
    this.title.label = muster.trans.__('Dashboards');
    this.toolbar.node.setAttribute(
      'aria-label',
      muster.trans.__('Dashboards toolbar')
    );
    const chooser = ReactWidget.create(
      <MusterContext.Provider value={muster}>
        <ClusterChooser />
      </MusterContext.Provider>
    );
    chooser.addClass('jp-MusterDashboards-chooser');
    this.toolbar.addItem('cluster', chooser);
    const body = new ViewingWidget(
      muster,
      <DashboardsBody plots={this._plots} />
    );
    body.addClass('jp-MusterDashboards-body');
    this.addWidget(body);
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._plots.dispose();
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._plots.isActive = true;
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._plots.isActive = this.isVisible;
  }

  protected override onBeforeHide(message: Message): void {
    this._plots.isActive = false;
    super.onBeforeHide(message);
  }

  private _plots: PlotsModel;
}

export namespace DashboardsSection {
  export interface IOptions {
    muster: Muster;
  }
}
