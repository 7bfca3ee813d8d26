/** The shell of a dashboard pane. */
import { MainAreaWidget } from '@jupyterlab/apputils';
import { plotIcon } from '../../elements/icons.js';
import type { Muster } from '../../elements/muster-context.js';
import { ViewingWidget } from '../viewing-widget.js';
import { DashboardBody } from './body.js';
import type { PaneState } from './pane-state.js';

export class DashboardPane extends MainAreaWidget<ViewingWidget> {
  constructor(options: DashboardPane.IOptions) {
    const { muster, state } = options;
    super({
      content: new ViewingWidget(muster, <DashboardBody state={state} />)
    });
    this.state = state;
    this.id = DashboardPane.idOf(state);
    this.addClass('jp-MusterDashboardPane');
    this.title.icon = plotIcon;
    this.title.label = state.title;
    this.title.caption = muster.trans.__('Dask plot: %1', state.title);
    this.title.closable = true;
    this.toolbar.hide();
  }

  readonly state: PaneState;

  /** One pane per plot that follows, and one per plot and cluster that is pinned. */
  static idOf(state: PaneState): string {
    return `muster-dashboard:${state.plot}:${state.pinned ?? ''}`;
  }
}

export namespace DashboardPane {
  export interface IOptions {
    muster: Muster;
    state: PaneState;
  }
}
