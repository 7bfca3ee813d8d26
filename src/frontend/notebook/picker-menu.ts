/** The menu under the picker: the clusters with live dots and counts, and what can be done. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { MenuSvg } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { ISignal } from '@lumino/signaling';
import { h } from '@lumino/virtualdom';
import type { VirtualElement } from '@lumino/virtualdom';
import type { Menu } from '@lumino/widgets';
import type { ClusterView } from '../../protocol/index.js';
import { clusterTone } from '../elements/words.js';
import { hasEnded } from './cluster-source.js';
import type { IClusterSource } from './cluster-source.js';
import { clusterDetail } from './link-words.js';
import type { NotebookLink } from './notebook-link.js';

/** The menu's own commands: items of one notebook's menu, not of the palette. */
const CHOOSE = 'muster-picker:choose-cluster';
const WAIT = 'muster-picker:show-waiting';
const START_AGAIN = 'muster-picker:start-again';
const CONNECT_AGAIN = 'muster-picker:connect-again';
const NEW = 'muster-picker:new-cluster';
const DISCONNECT = 'muster-picker:disconnect';
const RECONNECT = 'muster-picker:toggle-reconnect';

export class PickerMenu implements IDisposable {
  constructor(options: PickerMenu.IOptions) {
    this._options = options;
    this._commands = new CommandRegistry();
    this._addCommands();
    this._menu = new MenuSvg({
      commands: this._commands,
      renderer: new PickerRenderer(options)
    });
    this._menu.addClass('jp-MusterPickerMenu');
    this._menu.title.label = options.trans.__('Cluster of this notebook');
    this._menu.node.setAttribute('aria-label', this._menu.title.label);
    this._menu.aboutToClose.connect(this._onClose, this);
  }

  /** The menu has closed, by a choice or without one. */
  get closed(): ISignal<this, void> {
    return this._closed;
  }

  /** Below a button, its right edges aligned. */
  open(button: HTMLElement): void {
    const { source, link } = this._options;
    this._button = button;
    this._attached ??= source.attach();
    source.changed.connect(this._refresh, this);
    link.changed.connect(this._refresh, this);
    this._fill();
    this._show();
  }

  get isDisposed(): boolean {
    return this._menu.isDisposed;
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._onClose();
    this._menu.aboutToClose.disconnect(this._onClose, this);
    this._menu.dispose();
    Signal.clearData(this);
  }

  /** Counts change in place; other items need another menu, opened where the old one was. */
  private _refresh(): void {
    if (!this._menu.isAttached) {
      return;
    }
    const items = this._items();
    if (signature(items) === this._signature) {
      this._menu.update();
      return;
    }
    const active = this._menu.activeItem;
    this._isRefilling = true;
    try {
      // Lumino closes a menu whose items change.
      this._fill();
      this._show();
    } finally {
      this._isRefilling = false;
    }
    this._menu.activeIndex = this._menu.items.findIndex(
      item =>
        active !== null &&
        item.command === active.command &&
        JSON.stringify(item.args) === JSON.stringify(active.args)
    );
  }

  private _show(): void {
    if (this._button !== null) {
      const box = this._button.getBoundingClientRect();
      this._menu.open(box.right, box.bottom, { horizontalAlignment: 'right' });
    }
  }

  private _fill(): void {
    const items = this._items();
    this._signature = signature(items);
    this._menu.clearItems();
    for (const item of items) {
      this._menu.addItem(item);
    }
  }

  private _items(): Menu.IItemOptions[] {
    const { source, link } = this._options;
    const living = source.clusters.filter(cluster => !hasEnded(cluster));
    const items: Menu.IItemOptions[] = living.map(cluster => ({
      command: CHOOSE,
      args: { id: cluster.id }
    }));
    if (items.length === 0) {
      items.push({ command: WAIT });
    }
    items.push({ type: 'separator' });
    const { kind } = link.state;
    if (kind === 'cluster-ended') {
      items.push({ command: START_AGAIN });
    }
    if (kind === 'failed' || kind === 'paused' || kind === 'no-dask') {
      items.push({ command: CONNECT_AGAIN });
    }
    items.push(
      { command: NEW },
      { command: DISCONNECT },
      { type: 'separator' },
      { command: RECONNECT }
    );
    return items;
  }

  private _addCommands(): void {
    const { link, source, trans, choose, startAgain, newCluster } =
      this._options;
    const byArgs = (id: unknown): ClusterView | undefined =>
      source.clusters.find(cluster => cluster.id === id);
    const isBound = (): boolean => link.binding !== null;
    const args = { type: 'object', properties: {} } as const;
    this._commands.addCommand(CHOOSE, {
      label: ({ id }) => byArgs(id)?.name ?? '',
      isEnabled: ({ id }) => byArgs(id)?.phase !== 'stopping',
      execute: ({ id }) => {
        const cluster = byArgs(id);
        if (cluster !== undefined) {
          choose(cluster);
        }
      },
      describedBy: {
        args: { type: 'object', properties: { id: { type: 'string' } } }
      }
    });
    this._commands.addCommand(WAIT, {
      label: () =>
        source.ready
          ? trans.__('No cluster yet')
          : trans.__('Waiting for the bridge…'),
      isEnabled: () => false,
      execute: () => undefined,
      describedBy: { args }
    });
    this._commands.addCommand(START_AGAIN, {
      label: () => trans.__('Start %1 again', link.binding?.cluster.name ?? ''),
      isEnabled: () =>
        link.state.kind === 'cluster-ended' && link.state.record !== null,
      execute: () => startAgain(),
      describedBy: { args }
    });
    this._commands.addCommand(CONNECT_AGAIN, {
      label: () => trans.__('Connect now'),
      execute: () => {
        if (link.cluster !== null) {
          choose(link.cluster);
        }
      },
      describedBy: { args }
    });
    this._commands.addCommand(NEW, {
      label: trans.__('New cluster…'),
      execute: () => newCluster(),
      describedBy: { args }
    });
    this._commands.addCommand(DISCONNECT, {
      label: trans.__('Disconnect'),
      isEnabled: isBound,
      execute: () => {
        link.unbind();
      },
      describedBy: { args }
    });
    this._commands.addCommand(RECONNECT, {
      label: trans.__('Reconnect when the kernel restarts'),
      isEnabled: isBound,
      isToggled: () => link.binding?.reconnect ?? false,
      isToggleable: true,
      execute: () => {
        link.setReconnect(!(link.binding?.reconnect ?? false));
      },
      describedBy: { args }
    });
  }

  private _onClose(): void {
    if (this._isRefilling) {
      return;
    }
    const { source, link } = this._options;
    source.changed.disconnect(this._refresh, this);
    link.changed.disconnect(this._refresh, this);
    this._attached?.dispose();
    this._attached = null;
    this._button = null;
    this._closed.emit();
  }

  private readonly _options: PickerMenu.IOptions;
  private readonly _commands: CommandRegistry;
  private readonly _menu: Menu;
  private readonly _closed = new Signal<this, void>(this);
  private _button: HTMLElement | null = null;
  private _isRefilling = false;
  private _signature = '';
  private _attached: IDisposable | null = null;
}

export namespace PickerMenu {
  export interface IOptions {
    link: NotebookLink;
    source: IClusterSource;
    trans: TranslationBundle;
    /** Bind the notebook, or tell the user why not. */
    choose: (cluster: ClusterView) => void;
    startAgain: () => Promise<void>;
    newCluster: () => Promise<void>;
  }
}

function signature(items: readonly Menu.IItemOptions[]): string {
  return JSON.stringify(items);
}

/** A dot in place of the icon and the count in place of the shortcut. */
class PickerRenderer extends MenuSvg.Renderer {
  constructor(options: PickerMenu.IOptions) {
    super();
    this._options = options;
  }

  override renderIcon(data: Menu.IRenderData): VirtualElement {
    const cluster = this._cluster(data);
    return cluster === undefined
      ? super.renderIcon(data)
      : h.div(
          { className: 'lm-Menu-itemIcon' },
          h.span({
            className: `jp-MusterDot jp-type-${clusterTone(cluster)}`
          })
        );
  }

  override formatShortcut(data: Menu.IRenderData): h.Child {
    const cluster = this._cluster(data);
    return cluster === undefined
      ? super.formatShortcut(data)
      : clusterDetail(cluster, this._options.trans);
  }

  override createItemClass(data: Menu.IRenderData): string {
    const cluster = this._cluster(data);
    const bound =
      cluster !== undefined && cluster.id === this._options.link.cluster?.id;
    return `${super.createItemClass(data)}${bound ? ' jp-mod-bound' : ''}`;
  }

  private _cluster(data: Menu.IRenderData): ClusterView | undefined {
    const id = data.item.command === CHOOSE ? data.item.args['id'] : undefined;
    return id === undefined
      ? undefined
      : this._options.source.clusters.find(cluster => cluster.id === id);
  }

  private readonly _options: PickerMenu.IOptions;
}
