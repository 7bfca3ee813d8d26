/** One WebSocket to the bridge's events: opens, hears, notices silence, says why it ended. */
import { URLExt } from '@jupyterlab/coreutils';
import type { ServerConnection } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import type { ClientMessage, ServerMessage } from '../../protocol/index.js';

/** The server pings every 20 s; a connection silent for longer than this is dead. */
export const SILENCE_LIMIT_MS = 50_000;

/** A single connection; `Connection` makes the next one when this has ended. */
export class EventStream implements IDisposable {
  constructor(options: EventStream.IOptions) {
    this._options = options;
    const { serverSettings, after } = options;
    const query: Record<string, string> = {};
    if (after !== null) {
      query['after'] = String(after);
    }
    // Browsers cannot set headers on an upgrade; the token travels in the query where the settings
    // say so (jupyter-collaboration #538), else the cookie does.
    if (serverSettings.appendToken && serverSettings.token !== '') {
      query['token'] = serverSettings.token;
    }
    const url =
      URLExt.join(serverSettings.wsUrl, 'muster/api/v1/events') +
      URLExt.objectToQueryString(query);
    this._socket = new serverSettings.WebSocket(url);
    this._socket.onmessage = event => {
      this._onMessage(event);
    };
    this._socket.onclose = event => {
      this._end({ code: event.code, reason: event.reason });
    };
    this._watchSilence();
  }

  get isDisposed(): boolean {
    return this._isEnded;
  }

  send(message: ClientMessage): void {
    if (!this._isEnded && this._socket.readyState === 1) {
      this._socket.send(JSON.stringify(message));
    }
  }

  /** Ends without telling `onEnd`. */
  dispose(): void {
    if (this._isEnded) {
      return;
    }
    this._isEnded = true;
    window.clearTimeout(this._silence);
    this._socket.onmessage = null;
    this._socket.onclose = null;
    this._socket.close();
  }

  private _onMessage(event: MessageEvent): void {
    this._watchSilence();
    let message: ServerMessage;
    try {
      message = JSON.parse(String(event.data)) as ServerMessage;
    } catch {
      this._socket.close(1003);
      this._end({ code: 1003, reason: 'not JSON' });
      return;
    }
    if (message.type === 'ping') {
      this.send({ type: 'pong' });
      return;
    }
    this._options.onMessage(message);
  }

  private _watchSilence(): void {
    window.clearTimeout(this._silence);
    this._silence = window.setTimeout(() => {
      this._socket.close();
      this._end({ code: 1006, reason: 'silent' });
    }, SILENCE_LIMIT_MS);
  }

  private _end(why: EventStream.IEnd): void {
    if (this._isEnded) {
      return;
    }
    this._isEnded = true;
    window.clearTimeout(this._silence);
    this._options.onEnd(why);
  }

  private _options: EventStream.IOptions;
  private _socket: WebSocket;
  private _silence = 0;
  private _isEnded = false;
}

export namespace EventStream {
  export interface IOptions {
    serverSettings: ServerConnection.ISettings;
    /** Resume after this seq; null: a whole snapshot. */
    after: number | null;
    onMessage: (message: ServerMessage) => void;
    /** Called once, unless disposed before. */
    onEnd: (why: IEnd) => void;
  }
  export interface IEnd {
    code: number;
    reason: string;
  }
}
