/** `muster launch-line`: the command line of a parallel launcher, for a script or for a look. */
import type { Command } from 'commander';
import type { AllocationKind, LaunchContext } from '../../../backends/index.js';
import type { CliContext } from '../context.js';
import { CliFailure, EXIT, usage } from '../failure.js';
import {
  addFieldFlags,
  fieldsOf,
  oneOf,
  refused,
  type FieldFlag,
  type FieldValues
} from '../field-flags.js';
import { allocationHere } from './allocation.js';
import type { Run } from './look.js';

const FIELDS: readonly FieldFlag[] = [
  { flags: '--nodes <n>', field: 'nodes', as: 'number', about: 'nodes' },
  { flags: '--tasks <n>', field: 'tasks', as: 'number', about: 'tasks in all' },
  {
    flags: '--tasks-per-node <n>',
    field: 'tasksPerNode',
    as: 'number',
    about: 'tasks on each node'
  },
  {
    flags: '--cpus-per-task <n>',
    field: 'cpusPerTask',
    as: 'number',
    about: 'cpus of each task'
  },
  {
    flags: '--gpus-per-task <n>',
    field: 'gpusPerTask',
    as: 'number',
    about: 'gpus of each task'
  },
  {
    flags: '--hosts <hosts>',
    field: 'hosts',
    as: 'hosts',
    about: 'n1,n2 or with the tasks of each, n1:3,n2:1'
  },
  {
    flags: '--bind <to>',
    field: 'bind',
    as: 'text',
    about: 'cores of its own for each task',
    choices: ['core', 'none']
  },
  {
    flags: '--mpi <how>',
    field: 'mpi',
    as: 'text',
    about: 'how MPI starts under srun; none: not MPI',
    choices: ['pmix', 'pmi2', 'cray_shasta', 'none']
  },
  {
    flags: '--workdir <folder>',
    field: 'workdir',
    as: 'text',
    about: 'where it runs'
  },
  {
    flags: '--label',
    field: 'label',
    as: 'switch',
    about: 'ranks before the output'
  },
  {
    flags: '--oversubscribe',
    field: 'oversubscribe',
    as: 'switch',
    about: 'more tasks than cores'
  },
  {
    flags: '--overlap',
    field: 'overlap',
    as: 'switch',
    about: 'beside a step that runs (srun)'
  },
  {
    flags: '--extra <argument>',
    field: 'extraArgs',
    as: 'list',
    about: 'an argument for the launcher (repeatable)'
  }
];

type LaunchFlags = FieldValues & {
  launcher?: string;
  dialect?: string;
  scheduler?: string;
  inside?: boolean;
  hostFile?: string;
};

export function addLaunchLineCommand(program: Command, run: Run): void {
  addFieldFlags(
    program
      .command('launch-line <command...>')
      .description('the line that starts a command in parallel (after --)')
      .option(
        '--launcher <name>',
        'the launcher (the usual one of --scheduler)'
      )
      .option('--dialect <version>', 'its version, e.g. 4 of Open MPI')
      .option('--scheduler <name>', 'the batch system the line will run under')
      .option(
        '--inside',
        'take the hosts from the allocation around this command'
      )
      .option(
        '--host-file <path>',
        'where a file of hosts will be written',
        'hosts.txt'
      ),
    FIELDS
  ).action((command: string[], flags: LaunchFlags) =>
    run(context => launchLine(context, command, flags))
  );
}

async function launchLine(
  context: CliContext,
  command: readonly string[],
  flags: LaunchFlags
): Promise<void> {
  const library = await import('../../../backends/index.js');
  const { allocation, chooseLauncher, launchers, LAUNCHER_NAMES, shellLine } =
    library;
  const where = await whereOf(context, flags);
  const kind: AllocationKind | undefined =
    where.allocation?.kind ??
    (flags.scheduler === undefined
      ? undefined
      : oneOf('--scheduler', flags.scheduler, allocation.ALLOCATION_KINDS));
  const choice = chooseLauncher({ explicit: flags.launcher, kind });
  const name = oneOf('--launcher', choice.name, LAUNCHER_NAMES);
  const launcher = launchers[name];
  const { dialects } = launcher.describe();
  const dialect =
    flags.dialect === undefined
      ? undefined
      : oneOf('--dialect', flags.dialect, dialects);
  try {
    const launch = launcher.launchCommand(fieldsOf(FIELDS, flags), command, {
      ...where,
      scheduler: kind,
      dialect,
      hostFile: flags.hostFile
    });
    for (const warning of launch.warnings) {
      context.note(`note: ${warning}`);
    }
    const { hostFile } = launch;
    if (hostFile !== null && hostFile.text !== null && !context.json) {
      context.note(`note: ${hostFile.path} must hold:`);
      for (const line of hostFile.text.trimEnd().split('\n')) {
        context.note(`  ${line}`);
      }
    }
    const line = shellLine(launch);
    context.answer({ launcher: name, line, ...launch }, () => `${line}\n`);
  } catch (error) {
    if (error instanceof library.SpecError) {
      throw refused(
        error.problems.map(one =>
          one.field === 'launcher' || one.field === 'hostFile'
            ? {
                ...one,
                field: one.field === 'launcher' ? '--launcher' : '--host-file'
              }
            : one
        ),
        FIELDS
      );
    }
    throw error;
  }
}

async function whereOf(
  context: CliContext,
  flags: LaunchFlags
): Promise<LaunchContext> {
  if (flags.inside !== true) {
    return {};
  }
  if (flags.scheduler !== undefined) {
    throw usage('say only one of --inside and --scheduler');
  }
  const { answer } = await allocationHere(context);
  if (answer.state === 'allocation') {
    return { allocation: answer.allocation };
  }
  throw new CliFailure(
    EXIT.failed,
    answer.state === 'none'
      ? 'this is not inside an allocation'
      : `${answer.kind} job ${answer.id}: ${answer.why}`,
    'name the batch system with --scheduler instead'
  );
}
