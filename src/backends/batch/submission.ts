/**
 * Handing a job to its batch system: the script's files, the submit command, its answer
 * (specs/resource-manager.md §2, specs/batch-systems.md §9).
 */
import { dirname } from 'node:path/posix';
import type { CommandRunner } from '../commands/command-runner.js';
import { ask, type Answer } from './conversation.js';
import { SpecError } from './errors.js';
import type { ResourceHeader } from './header.js';
import type { JobSpec } from './job-spec.js';
import { NO_PROFILE, type BatchProfile } from './profile.js';
import { shellWords } from './quoting.js';
import type { EstimateResult, SubmitResult } from './results.js';
import type { Invocation, Scheduling } from './scheduling.js';

export type Submission = SubmitResult &
  Pick<ResourceHeader, 'notHonoured' | 'warnings'> & {
    /** The machine-readable flag is refused here: set `plainSubmit` in the profile from now on. */
    plainSubmit: boolean;
  };

export type SubmitOptions = {
  spec: JobSpec;
  /** Shell text of the job. */
  body: string;
  /** Absolute path of the script, new, in an existing private folder the nodes see. */
  path: string;
};

/**
 * Renders, writes and submits. Repeated once at most, and only where the first try cannot have made
 * a job. UNCERTAIN: look for the token before anything else is done.
 * @throws SpecError, ToolMissing, PermissionDenied: nothing was submitted.
 */
export async function submitScript(
  system: Scheduling,
  { spec, body, path }: SubmitOptions,
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE
): Promise<Submission> {
  const { files, header } = await write(
    system,
    { spec, body, path },
    runner,
    profile
  );
  const main = files[0]?.name ?? path;
  const text = files[0]?.text ?? '';
  const once = async (used: BatchProfile): Promise<SubmitResult> =>
    conclude(
      system,
      await invoke(system.submitArgv(main, used), {
        text,
        path,
        runner,
        profile: used
      }),
      used
    );
  const first = await once(profile);
  const plain = first.plainRepeat === true && !profile.plainSubmit;
  const result = plain ? await once({ ...profile, plainSubmit: true }) : first;
  return {
    ...result,
    notHonoured: header.notHonoured,
    warnings: header.warnings,
    plainSubmit: plain && result.code !== 'REJECTED'
  };
}

/** The same for one command line, which becomes the whole script. */
export async function submitCommand(
  system: Scheduling,
  options: { spec: JobSpec; argv?: readonly string[]; path: string },
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE
): Promise<Submission> {
  const argv = options.argv ?? options.spec.command ?? [];
  if (argv.length === 0) {
    throw new SpecError([{ field: 'command', message: 'is missing' }]);
  }
  return submitScript(
    system,
    { spec: options.spec, body: shellWords(argv), path: options.path },
    runner,
    profile
  );
}

/** When would it start? Submits nothing. The script stays for a submit that follows. */
export async function estimateStart(
  system: Scheduling,
  options: SubmitOptions,
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE
): Promise<EstimateResult> {
  const invocation = system.estimateArgv(options.path, profile);
  if (invocation === null) {
    return {
      type: 'none',
      message: `${system.facts.title} tells no expected start before a submit`
    };
  }
  const { files } = await write(system, options, runner, profile);
  const answer = await invoke(invocation, {
    text: files[0]?.text ?? '',
    path: options.path,
    runner,
    profile
  });
  return answer.neverRan === null
    ? system.parseEstimate(answer.output)
    : { type: 'unknown', message: answer.neverRan };
}

async function write(
  system: Scheduling,
  { spec, body, path }: SubmitOptions,
  runner: CommandRunner,
  profile: BatchProfile
): Promise<ReturnType<Scheduling['renderFiles']>> {
  if (!path.startsWith('/')) {
    throw new SpecError([
      { field: 'script', message: `'${path}' is not an absolute path` }
    ]);
  }
  const made = system.renderFiles(spec, body, path, profile);
  for (const file of made.files) {
    await runner.createFile(file.name, file.text);
    if (system.facts.script.executable && file.mode === 0o700) {
      await ask(runner, ['chmod', '700', file.name], profile);
    }
  }
  return made;
}

function invoke(
  invocation: Invocation,
  {
    text,
    path,
    runner,
    profile
  }: {
    text: string;
    path: string;
    runner: CommandRunner;
    profile: BatchProfile;
  }
): Promise<Answer> {
  const cwd = dirname(path);
  return ask(runner, invocation.argv, profile, {
    cwd,
    // OAR takes the job's folder from PWD, not from where the command runs.
    environment: { PWD: cwd },
    ...(invocation.stdin === 'script' ? { stdin: text } : {})
  });
}

function conclude(
  system: Scheduling,
  answer: Answer,
  profile: BatchProfile
): SubmitResult {
  if (answer.neverRan !== null) {
    return {
      code: 'RETRY',
      ids: [],
      message: `the submit command could not be started (${answer.neverRan})`,
      retryAfter: 30,
      ...answer.output
    };
  }
  return system.parseSubmit(answer.output, profile);
}
