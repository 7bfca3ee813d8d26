/** `muster header`: what a batch system wants to read, where it need not be installed. */
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { CliContext } from '../context.js';
import { usage } from '../failure.js';
import {
  addFieldFlags,
  fieldsOf,
  oneOf,
  refused,
  type FieldFlag,
  type FieldValues
} from '../field-flags.js';
import {
  batchProfileOf,
  ownConfiguration,
  siteOptions
} from '../own-configuration.js';
import type { Run } from './look.js';

const MEMORY_SCOPES = ['job', 'node', 'cpu', 'task', 'gpu'];

const FIELDS: readonly FieldFlag[] = [
  {
    flags: '--name <name>',
    field: 'name',
    as: 'text',
    about: "the job's name"
  },
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
    flags: '--gpu-type <type>',
    field: 'gpuType',
    as: 'text',
    about: 'kind of gpu'
  },
  {
    flags: '--memory <size>',
    field: 'memory',
    as: 'text',
    about: "e.g. '4 GiB', or 'whole-node'"
  },
  {
    flags: '--walltime <time>',
    field: 'walltimeSeconds',
    as: 'text',
    about: 'e.g. 90s, 2h30m, 2:30:00, 1-12:00:00, unlimited'
  },
  {
    flags: '--exclusive',
    field: 'exclusive',
    as: 'switch',
    about: 'nodes alone'
  },
  {
    flags: '--queue <queue>',
    field: 'queue',
    as: 'text',
    about: 'queue or partition'
  },
  {
    flags: '--account <account>',
    field: 'account',
    as: 'text',
    about: 'who pays'
  },
  {
    flags: '--project <project>',
    field: 'project',
    as: 'text',
    about: 'project'
  },
  {
    flags: '--qos <qos>',
    field: 'qos',
    as: 'text',
    about: 'quality of service'
  },
  {
    flags: '--constraint <text>',
    field: 'constraint',
    as: 'text',
    about: 'properties the nodes must have'
  },
  {
    flags: '--reservation <name>',
    field: 'reservation',
    as: 'text',
    about: 'reservation to run in'
  },
  {
    flags: '--placement <how>',
    field: 'placement',
    as: 'text',
    about: 'how tasks are spread',
    choices: ['pack', 'scatter', 'any']
  },
  {
    flags: '--array <indices>',
    field: 'array',
    as: 'indices',
    about: 'e.g. 0-9'
  },
  {
    flags: '--workdir <folder>',
    field: 'workdir',
    as: 'text',
    about: 'where it runs'
  },
  {
    flags: '--stdout <file>',
    field: 'stdout',
    as: 'text',
    about: 'output file'
  },
  {
    flags: '--stderr <file>',
    field: 'stderr',
    as: 'text',
    about: 'error file'
  },
  {
    flags: '--native <line>',
    field: 'native',
    as: 'list',
    about: 'a line for the batch system as it is (repeatable)'
  }
];

type HeaderFlags = FieldValues & {
  backend: string;
  memory?: string;
  memoryPer?: string;
  system?: string;
  site?: string[];
};

export function addHeaderCommand(program: Command, run: Run): void {
  addFieldFlags(
    program
      .command('header [command...]')
      .description(
        'the lines a batch system reads; with a command after --, the whole script'
      )
      .requiredOption('--backend <name>', 'the batch system')
      .option(
        '--memory-per <what>',
        `memory of each: ${MEMORY_SCOPES.join(', ')}`
      )
      .option('--system <file>', "the description of a site's own batch system")
      .option(
        '--site <key=value>',
        'data of the site, e.g. parallelEnvironment=smp (repeatable)',
        (text: string, before: string[] | undefined) => [
          ...(before ?? []),
          text
        ]
      ),
    FIELDS
  ).action((command: string[], flags: HeaderFlags) =>
    run(context => header(context, command, flags))
  );
}

async function header(
  context: CliContext,
  command: readonly string[],
  flags: HeaderFlags
): Promise<void> {
  const { schedulingFor, shellWords, SpecError, withSiteSystems } =
    await import('../../../backends/index.js');
  try {
    const configuration = await ownConfiguration(context);
    const known = withSiteSystems(
      flags.system === undefined ? [] : [await described(flags.system)],
      await configuration.batchSystems()
    );
    const facts = known.get(
      oneOf('--backend', flags.backend, [...known.keys()])
    );
    if (facts === undefined) {
      throw usage(`--backend: there is no '${flags.backend}'`);
    }
    const profile = await batchProfileOf(configuration, facts, {
      ...siteOptions(configuration.backendDefaults(facts.name), facts),
      ...siteOf(flags.site)
    });
    const system = schedulingFor(facts);
    const spec = system.job(
      { ...fieldsOf(FIELDS, flags), ...memoryOf(flags) },
      profile
    );
    const made = system.resourceHeader(spec, profile);
    const script =
      command.length === 0
        ? null
        : system.renderScript(spec, shellWords(command), profile);
    for (const field of made.notHonoured) {
      context.note(`note: ${facts.title} does not carry out ${field}`);
    }
    for (const warning of made.warnings) {
      context.note(`note: ${warning}`);
    }
    const { lines, notHonoured, warnings } = made;
    context.answer(
      {
        backend: facts.name,
        lines,
        notHonoured,
        warnings,
        ...(script === null ? {} : { script })
      },
      () => script ?? `${lines.join('\n')}\n`
    );
  } catch (error) {
    if (error instanceof SpecError) {
      throw refused(error.problems, FIELDS);
    }
    throw error;
  }
}

function memoryOf(flags: HeaderFlags): Record<string, unknown> {
  const { memory, memoryPer } = flags;
  const per =
    memoryPer === undefined
      ? 'job'
      : oneOf('--memory-per', memoryPer, MEMORY_SCOPES);
  if (memory === undefined) {
    return {};
  }
  return {
    memory: memory === 'whole-node' ? 'wholeNode' : { bytes: memory, per }
  };
}

function siteOf(said: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    said.map(text => {
      const at = text.indexOf('=');
      if (at < 1) {
        throw usage(`--site: '${text}' is not key=value`);
      }
      return [text.slice(0, at), text.slice(at + 1)];
    })
  );
}

async function described(file: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return parse(await readFile(file, 'utf8'), {
      maxAliasCount: 50
    }) as unknown;
  } catch (error) {
    throw usage(
      `--system: ${(error as Error).message.split('\n')[0] ?? 'cannot be read'}`
    );
  }
}
