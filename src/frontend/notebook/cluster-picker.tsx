/** The toolbar item beside the kernel's name: which cluster this notebook computes on. */
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import type { MouseEvent, ReactElement } from 'react';
import type { ClusterView } from '../../protocol/index.js';
import type { IClusterSource } from './cluster-source.js';
import { linkWords } from './link-words.js';
import type { NotebookLink } from './notebook-link.js';
import { PickerMenu } from './picker-menu.js';

export class ClusterPicker extends ReactWidget {
  constructor(options: ClusterPicker.IOptions) {
    super();
    this.addClass('jp-MusterPicker');
    this._link = options.link;
    this._trans = options.trans;
    this._menu = new PickerMenu(options);
    this._menu.closed.connect(this._onMenuClose, this);
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._menu.closed.disconnect(this._onMenuClose, this);
    this._menu.dispose();
    super.dispose();
  }

  protected override render(): ReactElement {
    return (
      <UseSignal signal={this._link.changed}>
        {() => (
          <PickerButton
            link={this._link}
            trans={this._trans}
            onOpen={this._onOpen}
          />
        )}
      </UseSignal>
    );
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._link.setVisible(true);
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._link.setVisible(this.isVisible);
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._link.setVisible(false);
  }

  protected override onBeforeDetach(message: Message): void {
    this._link.setVisible(false);
    super.onBeforeDetach(message);
  }

  private readonly _onOpen = (button: HTMLElement): void => {
    button.setAttribute('aria-expanded', 'true');
    this._menu.open(button);
  };

  private _onMenuClose(): void {
    this.node
      .querySelector('[aria-expanded]')
      ?.setAttribute('aria-expanded', 'false');
  }

  private readonly _link: NotebookLink;
  private readonly _trans: TranslationBundle;
  private readonly _menu: PickerMenu;
}

export namespace ClusterPicker {
  export interface IOptions {
    link: NotebookLink;
    source: IClusterSource;
    trans: TranslationBundle;
    choose: (cluster: ClusterView) => void;
    startAgain: () => Promise<void>;
    newCluster: () => Promise<void>;
  }
}

function PickerButton(props: {
  link: NotebookLink;
  trans: TranslationBundle;
  onOpen: (button: HTMLElement) => void;
}): ReactElement {
  const { label, caption, dot } = linkWords(props.link, props.trans);
  return (
    <button
      type="button"
      className="jp-MusterPicker-button"
      aria-haspopup="menu"
      aria-expanded="false"
      aria-label={props.trans.__('Cluster: %1. %2', label, caption)}
      title={caption}
      onClick={(event: MouseEvent<HTMLButtonElement>) => {
        props.onOpen(event.currentTarget);
      }}
    >
      <span className={`jp-MusterDot jp-type-${dot}`} aria-hidden="true" />
      <span className="jp-MusterPicker-label">{label}</span>
      <span className="jp-MusterPicker-caret" aria-hidden="true" />
    </button>
  );
}
