/**
 * What can go wrong between a JobSpec and a batch system (specs/resource-manager.md §6). Each error
 * says whether trying again may help and whether the thing may have happened all the same.
 */
import type { RejectReason } from './states.js';

export type SpecProblem = {
  /** The field of the JobSpec or profile, e.g. `memory` or `profile.parallelEnvironment`. */
  field: string;
  message: string;
};

export abstract class BatchError extends Error {
  abstract readonly transient: boolean;
  abstract readonly mayHaveHappened: boolean;
}

/** The specification cannot be put to this system; all problems at once. */
export class SpecError extends BatchError {
  constructor(readonly problems: readonly SpecProblem[]) {
    super(problems.map(one => `${one.field}: ${one.message}`).join('; '));
    this.name = 'SpecError';
  }
  readonly transient = false;
  readonly mayHaveHappened = false;
}

/** A command of the batch system is not installed where it would run. */
export class ToolMissing extends BatchError {
  constructor(
    readonly command: string,
    /** null: not known (another host's). */
    readonly path: string | null
  ) {
    super(
      `${command} was not found${path === null ? '' : ` (PATH is ${path === '' ? 'empty' : path})`}; run where the batch system's commands are installed, or name the command's full path in the profile`
    );
    this.name = 'ToolMissing';
  }
  readonly transient = false;
  readonly mayHaveHappened = false;
}

export class PermissionDenied extends BatchError {
  constructor(readonly stderr: string) {
    super(firstLine(stderr) ?? 'the batch system denied the request');
    this.name = 'PermissionDenied';
  }
  readonly transient = false;
  readonly mayHaveHappened = false;
}

/** No answer. A submit or cancel may have been carried out. */
export class Unreachable extends BatchError {
  constructor(
    readonly rc: number | null,
    readonly stderr: string,
    readonly mayHaveHappened: boolean
  ) {
    super(firstLine(stderr) ?? 'the batch system did not answer');
    this.name = 'Unreachable';
  }
  readonly transient = true;
}

/** The system said no, in its own words. */
export class Rejected extends BatchError {
  constructor(
    readonly reason: RejectReason,
    readonly field: string | null,
    readonly stderr: string
  ) {
    super(firstLine(stderr) ?? 'the batch system refused the job');
    this.name = 'Rejected';
  }
  get transient(): boolean {
    return this.reason === 'quota' || this.reason === 'limit';
  }
  readonly mayHaveHappened = false;
}

/** The command ended well, but what it wrote is not understood. */
export class ParseFailed extends BatchError {
  constructor(
    readonly stdout: string,
    readonly stderr: string
  ) {
    super('the answer of the batch system was not understood');
    this.name = 'ParseFailed';
  }
  readonly transient = false;
  readonly mayHaveHappened = true;
}

export class Timeout extends BatchError {
  constructor(
    readonly command: string,
    readonly elapsedMs: number
  ) {
    super(`${command} did not return within ${Math.round(elapsedMs / 1000)} s`);
    this.name = 'Timeout';
  }
  readonly transient = true;
  readonly mayHaveHappened = true;
}

function firstLine(text: string): string | null {
  const line = text
    .split('\n')
    .map(one => one.trim())
    .find(one => one !== '');
  return line ?? null;
}
