/** A React widget that keeps the clusters live exactly while it is visible. */
import { ReactWidget } from '@jupyterlab/ui-components';
import type { IDisposable } from '@lumino/disposable';
import type { Message } from '@lumino/messaging';
import { VisibleContext } from '../elements/clock.js';
import type { Muster } from '../elements/muster-context.js';
import { MusterContext } from '../elements/muster-context.js';

export class ViewingWidget extends ReactWidget {
  constructor(muster: Muster, body: React.JSX.Element) {
    super();
    this._muster = muster;
    this._body = body;
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._release();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return (
      <MusterContext.Provider value={this._muster}>
        <VisibleContext.Provider value={this._viewing !== null}>
          {this._body}
        </VisibleContext.Provider>
      </MusterContext.Provider>
    );
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) {
      this._hold();
    }
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._hold();
  }

  protected override onBeforeHide(message: Message): void {
    this._release();
    super.onBeforeHide(message);
  }

  protected override onBeforeDetach(message: Message): void {
    this._release();
    super.onBeforeDetach(message);
  }

  private _hold(): void {
    this._viewing ??= this._muster.model.attach();
    this.update();
  }

  private _release(): void {
    this._viewing?.dispose();
    this._viewing = null;
    if (!this.isDisposed && this.isAttached) {
      this.update(); // the clocks inside stop
    }
  }

  private _muster: Muster;
  private _body: React.JSX.Element;
  private _viewing: IDisposable | null = null;
}
