/** Follows the kernel behind a session: which incarnation of it is alive, and which language it speaks. */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { ISignal } from '@lumino/signaling';

/** What of a session context is watched. */
export type WatchedSession = Pick<
  ISessionContext,
  'session' | 'kernelChanged' | 'statusChanged'
>;

/** One life of a kernel: from its start, or last restart, to the next. */
export type Incarnation = {
  readonly kernel: Kernel.IKernelConnection;
  /** Grows with every restart of whichever kernel. */
  readonly epoch: number;
  /** Lower case, e.g. `python`; null until it is known. */
  readonly language: string | null;
};

/**
 * Signals of the same restart come twice and thrice (the session and the kernel both say
 * `restarting`, an automatic restart adds `autorestarting`, and a `kernelChanged` with the same
 * kernel on both sides follows): here they are one.
 */
export class KernelWatch implements IDisposable {
  constructor(session: WatchedSession) {
    this._session = session;
    session.kernelChanged.connect(this._onKernelChanged, this);
    session.statusChanged.connect(this._onStatusChanged, this);
    this._take();
  }

  /** The present incarnation, or null while there is no living kernel. */
  get current(): Incarnation | null {
    return this._current;
  }

  /**
   * `current` is another one, or its language has become known. After a restart it is emitted one
   * microtask late: `KernelConnection.restart()` says `restarting` before it throws away pending
   * requests, so that one made at once would be lost. One made now is the first the new kernel
   * gets, before any cell the user can run
   * (jupyterlab/jupyterlab: packages/services/src/kernel/default.ts).
   */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The kernel has answered a request of ours: a later `starting` is then another start of it. */
  settled(incarnation: Incarnation): void {
    if (incarnation.epoch === this._current?.epoch) {
      this._settled = true;
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
    this._session.kernelChanged.disconnect(this._onKernelChanged, this);
    this._session.statusChanged.disconnect(this._onStatusChanged, this);
    this._current = null;
    Signal.clearData(this);
  }

  private _onKernelChanged(): void {
    if (this._take()) {
      this._changed.emit();
    }
  }

  private _onStatusChanged(_: unknown, status: Kernel.Status): void {
    switch (status) {
      case 'restarting':
      case 'autorestarting':
        if (!this._restarting) {
          this._restarting = true;
          this._renew();
        }
        break;
      case 'starting':
        // Restarted by somebody else: their page says `restarting`, ours only hears it start.
        if (!this._restarting && this._settled) {
          this._renew();
        }
        break;
      case 'dead':
      case 'terminating':
        this._restarting = false;
        if (this._current !== null) {
          this._current = null;
          this._changed.emit();
        }
        break;
      case 'idle':
      case 'busy':
        this._restarting = false;
        break;
      default:
        break;
    }
  }

  /** Another incarnation of the kernel we have. */
  private _renew(): void {
    const old = this._current;
    if (old === null) {
      return;
    }
    const fresh = { ...old, epoch: ++this._epoch };
    this._current = fresh;
    this._settled = false;
    void Promise.resolve().then(() => {
      if (this._current === fresh) {
        this._changed.emit();
      }
    });
  }

  /** Take up the session's kernel; is it another one? */
  private _take(): boolean {
    const kernel = this._session.session?.kernel ?? null;
    if (kernel === null || kernel.isDisposed || kernel.status === 'dead') {
      const had = this._current !== null;
      this._current = null;
      return had;
    }
    if (this._current?.kernel === kernel) {
      return false;
    }
    this._restarting = false;
    this._settled = false;
    this._current = { kernel, epoch: ++this._epoch, language: null };
    void this._learnLanguage(kernel);
    return true;
  }

  private async _learnLanguage(
    kernel: Kernel.IKernelConnection
  ): Promise<void> {
    const spec = await kernel.spec.catch(() => undefined);
    // A kernel that hides its spec (a remote one of a gateway) says its language itself.
    const language =
      spec?.language ??
      (await kernel.info.then(
        info => info.language_info.name,
        () => ''
      ));
    if (this._current?.kernel === kernel) {
      this._current = { ...this._current, language: language.toLowerCase() };
      this._changed.emit();
    }
  }

  private readonly _session: WatchedSession;
  private readonly _changed = new Signal<this, void>(this);
  private _current: Incarnation | null = null;
  private _epoch = 0;
  private _restarting = false;
  private _settled = false;
  private _isDisposed = false;
}
