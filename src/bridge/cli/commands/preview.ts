/**
 * `muster preview`: what would be run, to the letter. Of a batch system the command writes it itself,
 * where neither a bridge nor the system is; of everything else a bridge tells.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { SystemFacts, Systems } from '../../../backends/index.js';
import { MusterError } from '../../../protocol/index.js';
import type {
  BackendView,
  PreviewView,
  ResolvedSpec
} from '../../../protocol/index.js';
import { OWN_BACKENDS } from '../../config/batch-systems.js';
import type { ConfigurationFiles } from '../../config/configuration-files.js';
import {
  batchOptionsSchema,
  OPTION_OF_FIELD,
  optionNames,
  optionTypes
} from '../batch-options.js';
import type { CliContext } from '../context.js';
import { usage, type CliFailure } from '../failure.js';
import { oneOf } from '../field-flags.js';
import {
  batchProfileOf,
  ownConfiguration,
  siteOptions
} from '../own-configuration.js';
import { printable, printableLines } from '../printable.js';
import { beginningOf, bridgeSource, specOf } from '../spec-builder.js';
import type { Body, SpecFlags, SpecSource } from '../spec-builder.js';

export async function preview(
  context: CliContext,
  flags: SpecFlags
): Promise<void> {
  const beginning = await beginningOf(context, flags);
  const configuration = await ownConfiguration(context);
  const name = backendOf(beginning, configuration);
  if (typeof name !== 'string' || OWN_BACKENDS.includes(name)) {
    await previewThere(context, flags, beginning);
    return;
  }
  const systems = await configuration.batchSystems();
  const facts = systems.get(name);
  if (facts === undefined) {
    await knownToABridge(context, name, systems);
    await previewThere(context, flags, beginning);
    return;
  }
  show(
    context,
    await previewHere(context, configuration, facts, { flags, beginning })
  );
}

/** Asked of a bridge. */
export async function previewThere(
  context: CliContext,
  flags: SpecFlags,
  beginning?: Body
): Promise<void> {
  const client = await context.bridge();
  const spec = await specOf(context, bridgeSource(client), flags, beginning);
  show(context, await client.post<PreviewView>('preview', spec));
}

/** What the request or its profile says; undefined: neither says any. */
function backendOf(
  beginning: Body,
  configuration: ConfigurationFiles
): unknown {
  const profile =
    beginning['profile'] ??
    (beginning['backend'] === undefined
      ? configuration.defaultProfile()
      : null);
  return (
    beginning['backend'] ??
    configuration.profiles().find(one => one.name === profile)?.spec['backend']
  );
}

/** A name no file knows may be a backend of the bridge that runs. @throws CliFailure with all names */
async function knownToABridge(
  context: CliContext,
  name: string,
  systems: Systems
): Promise<void> {
  // One that cannot be asked says nothing about names; the files do.
  const found = await context.look().catch(() => null);
  const backends = (await found?.client.all<BackendView>('backends')) ?? [];
  oneOf('--backend', name, [
    ...new Set([
      ...OWN_BACKENDS,
      ...backends.map(one => one.name),
      ...systems.keys()
    ])
  ]);
}

async function previewHere(
  context: CliContext,
  configuration: ConfigurationFiles,
  facts: SystemFacts,
  { flags, beginning }: { flags: SpecFlags; beginning: Body }
): Promise<PreviewView> {
  const { batchPreview, GroupRefused } = await import('../batch-preview.js');
  const { hostName } = await import('../../host/host-name.js');
  const source: SpecSource = {
    profile: name =>
      Promise.resolve(
        configuration.profiles().find(one => one.name === name)?.spec ?? null
      ),
    optionSchema: () => Promise.resolve(optionTypes()),
    local: true
  };
  const { environment } = context.io;
  let several = false;
  try {
    const body = await specOf(context, source, flags, beginning);
    several = Array.isArray(body['groups']) && body['groups'].length > 1;
    const spec = await resolved(body, configuration, facts);
    const profiles = [];
    for (const group of spec.groups) {
      profiles.push(
        await batchProfileOf(
          configuration,
          facts,
          siteOptions(group.options, facts)
        )
      );
    }
    return batchPreview({
      facts,
      spec,
      profiles,
      clustersFolder: join(
        environment['MUSTER_STATE_ROOT'] ??
          join(homedir(), '.local', 'state', 'muster'),
        hostName(),
        'clusters'
      )
    });
  } catch (error) {
    if (error instanceof GroupRefused) {
      throw refusedBySystem(error, facts, several);
    }
    throw error instanceof MusterError && error.code === 'spec-invalid'
      ? refusedField(error, facts, several)
      : error;
  }
}

async function resolved(
  body: Body,
  configuration: ConfigurationFiles,
  facts: SystemFacts
): Promise<ResolvedSpec> {
  const [{ resolveSpec }, { clusterSpecSchema, specInvalid }] =
    await Promise.all([
      import('../../clusters/resolve-spec.js'),
      import('../../../protocol/index.js')
    ]);
  const parsed = clusterSpecSchema.safeParse(body);
  if (!parsed.success) {
    throw specInvalid(parsed.error);
  }
  return resolveSpec({
    spec: parsed.data,
    body,
    backends: new Map([
      [
        facts.name,
        {
          describe: () => ({
            name: facts.name,
            title: facts.title,
            optionsSchema: batchOptionsSchema(facts),
            capabilities: {
              identity: 'named',
              pending: 'listed',
              exactRelease: true,
              reclaimNotice: 'deadline',
              exitCodes: true,
              history: facts.capabilities.history,
              tags: true,
              hostBound: false,
              schedulerPlacement: ['bridge'],
              gpus: facts.capabilities.gpus,
              estimateStart: facts.estimate !== undefined
            },
            limits: { workersPerJob: 4096, jobsPerRequest: 1, launcher: false }
          }),
          // Only looked at, so that it matters not whether it is here.
          probe: () => Promise.resolve({ available: true, looked: {} })
        }
      ]
    ]),
    configuration,
    environments: {
      resolve: said => {
        if (said?.kernelspec != null) {
          throw usage(
            '--kernelspec: only a bridge knows the interpreter of a kernelspec',
            'say --python, an absolute path on the nodes'
          );
        }
        return Promise.resolve({ python: said?.python ?? 'python3' });
      }
    },
    makeName: () => 'preview'
  });
}

/** Where a field of the one group has an option of its own. */
const FLAG_OF_FIELD: Readonly<Record<string, string>> = {
  name: '--name',
  backend: '--backend',
  profile: '--profile',
  'environment.python': '--python',
  'groups[0].worker.cores': '--worker-cores',
  'groups[0].worker.memory': '--worker-memory',
  'groups[0].worker.gpus': '--worker-gpus',
  'groups[0].workersPerJob': '--workers-per-job'
};

function refusedField(
  error: MusterError,
  facts: SystemFacts,
  several: boolean
): CliFailure {
  const path = error.path ?? '';
  const words = error.message.startsWith(`${path}: `)
    ? error.message.slice(path.length + 2)
    : error.message;
  const option = /^groups\[(\d+)\]\.options\.(.+)$/u.exec(path);
  if (option === null) {
    return usage(
      `${FLAG_OF_FIELD[path] ?? path}: ${words}`,
      error.hint ?? null
    );
  }
  const [, group = '0', key = ''] = option;
  const names = optionNames(facts);
  return names.includes(key.replace(/[.[].*$/u, ''))
    ? usage(`${optionAt(Number(group), key, several)}: ${words}`)
    : usage(
        `${optionAt(Number(group), key, several)}: is not an option of ${facts.title}`,
        `one of: ${names.join(', ')}`
      );
}

/** By the batch system's own rules: fields of a JobSpec, site data. */
function refusedBySystem(
  {
    group,
    problems
  }: { group: number; problems: readonly { field: string; message: string }[] },
  facts: SystemFacts,
  several: boolean
): CliFailure {
  const names = optionNames(facts);
  return usage(
    problems
      .map(({ field, message }) => {
        const key = field.replace(/^profile\.site\./u, '');
        const name = OPTION_OF_FIELD[key] ?? key;
        const flag =
          name === 'memory' || name === 'memoryPerWorker'
            ? '--worker-memory'
            : names.includes(name.replace(/[.[].*$/u, ''))
              ? optionAt(group, name, several)
              : field;
        return `${flag}: ${message}`;
      })
      .join('; ')
  );
}

/** Options of the command are of the only group; of several, they stand in the file. */
function optionAt(group: number, key: string, several: boolean): string {
  return several ? `groups[${group}].options.${key}` : `-o ${key}`;
}

function show(context: CliContext, view: PreviewView): void {
  context.answer(view, () =>
    [
      `${printable(view.summary)}\n`,
      ...view.jobs.map(job => {
        const remarks = [
          ...job.notHonoured.map(what => `not honoured: ${what}`),
          ...job.warnings.map(what => `warning: ${what}`)
        ].map(line => `# ${printable(line)}\n`);
        const variables = Object.entries(job.environment).map(
          ([name, value]) => `${printable(name)}=${printable(value)}\n`
        );
        return [
          `\n${context.tone(`# ${job.count} × ${job.group ?? 'scheduler'}`, 'head')}\n`,
          ...remarks,
          ...variables,
          `${job.argv.map(part => printable(part)).join(' ')}\n`,
          ...(job.script === null ? [] : [`\n${printableLines(job.script)}\n`])
        ].join('');
      })
    ].join('')
  );
}
