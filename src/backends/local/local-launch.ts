/** From an intent to what a pool is told to start. Pure. */
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { isId, parseWorkerId } from '../../protocol/index.js';
import type { JobIntent, RequestResult } from '../resource-manager.js';
import { describeLocal, PROCESSES_PER_JOB } from './local-description.js';

type Rejected = Extract<RequestResult, { type: 'rejected' }>;

/** Why this job can never be started here; null: it can be tried. */
export function checkIntent(
  intent: JobIntent,
  platform: NodeJS.Platform
): Rejected | null {
  if (platform === 'win32') {
    return rejected('environment', 'Local clusters do not run on Windows.', {
      hint: 'Start JupyterLab inside WSL (Windows Subsystem for Linux).'
    });
  }
  if (intent.resources.gpus > 0) {
    return rejected(
      'resources',
      'Local workers cannot be given GPUs: nothing on this computer shares them out.',
      {
        field:
          intent.group === null
            ? 'scheduler'
            : `groups[${intent.group}].worker.gpus`,
        hint: 'Leave gpus out; workers see all devices, or those of CUDA_VISIBLE_DEVICES in their environment variables.'
      }
    );
  }
  const options = describeLocal().optionsSchema.safeParse(intent.options);
  if (!options.success) {
    return rejected(
      'syntax',
      `The local backend has no such option: ${Object.keys(intent.options).join(', ')}`
    );
  }
  if (!isAbsolute(intent.folder)) {
    return rejected('syntax', `${intent.folder} is not an absolute folder`);
  }
  if (
    intent.launches.length === 0 ||
    intent.launches.length > PROCESSES_PER_JOB
  ) {
    return rejected(
      'limit',
      `A local job has 1 to ${PROCESSES_PER_JOB} workers, not ${intent.launches.length}.`,
      { hint: 'Ask for more jobs instead.' }
    );
  }
  for (const launch of intent.launches) {
    if (!isId(launch.id) && parseWorkerId(launch.id) === null) {
      return rejected('syntax', 'a launch has an id that is not one of ours');
    }
    if (!isAbsolute(launch.argv[0] ?? '')) {
      return rejected('environment', 'The interpreter has no absolute path.');
    }
    const texts = [
      ...launch.argv,
      ...Object.entries(launch.environment).flat(),
      ...intent.prologue,
      ...intent.epilogue
    ];
    if (texts.some(text => text.includes('\0'))) {
      return rejected('syntax', 'A NUL character cannot be passed on.');
    }
    const bad = Object.keys(launch.environment).find(
      name => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
    );
    if (bad !== undefined) {
      return rejected('syntax', `"${bad}" is not a name of a variable.`);
    }
  }
  return null;
}

function rejected(
  reasonClass: Rejected['reasonClass'],
  message: string,
  more: { field?: string; hint?: string } = {}
): Rejected {
  return { type: 'rejected', reasonClass, message, ...more };
}

/** `<folder>/logs/<launch id>.out|.err` */
export function pathsOf(
  folder: string,
  launch: string
): { stdout: string; stderr: string } {
  const path = join(folder, 'logs', launch);
  return { stdout: `${path}.out`, stderr: `${path}.err` };
}

/**
 * With lines to run before or after, a shell runs the program: it cannot be forked from the pool
 * then. Without an epilogue the shell becomes the program. The program itself is passed as
 * arguments, so nothing of it is read by the shell.
 */
export function wrapArgv(
  intent: Pick<JobIntent, 'prologue' | 'epilogue'>,
  argv: readonly string[]
): { argv: readonly string[]; script: string | null; wrapped: boolean } {
  if (intent.prologue.length === 0 && intent.epilogue.length === 0) {
    return { argv, script: null, wrapped: false };
  }
  const wrapped = intent.epilogue.length > 0;
  const lines = wrapped
    ? [
        ...intent.prologue,
        // Being asked to end must not keep the epilogue from running.
        'trap : TERM INT HUP',
        '"$@"',
        'muster_status=$?',
        ...intent.epilogue,
        'exit "$muster_status"'
      ]
    : [...intent.prologue, 'exec "$@"'];
  const script = lines.join('\n');
  const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
  return { argv: [shell, '-c', script, 'muster', ...argv], script, wrapped };
}
