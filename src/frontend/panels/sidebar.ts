/** The sidebar's tab: two sections, live while visible, silent while hidden. */
import { SidePanel } from '@jupyterlab/ui-components';
import type { ITranslator } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import type { Message } from '@lumino/messaging';
import { AccordionPanel } from '@lumino/widgets';
import { clustersIcon } from '../elements/icons.js';
import type { Muster } from '../elements/muster-context.js';
import { ClustersSection } from './clusters/index.js';
import { DashboardsSection } from './dashboards/index.js';

export const PANEL_ID = 'muster-panel';

export class MusterSidebar extends SidePanel {
  constructor(options: MusterSidebar.IOptions) {
    super({ translator: options.translator });
    const { muster } = options;
    const { trans } = muster;
    this._muster = muster;
    this.id = PANEL_ID;
    this.addClass('jp-MusterPanel');
    this.title.icon = clustersIcon;
    this.title.caption = trans.__('Clusters');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Dask clusters'));
    this.clusters = new ClustersSection({ muster });
    this.dashboards = new DashboardsSection({ muster });
    this.addWidget(this.clusters);
    this.addWidget(this.dashboards);
    // Clusters with their figures need more room than a list of names.
    if (this.content instanceof AccordionPanel) {
      this.content.setRelativeSizes([3, 2]);
    }
  }

  readonly clusters: ClustersSection;
  readonly dashboards: DashboardsSection;

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._release();
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._attach();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this._attach();
    }
  }

  protected override onBeforeHide(message: Message): void {
    this._release();
    super.onBeforeHide(message);
  }

  protected override onBeforeDetach(message: Message): void {
    this._release();
    super.onBeforeDetach(message);
  }

  private _attach(): void {
    this._viewing ??= this._muster.model.attach();
  }

  private _release(): void {
    this._viewing?.dispose();
    this._viewing = null;
  }

  private _muster: Muster;
  private _viewing: IDisposable | null = null;
}

export namespace MusterSidebar {
  export interface IOptions {
    muster: Muster;
    translator: ITranslator;
  }
}
