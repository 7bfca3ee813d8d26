/** What a command works with: flags, the bridge, and where its words go. */
import type { ApiClient } from './api-client.js';
import { findBridge, needBridge } from './bridge-finder.js';
import type { FinderOptions } from './bridge-finder.js';
import { printable } from './printable.js';
import { facts, table, toned } from './table.js';
import type { Cell, Tone } from './table.js';

export type CliIo = {
  out: (text: string) => void;
  err: (text: string) => void;
  environment: NodeJS.ProcessEnv;
  /** Is the stream a terminal? */
  outIsTerminal: boolean;
  errIsTerminal: boolean;
  readStdin: () => Promise<string>;
  /** Absolute path of the program that runs, for starting it again; null in tests. */
  program: string | null;
};

export type GlobalFlags = {
  json?: boolean;
  socket?: string;
  url?: string;
  token?: string;
  start?: boolean;
};

export class CliContext {
  constructor(
    readonly io: CliIo,
    readonly flags: GlobalFlags
  ) {
    const noColour = (io.environment['NO_COLOR'] ?? '') !== '';
    this.colour = io.outIsTerminal && !noColour && flags.json !== true;
    this.progressColour = io.errIsTerminal && !noColour;
  }

  get json(): boolean {
    return this.flags.json === true;
  }

  /** The bridge, started where there is none (unless --no-start). */
  async bridge(): Promise<ApiClient> {
    const client = await needBridge(this.finder(), this.flags.start !== false);
    this.doneProgress();
    return client;
  }

  /** Only looks. */
  look(): ReturnType<typeof findBridge> {
    return findBridge(this.finder());
  }

  /** `--json`: the API's own object; else what people read. */
  answer(object: unknown, shown: () => string): void {
    this.doneProgress();
    this.io.out(this.json ? `${JSON.stringify(object)}\n` : shown());
  }

  table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
    return table(head, rows, this.colour);
  }

  facts(pairs: readonly (readonly [string, Cell])[]): string {
    return facts(pairs, this.colour);
  }

  tone(text: string, tone: Tone): string {
    return toned(text, tone, this.colour);
  }

  /** One line on a terminal, overwritten by the next; nothing elsewhere. */
  progress(message: string): void {
    if (this.io.errIsTerminal && message !== this.lastProgress) {
      this.io.err(
        `\r\u001b[K${toned(printable(message), 'faint', this.progressColour)}`
      );
      this.lastProgress = message;
    }
  }

  doneProgress(): void {
    if (this.lastProgress !== null) {
      this.io.err('\r\u001b[K');
      this.lastProgress = null;
    }
  }

  /** A remark beside the answer. */
  note(message: string): void {
    this.doneProgress();
    this.io.err(`${printable(message)}\n`);
  }

  private finder(): FinderOptions {
    return {
      socket: this.flags.socket,
      url: this.flags.url,
      token: this.flags.token,
      environment: this.io.environment,
      onProgress: message => {
        this.progress(`${message} …`);
      }
    };
  }

  readonly colour: boolean;
  private readonly progressColour: boolean;
  private lastProgress: string | null = null;
}
