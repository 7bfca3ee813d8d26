/** One link for each open notebook, from its opening to its end. */
import { Notification } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import type { ClusterView } from '../../protocol/index.js';
import type { IClusterSource } from './cluster-source.js';
import { linkWords } from './link-words.js';
import { NotebookLink } from './notebook-link.js';

export class NotebookLinks implements IDisposable {
  constructor(options: NotebookLinks.IOptions) {
    this._options = options;
    options.tracker.widgetAdded.connect(this._onAdded, this);
    options.tracker.forEach(panel => {
      this.of(panel);
    });
  }

  /** The link of a notebook; made when first asked for, ended with the notebook. */
  of(panel: NotebookPanel): NotebookLink {
    const known = this._links.get(panel);
    if (known !== undefined) {
      return known;
    }
    const { source, automatic } = this._options;
    const model = panel.context.model;
    const link = new NotebookLink({
      model,
      session: panel.sessionContext,
      source,
      automatic
    });
    this._links.set(panel, link);
    link.changed.connect(this._onChanged, this);
    panel.disposed.connect(this._onDisposed, this);
    return link;
  }

  /** The link of the notebook last worked in, or null. */
  get current(): NotebookLink | null {
    const panel = this._options.tracker.currentWidget;
    return panel === null ? null : this.of(panel);
  }

  /** Bind, or say why it cannot be. */
  choose(link: NotebookLink, cluster: Pick<ClusterView, 'id' | 'name'>): void {
    const { trans } = this._options;
    const { refusal } = link;
    if (refusal !== null) {
      Notification.warning(
        trans.__(
          'This notebook’s kernel speaks %1. Dask clusters need a Python kernel, so it was not connected to %2.',
          refusal.language,
          cluster.name
        )
      );
      return;
    }
    this._warned.delete(link);
    link.bind(cluster);
  }

  /** The setting changed: what was held back may connect now. */
  lookAgain(): void {
    for (const link of this._links.values()) {
      link.lookAgain();
    }
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._options.tracker.widgetAdded.disconnect(this._onAdded, this);
    for (const [panel, link] of this._links) {
      panel.disposed.disconnect(this._onDisposed, this);
      link.changed.disconnect(this._onChanged, this);
      link.dispose();
    }
    this._links.clear();
  }

  private _onAdded(_: unknown, panel: NotebookPanel): void {
    this.of(panel);
  }

  private _onDisposed(panel: NotebookPanel): void {
    const link = this._links.get(panel);
    this._links.delete(panel);
    link?.changed.disconnect(this._onChanged, this);
    link?.dispose();
  }

  /** A kernel that cannot is named once, also when it is restarted ten times. */
  private _onChanged(link: NotebookLink): void {
    const { kind } = link.state;
    if (kind === 'connected') {
      this._warned.delete(link);
    }
    if ((kind !== 'no-dask' && kind !== 'failed') || this._warned.has(link)) {
      return;
    }
    this._warned.add(link);
    Notification.warning(linkWords(link, this._options.trans).caption);
  }

  private readonly _options: NotebookLinks.IOptions;
  private readonly _links = new Map<NotebookPanel, NotebookLink>();
  private readonly _warned = new WeakSet<NotebookLink>();
  private _isDisposed = false;
}

export namespace NotebookLinks {
  export interface IOptions {
    tracker: INotebookTracker;
    source: IClusterSource;
    trans: TranslationBundle;
    automatic: () => boolean;
  }
}
