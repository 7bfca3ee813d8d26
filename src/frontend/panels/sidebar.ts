/** The sidebar's tab: two sections, live while visible, silent while hidden. */
import { SidePanel } from '@jupyterlab/ui-components';
import type { ITranslator } from '@jupyterlab/translation';
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
}

export namespace MusterSidebar {
  export interface IOptions {
    muster: Muster;
    translator: ITranslator;
  }
}
