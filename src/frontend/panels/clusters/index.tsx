/** The shell of the "Clusters" section: title, toolbar, body. */
import {
  addIcon,
  caretDownIcon,
  ellipsesIcon,
  PanelWithToolbar,
  refreshIcon,
  ToolbarButton
} from '@jupyterlab/ui-components';
import { Menu } from '@lumino/widgets';
import { CommandIDs } from '../../commands.js';
import type { Muster } from '../../elements/muster-context.js';
import { ViewingWidget } from '../../views/viewing-widget.js';
import { ClustersBody } from './body.js';

/** Has no state to show: the base class would look pressed after every other click. */
class PushButton extends ToolbarButton {
  override get pressed(): boolean {
    return false;
  }

  override set pressed(_value: boolean) {
    // It only fires.
  }
}

export class ClustersSection extends PanelWithToolbar {
  constructor(options: ClustersSection.IOptions) {
    super();
    this._muster = options.muster;
    const { trans, commands } = this._muster;
    this.addClass('jp-MusterClusters');
    this.title.label = trans.__('Clusters');
    this.toolbar.node.setAttribute('aria-label', trans.__('Clusters toolbar'));
    const body = new ViewingWidget(this._muster, <ClustersBody />);
    body.addClass('jp-MusterClusters-body');
    this.addWidget(body);
    this.toolbar.addItem(
      'new',
      new PushButton({
        icon: addIcon,
        tooltip: trans.__('New cluster…'),
        onClick: () => {
          void commands.execute(CommandIDs.newCluster);
        }
      })
    );
    const profiles = new PushButton({
      icon: caretDownIcon,
      tooltip: trans.__('Start from a profile'),
      onClick: () => {
        void this._openProfiles(profiles.node);
      }
    });
    this.toolbar.addItem('profiles', profiles);
    this.toolbar.addItem(
      'refresh',
      new PushButton({
        icon: refreshIcon,
        tooltip: trans.__('Refresh'),
        onClick: () => {
          void commands.execute(CommandIDs.refresh);
        }
      })
    );
    const more = new PushButton({
      icon: ellipsesIcon,
      tooltip: trans.__('More'),
      onClick: () => {
        this._openMenu(more.node, [
          { command: CommandIDs.stopAll },
          { command: CommandIDs.forgetEnded },
          { type: 'separator' },
          { command: CommandIDs.launchLayout },
          { command: CommandIDs.restartBridge },
          {
            command: 'settingeditor:open',
            args: { query: trans.__('Clusters') }
          }
        ]);
      }
    });
    this.toolbar.addItem('more', more);
  }

  /** Profiles are few and may change at any time: asked for when the menu opens. */
  private async _openProfiles(anchor: HTMLElement): Promise<void> {
    const { client, trans, model } = this._muster;
    const profiles = await client.profiles().catch(() => []);
    const items: Menu.IItemOptions[] = profiles.map(profile => ({
      command: CommandIDs.startCluster,
      args: {
        profile: profile.name,
        label: profile.title ?? profile.name
      }
    }));
    const backends: Menu.IItemOptions[] = model.backends
      .filter(backend => backend.available)
      .map(backend => ({
        command: CommandIDs.newCluster,
        args: { backend: backend.name, label: trans.__('%1…', backend.title) }
      }));
    this._openMenu(anchor, [
      ...items,
      ...(items.length > 0 && backends.length > 0
        ? [{ type: 'separator' } as const]
        : []),
      ...backends,
      ...(items.length + backends.length === 0
        ? [{ command: CommandIDs.newCluster }]
        : [])
    ]);
  }

  private _openMenu(anchor: HTMLElement, items: Menu.IItemOptions[]): void {
    const { commands } = this._muster;
    const menu = new Menu({ commands });
    for (const item of items) {
      if (item.command === undefined || commands.hasCommand(item.command)) {
        menu.addItem(item);
      }
    }
    menu.aboutToClose.connect(() => {
      // After the command has run: Lumino closes first and executes then.
      window.setTimeout(() => {
        menu.dispose();
      }, 0);
    });
    const { left, bottom } = anchor.getBoundingClientRect();
    menu.open(left, bottom);
  }

  private _muster: Muster;
}

export namespace ClustersSection {
  export interface IOptions {
    muster: Muster;
  }
}
