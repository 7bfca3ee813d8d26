/** From a file and flags to the body of POST clusters. The flags' word is above the file's. */
import { readFile } from 'node:fs/promises';
import type {
  BackendView,
  ClusterSpec,
  ProfileView
} from '../../protocol/index.js';
import { adaptiveScale, fixedScale, typedOptions, whole } from './amounts.js';
import type { ApiClient } from './api-client.js';
import type { CliContext } from './context.js';
import { usage } from './failure.js';

export type SpecFlags = {
  file?: string;
  backend?: string;
  profile?: string;
  name?: string;
  workers?: string;
  cores?: string;
  memory?: string;
  adapt?: string;
  workerCores?: string;
  workerMemory?: string;
  workerGpus?: string;
  workersPerJob?: string;
  option?: string[];
  python?: string;
  kernelspec?: string;
};

export type Body = Record<string, unknown>;

/** Who knows profiles and what a backend's options are: a bridge, or the files it would read. */
export type SpecSource = {
  /** null: there is none of this name; refusing it is left to who resolves the specification. */
  profile: (name: string) => Promise<Body | null>;
  /** JSON schema of a backend's options; null: nothing is known of them. */
  optionSchema: (backend: unknown) => Promise<Record<string, unknown> | null>;
  /** Does this host's interpreter exist there? */
  local: boolean;
};

export function bridgeSource(client: ApiClient): SpecSource {
  return {
    profile: async name => {
      const profiles = await client.all<ProfileView>('profiles');
      return profiles.find(profile => profile.name === name)?.spec ?? null;
    },
    optionSchema: async name => {
      const backends = await client.all<BackendView>('backends');
      return backends.find(one => one.name === name)?.specSchema ?? null;
    },
    local: client.local
  };
}

/** What the file says, with the flags' name, backend and profile over it. Reads stdin for `-`. */
export async function beginningOf(
  context: CliContext,
  flags: SpecFlags
): Promise<Body> {
  const body: Body = { ...(await fromFile(context, flags.file)) };
  for (const field of ['name', 'backend', 'profile'] as const) {
    if (flags[field] !== undefined) {
      body[field] = flags[field];
    }
  }
  return body;
}

export async function specOf(
  context: CliContext,
  source: SpecSource,
  flags: SpecFlags,
  beginning?: Body
): Promise<ClusterSpec> {
  const body: Body = { ...(beginning ?? (await beginningOf(context, flags))) };
  const name = body['profile'];
  const profile = typeof name === 'string' ? await source.profile(name) : null;
  const options = await optionsOf(source, body, profile, flags);
  const group = groupFlags(flags, options);
  if (group !== null) {
    body['groups'] = withGroup(body['groups'] ?? profile?.['groups'], group);
  }
  const environment = environmentOf(context, source, body, profile, flags);
  if (environment !== null) {
    body['environment'] = environment;
  }
  return body;
}

async function fromFile(
  context: CliContext,
  file: string | undefined
): Promise<Body> {
  if (file === undefined) {
    return {};
  }
  let text: string;
  try {
    text =
      file === '-'
        ? await context.io.readStdin()
        : await readFile(file, 'utf8');
  } catch (error) {
    throw usage(`-f: ${(error as Error).message}`);
  }
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 50 }) as unknown;
    // An alias inside its own anchor is YAML, but nothing that can be sent.
    JSON.stringify(value);
  } catch (error) {
    throw usage(
      `-f ${file} is not YAML: ${(error as Error).message.split('\n')[0] ?? ''}`
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw usage(`-f ${file} is not a cluster's specification`);
  }
  return value as Body;
}

async function optionsOf(
  source: SpecSource,
  body: Body,
  profile: Body | null,
  flags: SpecFlags
): Promise<Record<string, unknown>> {
  if (flags.option === undefined || flags.option.length === 0) {
    return {};
  }
  const name = body['backend'] ?? profile?.['backend'] ?? 'local';
  return typedOptions(flags.option, await source.optionSchema(name));
}

function groupFlags(
  flags: SpecFlags,
  options: Record<string, unknown>
): Body | null {
  const fixed = fixedScale({
    workers: flags.workers,
    cores: flags.cores,
    memory: flags.memory
  });
  if (fixed !== null && flags.adapt !== undefined) {
    throw usage('say a fixed size or --adapt, not both');
  }
  const scale =
    flags.adapt === undefined ? fixed : adaptiveScale(flags.adapt, '--adapt');
  const worker = {
    ...(flags.workerCores === undefined
      ? {}
      : { cores: whole(flags.workerCores, '--worker-cores') }),
    ...(flags.workerMemory === undefined ? {} : { memory: flags.workerMemory }),
    ...(flags.workerGpus === undefined
      ? {}
      : { gpus: whole(flags.workerGpus, '--worker-gpus') })
  };
  const group = {
    ...(scale === null ? {} : { scale }),
    ...(Object.keys(worker).length === 0 ? {} : { worker }),
    ...(flags.workersPerJob === undefined
      ? {}
      : { workersPerJob: whole(flags.workersPerJob, '--workers-per-job') }),
    ...(Object.keys(options).length === 0 ? {} : { options })
  };
  return Object.keys(group).length === 0 ? null : group;
}

/** Lays the flags over the only group there is. */
function withGroup(groups: unknown, flags: Body): Body[] {
  if (groups === undefined) {
    return [flags];
  }
  if (!Array.isArray(groups) || groups.length !== 1) {
    throw usage(
      'flags about workers go with one worker group; the file or profile has another number of them',
      'write the groups into the file'
    );
  }
  const group = groups[0] as Body;
  const merged = (field: string) => ({
    ...(group[field] as Body | undefined),
    ...(flags[field] as Body | undefined)
  });
  return [
    {
      ...group,
      ...flags,
      ...('worker' in flags ? { worker: merged('worker') } : {}),
      ...('options' in flags ? { options: merged('options') } : {})
    }
  ];
}

/** The interpreter that runs this command, where nothing else is said (specs/api.md §1). */
function environmentOf(
  context: CliContext,
  source: SpecSource,
  body: Body,
  profile: Body | null,
  flags: SpecFlags
): Body | null {
  const said = body['environment'] as Body | undefined;
  if (flags.python !== undefined && flags.kernelspec !== undefined) {
    throw usage('say --python or --kernelspec, not both');
  }
  if (flags.python !== undefined) {
    return { ...said, python: flags.python, kernelspec: null };
  }
  if (flags.kernelspec !== undefined) {
    return { ...said, kernelspec: flags.kernelspec, python: null };
  }
  const own = context.io.environment['MUSTER_CLI_PYTHON'];
  const decided = [said, profile?.['environment'] as Body | undefined].some(
    one => one?.['python'] != null || one?.['kernelspec'] != null
  );
  return decided || own === undefined || own === '' || !source.local
    ? null
    : { ...said, python: own };
}
