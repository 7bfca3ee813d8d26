/** One log as it grows: its tail first, then what comes, while somebody looks. */
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type { BridgeClient } from '../../model/bridge-client.js';
import type { Line } from './ansi.js';
import { AnsiReader } from './ansi.js';

/** Bytes of a tail, and of one step backwards. */
export const SLICE_BYTES = 256 * 1024;
/** More lines than this are cut off at the top: a browser is no pager. */
const MAXIMUM_LINES = 100_000;
/** Characters kept for parsing anew; what is older can be read from the bridge again. */
const MAXIMUM_TEXT = 8_000_000;
const FOLLOW_MS = 1_500;
const LONGEST_MS = 30_000;

export class LogReader implements IDisposable {
  constructor(options: LogReader.IOptions) {
    this._options = options;
    void this._load();
  }

  get lines(): readonly Line[] {
    return this._lines;
  }

  /** The first slice has been read. */
  get isLoaded(): boolean {
    return this._next !== null;
  }

  get error(): string | null {
    return this._error;
  }

  /** There is more before the first line. */
  get hasEarlier(): boolean {
    return this._start > 0;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  get follows(): boolean {
    return this._follows;
  }

  set follows(follows: boolean) {
    if (this._follows === follows) {
      return;
    }
    this._follows = follows;
    window.clearTimeout(this._timer);
    if (follows) {
      void this._load();
    }
    this._changed.emit();
  }

  /** Nobody looks: nothing is read until somebody does again. */
  set isActive(isActive: boolean) {
    if (this._isActive === isActive) {
      return;
    }
    this._isActive = isActive;
    window.clearTimeout(this._timer);
    if (isActive && this._follows) {
      void this._load();
    }
  }

  /** One slice further back; the whole is parsed anew, for colours reach over lines. */
  async loadEarlier(): Promise<void> {
    if (!this.hasEarlier || this._isBusy) {
      return;
    }
    const offset = Math.max(0, this._start - SLICE_BYTES);
    await this._ask(offset, this._start - offset, slice => {
      this._text = slice.text + this._text;
      this._start = offset;
      this._parseAll();
    });
  }

  /** The whole log, from its first byte; for downloading. */
  async whole(): Promise<string> {
    const { client, cluster, what, stream } = this._options;
    const parts: string[] = [];
    for (let offset = 0; ;) {
      const slice = await client.logs(cluster, what, {
        stream,
        offset,
        limit: 4 * SLICE_BYTES
      });
      parts.push(slice.text);
      if (slice.text === '' || slice.nextOffset <= offset) {
        return parts.join('');
      }
      offset = slice.nextOffset;
    }
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    window.clearTimeout(this._timer);
    Signal.clearData(this);
  }

  private async _load(): Promise<void> {
    const from = this._next;
    const isVisible = document.visibilityState !== 'hidden';
    if (isVisible) {
      await this._ask(from ?? -SLICE_BYTES, SLICE_BYTES, slice => {
        if (from === null) {
          const bytes = new TextEncoder().encode(slice.text).length;
          this._start = Math.max(0, slice.nextOffset - bytes);
        }
        this._next = slice.nextOffset;
        this._append(slice.text);
        this._delay = slice.text === '' ? this._delay : FOLLOW_MS;
      });
    }
    if (this._follows && this._isActive && !this._isDisposed) {
      window.clearTimeout(this._timer);
      this._timer = window.setTimeout(() => {
        void this._load();
      }, this._delay);
    }
  }

  private async _ask(
    offset: number,
    limit: number,
    take: (slice: { text: string; nextOffset: number }) => void
  ): Promise<void> {
    if (this._isBusy) {
      return;
    }
    this._isBusy = true;
    const { client, cluster, what, stream } = this._options;
    try {
      const slice = await client.logs(cluster, what, { stream, offset, limit });
      if (!this._isDisposed) {
        this._error = null;
        take(slice);
      }
    } catch (error) {
      this._error = error instanceof Error ? error.message : String(error);
      this._delay = Math.min(this._delay * 2, LONGEST_MS);
    } finally {
      this._isBusy = false;
    }
    if (!this._isDisposed) {
      this._changed.emit();
    }
  }

  private _append(text: string): void {
    if (text === '') {
      return;
    }
    this._text += text;
    // Only whole lines keep the reader's state right; the open one is read again with its rest.
    const end = text.lastIndexOf('\n') + 1;
    const whole = this._open + text.slice(0, end);
    this._open = end === 0 ? this._open + text : text.slice(end);
    if (end > 0) {
      const lines = this._reader.read(whole);
      lines.pop(); // after the last newline: nothing
      this._done = this._done.concat(lines);
    }
    this._finish();
  }

  private _parseAll(): void {
    this._reader = new AnsiReader();
    this._done = [];
    this._open = '';
    const text = this._text;
    this._text = '';
    this._append(text);
  }

  private _finish(): void {
    if (this._text.length > 2 * MAXIMUM_TEXT) {
      const cut =
        this._text.indexOf('\n', this._text.length - MAXIMUM_TEXT) + 1;
      this._start += new TextEncoder().encode(this._text.slice(0, cut)).length;
      this._text = this._text.slice(cut);
    }
    if (this._done.length > MAXIMUM_LINES) {
      this._done = this._done.slice(-MAXIMUM_LINES);
    }
    const open =
      this._open === '' ? [] : new AnsiReader().read(this._open).slice(0, 1);
    this._lines = [...this._done, ...open];
  }

  private _options: LogReader.IOptions;
  private _reader = new AnsiReader();
  private _text = '';
  private _done: Line[] = [];
  /** The last line while it has no end. */
  private _open = '';
  private _lines: readonly Line[] = [];
  private _start = 0;
  private _next: number | null = null;
  private _error: string | null = null;
  private _follows = true;
  private _isActive = true;
  private _isBusy = false;
  private _isDisposed = false;
  private _timer = 0;
  private _delay = FOLLOW_MS;
  private _changed = new Signal<this, void>(this);
}

export namespace LogReader {
  export interface IOptions {
    client: BridgeClient;
    cluster: string;
    /** `scheduler`, a job id or a worker id. */
    what: string;
    stream: 'stdout' | 'stderr';
  }
}
