/**
 * Keeps the way to the bridge open while somebody looks: handshake with the Jupyter half, event
 * stream, resume, backoff. While nobody looks it does nothing at all.
 */
import type { IConnectionStatus, ServerConnection } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type { ClientMessage, ServerMessage } from '../../protocol/index.js';
import { MusterError, PROTOCOL_VERSION } from '../../protocol/index.js';
import type { Link } from '../tokens.js';
import type { BridgeClient } from './bridge-client.js';
import { EventStream } from './event-stream.js';
import { failure, linkOfHalf } from './link.js';
import { isOffline } from './response-error.js';

const FIRST_DELAY_MS = 500;
/** A dead server must not be hammered by every open tab (dask-labextension #43). */
const LONGEST_DELAY_MS = 120_000;
const STARTING_DELAY_MS = 1_000;
/** How often to look whether JupyterLab says it is connected again; asks nothing of the network. */
const OFFLINE_DELAY_MS = 2_000;
/** Upgrades refused this often while HTTP works: a proxy eats WebSockets; poll instead. */
const REFUSALS_BEFORE_POLLING = 3;
const POLL_DELAY_MS = 5_000;

export class Connection implements IDisposable {
  constructor(options: Connection.IOptions) {
    this._options = options;
  }

  get link(): Link {
    return this._link;
  }

  get linkChanged(): ISignal<this, Link> {
    return this._linkChanged;
  }

  /** `hello` and `ping` are dealt with here; the rest is handed on. */
  get message(): ISignal<this, ServerMessage> {
    return this._message;
  }

  /** The event stream was (re)opened: say again what is watched. */
  get opened(): ISignal<this, void> {
    return this._opened;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Open the way and keep it open. */
  start(): void {
    if (this._isWanted || this._isDisposed) {
      return;
    }
    this._isWanted = true;
    this._delay = FIRST_DELAY_MS;
    void this._step();
  }

  /** Close the stream and stop every timer. What was heard stays, and is resumed from. */
  pause(): void {
    this._isWanted = false;
    this._attempt += 1;
    window.clearTimeout(this._timer);
    this._stream?.dispose();
    this._stream = null;
  }

  /** Look again now: "Check again", "Refresh", after "Restart bridge". */
  retry(): void {
    if (!this._isWanted) {
      return;
    }
    this.pause();
    this._refusals = 0;
    this.start();
  }

  send(message: ClientMessage): void {
    this._stream?.send(message);
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this.pause();
    this._isDisposed = true;
    Signal.clearData(this);
  }

  /** One look at the Jupyter half, and what follows from it. */
  private async _step(): Promise<void> {
    const attempt = (this._attempt += 1);
    window.clearTimeout(this._timer);
    if (this._options.connectionStatus?.isConnected === false) {
      this._lost();
      this._again(OFFLINE_DELAY_MS);
      return;
    }
    try {
      const half = await this._options.client.half();
      if (attempt !== this._attempt) {
        return;
      }
      const link = linkOfHalf(half);
      if (link === null) {
        this._openStream();
        return;
      }
      if (half?.bridge.state === 'absent') {
        await this._wake(attempt, link);
        return;
      }
      this._setLink(link);
      this._afterHalf(link);
    } catch (error) {
      if (attempt === this._attempt) {
        this._failed(error as MusterError);
      }
    }
  }

  /** Only a request to the bridge itself makes the Jupyter half start it, or say why it cannot. */
  private async _wake(attempt: number, link: Link): Promise<void> {
    if (this._link.state === 'connecting') {
      this._setLink(link);
    }
    try {
      await this._options.client.health();
      if (attempt === this._attempt) {
        this._openStream();
      }
    } catch (error) {
      if (attempt !== this._attempt) {
        return;
      }
      if (error instanceof MusterError && error.code === 'bridge-starting') {
        this._setLink(link);
        this._again(STARTING_DELAY_MS);
      } else {
        this._failed(error as MusterError);
      }
    }
  }

  private _afterHalf(link: Link): void {
    switch (link.state) {
      case 'starting':
        this._again(STARTING_DELAY_MS);
        break;
      case 'failed':
      case 'node-missing':
        this._again(this._backoff());
        break;
      default:
        // Missing half or foreign protocol: nothing changes by asking; "Check again" asks.
        break;
    }
  }

  private _failed(error: MusterError): void {
    if (isOffline(error) && this._wasLive) {
      this._lost();
    } else {
      this._setLink(failure(error, ''));
    }
    this._again(this._backoff());
  }

  private _openStream(): void {
    this._stream?.dispose();
    let heard = false;
    this._stream = new EventStream({
      serverSettings: this._options.serverSettings,
      after: this._seq,
      onMessage: message => {
        heard = true;
        this._onMessage(message);
      },
      onEnd: () => {
        this._stream = null;
        if (heard) {
          this._lost();
          this._again(this._backoff());
        } else {
          void this._onRefused();
        }
      }
    });
  }

  private _onMessage(message: ServerMessage): void {
    if (message.type === 'hello') {
      if (message.protocol !== PROTOCOL_VERSION) {
        this.pause();
        this._isWanted = true;
        this._setLink({
          state: 'version-mismatch',
          panel: PROTOCOL_VERSION,
          server: message.protocol
        });
        return;
      }
      this._refusals = 0;
      this._delay = FIRST_DELAY_MS;
      const isOther =
        this._streamId !== null && this._streamId !== message.stream;
      this._streamId = message.stream;
      if (isOther && this._seq !== null) {
        // The store was restored or is another one: our place in it means nothing any more.
        this._seq = null;
        this._openStream();
        return;
      }
      this._opened.emit();
      return;
    }
    if ('seq' in message) {
      this._seq = Math.max(this._seq ?? 0, message.seq);
    }
    this._message.emit(message);
    this._setLink({ state: 'live' });
  }

  /** The upgrade failed, or ended without a word. HTTP may still work. */
  private async _onRefused(): Promise<void> {
    this._refusals += 1;
    if (this._refusals < REFUSALS_BEFORE_POLLING) {
      this._lost();
      this._again(this._backoff());
      return;
    }
    const attempt = (this._attempt += 1);
    try {
      const [clusters, backends] = await Promise.all([
        this._options.client.clusters(),
        this._options.client.backends()
      ]);
      if (attempt !== this._attempt) {
        return;
      }
      this._message.emit({ type: 'snapshot', seq: 0, clusters, backends });
      this._setLink({ state: 'live' });
      this._again(POLL_DELAY_MS);
    } catch (error) {
      if (attempt === this._attempt) {
        this._failed(error as MusterError);
      }
    }
  }

  private _lost(): void {
    if (this._wasLive && this._link.state !== 'reconnecting') {
      this._setLink({ state: 'reconnecting', since: Date.now() });
    }
  }

  private _again(delay: number): void {
    if (!this._isWanted) {
      return;
    }
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => {
      void this._step();
    }, delay);
  }

  /** Doubling with jitter, so that a hundred tabs do not come back in one second. */
  private _backoff(): number {
    const delay = this._delay * (0.75 + Math.random() / 2);
    this._delay = Math.min(this._delay * 2, LONGEST_DELAY_MS);
    return delay;
  }

  private _setLink(link: Link): void {
    if (link.state === 'live') {
      this._wasLive = true;
      if (this._link.state === 'live') {
        return;
      }
    }
    this._link = link;
    this._linkChanged.emit(link);
  }

  private _options: Connection.IOptions;
  private _link: Link = { state: 'connecting' };
  private _stream: EventStream | null = null;
  private _streamId: string | null = null;
  private _seq: number | null = null;
  private _timer = 0;
  private _delay = FIRST_DELAY_MS;
  private _refusals = 0;
  /** Grows with each attempt: answers to an older one are stale (W19). */
  private _attempt = 0;
  private _isWanted = false;
  private _wasLive = false;
  private _isDisposed = false;
  private _linkChanged = new Signal<this, Link>(this);
  private _message = new Signal<this, ServerMessage>(this);
  private _opened = new Signal<this, void>(this);
}

export namespace Connection {
  export interface IOptions {
    client: BridgeClient;
    serverSettings: ServerConnection.ISettings;
    /** JupyterLab's own word on whether the server is there; nothing is asked while it says no. */
    connectionStatus: IConnectionStatus | null;
  }
}
