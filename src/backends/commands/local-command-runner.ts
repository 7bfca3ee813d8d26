/** Commands of this host. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { execa } from 'execa';
import type {
  Command,
  CommandResult,
  CommandRunner
} from './command-runner.js';

const MAX_OUTPUT = 8 * 1024 * 1024;
const KILL_AFTER_MS = 2000;

export type LocalCommandRunnerOptions = {
  /** The whole environment commands get: scrubbed already, see local/clean-environment.ts. */
  environment: Readonly<Record<string, string>>;
};

export class LocalCommandRunner implements CommandRunner {
  constructor(options: LocalCommandRunnerOptions) {
    // Messages are parsed: always in the same language.
    this.#environment = { ...options.environment, LC_ALL: 'C', LANGUAGE: '' };
  }

  readonly host = null;
  readonly #environment: Readonly<Record<string, string>>;

  async run(command: Command): Promise<CommandResult> {
    const [file, ...args] = command.argv;
    const startedAt = new Date().toISOString();
    const limit = command.maxOutputBytes ?? MAX_OUTPUT;
    const child = execa(file, args, {
      reject: false,
      buffer: false,
      // A group of its own, so that a timeout ends what the command has started, too.
      detached: true,
      cleanup: false,
      extendEnv: false,
      env: { ...this.#environment, ...command.environment },
      ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
      ...(command.stdin === undefined
        ? { stdin: 'ignore' as const }
        : { input: command.stdin })
    });
    const stdout = collect(child.stdout, limit);
    const stderr = collect(child.stderr, limit);
    let timedOut = false;
    let killing: NodeJS.Timeout | undefined;
    const timer = setTimeout(() => {
      timedOut = true;
      signalGroup(child.pid, 'SIGTERM');
      killing = setTimeout(() => {
        signalGroup(child.pid, 'SIGKILL');
        // A grandchild in a session of its own may hold the pipes open for ever.
        child.stdout.destroy();
        child.stderr.destroy();
      }, KILL_AFTER_MS);
    }, command.timeoutMs);
    const result = await child;
    clearTimeout(timer);
    if (killing !== undefined) {
      clearTimeout(killing);
      signalGroup(child.pid, 'SIGKILL');
    }
    return {
      rc: result.exitCode ?? null,
      signal: result.signal ?? null,
      errno:
        result.exitCode === undefined && result.signal === undefined
          ? (result.code ?? 'EUNKNOWN')
          : null,
      stdout: stdout.text(),
      stderr: stderr.text(),
      timedOut,
      truncated: stdout.truncated() || stderr.truncated(),
      startedAt,
      endedAt: new Date().toISOString()
    };
  }

  async readFile(path: string, maxBytes: number): Promise<string | null> {
    try {
      const file = await open(path, 'r');
      try {
        const bytes = Buffer.alloc(maxBytes);
        const { bytesRead } = await file.read(bytes, 0, maxBytes, 0);
        return bytes.toString('utf8', 0, bytesRead);
      } finally {
        await file.close();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        return null;
      }
      throw error;
    }
  }

  async createFile(path: string, text: string): Promise<void> {
    const file = await open(
      path,
      constants.O_WRONLY |
        constants.O_CREAT |
        constants.O_EXCL |
        constants.O_NOFOLLOW,
      0o600
    );
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function collect(
  stream: Readable,
  limit: number
): { text: () => string; truncated: () => boolean } {
  const chunks: Buffer[] = [];
  let kept = 0;
  let dropped = false;
  stream.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, limit - kept);
    dropped ||= part.length < chunk.length;
    kept += part.length;
    if (part.length > 0) {
      chunks.push(part);
    }
  });
  return {
    text: () => Buffer.concat(chunks).toString('utf8'),
    truncated: () => dropped
  };
}

function signalGroup(
  pid: number | undefined,
  signal: 'SIGTERM' | 'SIGKILL'
): void {
  if (pid === undefined) {
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') {
      throw error;
    }
  }
}
