/** The public service: the model, and a place for the notebook half to offer its hooks. */
import type { IDisposable } from '@lumino/disposable';
import { DisposableDelegate } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type { IMusterClusters, INotebookHooks } from '../tokens.js';
import type { ClustersModel } from './clusters-model.js';

export class MusterClusters implements IMusterClusters {
  constructor(options: { model: ClustersModel }) {
    this.model = options.model;
  }

  readonly model: ClustersModel;

  get notebook(): INotebookHooks | null {
    return this._notebook;
  }

  get notebookChanged(): ISignal<this, void> {
    return this._notebookChanged;
  }

  setNotebookHooks(hooks: INotebookHooks): IDisposable {
    this._notebook = hooks;
    this._notebookChanged.emit();
    return new DisposableDelegate(() => {
      if (this._notebook === hooks) {
        this._notebook = null;
        this._notebookChanged.emit();
      }
    });
  }

  private _notebook: INotebookHooks | null = null;
  private _notebookChanged = new Signal<this, void>(this);
}
