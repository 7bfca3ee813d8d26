/**
 * One command of a batch system through the CommandRunner, and what its result means before anyone
 * looks at the words: not installed, not allowed, never started, cut off.
 */
import type {
  CommandResult,
  CommandRunner
} from '../commands/command-runner.js';
import { PermissionDenied, ToolMissing } from './errors.js';
import type { BatchProfile } from './profile.js';
import type { CommandOutput } from './results.js';

/** Numbers, words and times in one form for all hosts. Not for submits: a job inherits its own. */
export const QUERY_ENVIRONMENT: Readonly<Record<string, string>> = {
  LC_ALL: 'C',
  TZ: 'UTC'
};

export type Answer = {
  output: CommandOutput;
  /** Output was dropped or the command stopped: the last line may be half of one. */
  cut: boolean;
  /** The command was never started, for a reason that may pass (out of memory, of processes). */
  neverRan: string | null;
  asOf: string;
};

export type CommandOptions = {
  stdin?: string;
  cwd?: string;
  environment?: Readonly<Record<string, string>>;
};

/** @throws ToolMissing, PermissionDenied: nothing was run, and running it again would not help. */
export async function ask(
  runner: CommandRunner,
  argv: readonly string[],
  profile: BatchProfile,
  options: CommandOptions = {}
): Promise<Answer> {
  const [program = '', ...rest] = argv;
  const result = await runner.run({
    argv: [program, ...rest],
    timeoutMs: profile.timeoutSeconds * 1000,
    ...options
  });
  if (isMissing(program, result)) {
    throw new ToolMissing(program, null);
  }
  if (result.errno === 'EACCES' || result.errno === 'EPERM') {
    throw new PermissionDenied(`${program}: not allowed to run it`);
  }
  return {
    output: {
      // A signal from outside is not an answer, whatever number a shell makes of it.
      rc: result.signal === null ? result.rc : null,
      stdout: result.stdout,
      stderr: result.stderr,
      ...(result.timedOut ? { timedOut: true } : {})
    },
    cut: result.truncated || result.timedOut || result.signal !== null,
    neverRan: result.errno,
    asOf: result.endedAt
  };
}

/** Here the system says ENOENT; over ssh a shell says it in words. */
function isMissing(program: string, result: CommandResult): boolean {
  return (
    result.errno === 'ENOENT' ||
    (result.rc === 127 &&
      result.stderr.includes(program) &&
      /not found|no such file/i.test(result.stderr))
  );
}

/** Whole lines only: half a row may read as another state or another host. */
export function wholeLines(output: CommandOutput): CommandOutput {
  return {
    ...output,
    stdout: output.stdout.slice(0, output.stdout.lastIndexOf('\n') + 1)
  };
}
