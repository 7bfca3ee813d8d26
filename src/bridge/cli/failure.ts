/** How the command ends: 0 done, 1 failed, 2 usage, 3 bridge not reachable, 4 timed out waiting. */
import type { ErrorBody, MusterError } from '../../protocol/index.js';

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  timedOut: 4
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the command with a message and a code. */
export class CliFailure extends Error {
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    readonly hint: string | null = null,
    /** What `--json` prints; made from the message where there is no API error behind it. */
    readonly body: ErrorBody | null = null,
    /** The answer is on stdout already, and says it: `--json` prints nothing more. */
    readonly answered = false
  ) {
    super(message);
  }
}

export function usage(message: string, hint: string | null = null): CliFailure {
  return new CliFailure(EXIT.usage, message, hint);
}

/** An error of the API as the end of the command. */
export function failureOf(error: MusterError): CliFailure {
  const away =
    error.code === 'bridge-starting' || error.code === 'bridge-unavailable';
  return new CliFailure(
    away ? EXIT.unreachable : EXIT.failed,
    error.message,
    error.hint ?? null,
    error.toBody()
  );
}
