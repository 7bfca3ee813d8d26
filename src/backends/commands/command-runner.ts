/**
 * Runs one command and says exactly what happened, without knowing what it means
 * (specs/resource-manager.md §1). The only place of a batch backend that does I/O: on this host, or
 * on a login host over ssh.
 */
export type Command = {
  /** Program first. Never a shell line. */
  argv: readonly [string, ...string[]];
  stdin?: string;
  cwd?: string;
  /** Beside the runner's scrubbed environment. */
  environment?: Readonly<Record<string, string>>;
  timeoutMs: number;
  /** Bytes kept of each stream; the rest is read and dropped. 8 MiB. */
  maxOutputBytes?: number;
};

export type CommandResult = {
  /** Exit code; null when it was killed by a signal or never ran. */
  rc: number | null;
  signal: string | null;
  /** The system's word when it could not be run at all: ENOENT, EACCES, …; apart from rc. */
  errno: string | null;
  stdout: string;
  stderr: string;
  timedOut: boolean;
  /** Output was dropped: what is there must not be parsed as complete. */
  truncated: boolean;
  /** ISO-8601. */
  startedAt: string;
  endedAt: string;
};

export interface CommandRunner {
  /** null: this host. */
  readonly host: string | null;
  /** Never throws for what the command does. Repeating is the caller's risk. */
  run(command: Command): Promise<CommandResult>;
  /** The text of a file; null: there is none. */
  readFile(path: string, maxBytes: number): Promise<string | null>;
  /** A new file of mode 0600 in an existing 0700 folder; an existing one is never followed or replaced. */
  createFile(path: string, text: string): Promise<void>;
  close(): Promise<void>;
}
