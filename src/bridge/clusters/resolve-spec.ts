/**
 * From what a request says to a spec with everything decided: profile under it, defaults of the
 * backend, the interpreter, limits of the site. Every refusal names the field and the fix.
 */
import type { ResourceManager } from '../../backends/resource-manager.js';
import type {
  EnvironmentView,
  ParsedSpec,
  ResolvedSpec,
  Scale,
  WorkerGroup,
  WorkerShape
} from '../../protocol/index.js';
import {
  MusterError,
  clusterSpecSchema,
  formatBytes,
  formatPath,
  environmentSchema,
  lifetimeSchema,
  rangeOf,
  scaleProblem,
  schedulerSchema,
  specInvalid
} from '../../protocol/index.js';
import type { Configuration, Environments, Limits } from './ports.js';

/** What is asked of a backend before anything is requested of it. */
export type DescribedBackend = Pick<ResourceManager, 'describe' | 'probe'>;

const DEFAULT_MEMORY_ELSEWHERE = 4 * 1024 ** 3;

export type ResolveOptions = {
  /** As validated; used where no profile lies under it. */
  spec: ParsedSpec;
  /** As sent. */
  body: unknown;
  backends: ReadonlyMap<string, DescribedBackend>;
  configuration: Configuration;
  environments: {
    resolve: (
      ...said: Parameters<Environments['resolve']>
    ) => Promise<Pick<EnvironmentView, 'python'>>;
  } & Partial<Omit<Environments, 'resolve'>>;
  /** Makes the name when none is said. */
  makeName: () => string;
};

export async function resolveSpec(
  options: ResolveOptions
): Promise<ResolvedSpec> {
  await options.configuration.refresh();
  const spec = underDefaults(options);
  const backendName = spec.backend ?? 'local';
  const backend = options.backends.get(backendName);
  if (backend === undefined) {
    throw new MusterError({
      code: 'spec-invalid',
      path: 'backend',
      message: `backend: there is no backend '${backendName}'`,
      hint: `one of: ${[...options.backends.keys()].join(', ')}`
    });
  }
  const limits = options.configuration.limits();
  if (
    limits.allowedBackends !== null &&
    !limits.allowedBackends.includes(backendName)
  ) {
    throw new MusterError({
      code: 'policy',
      path: 'backend',
      message: `backend: '${backendName}' is not allowed here`,
      hint: `allowed: ${limits.allowedBackends.join(', ')}`
    });
  }
  const probe = await backend.probe();
  if (!probe.available) {
    throw new MusterError({
      code: 'backend-unavailable',
      path: 'backend',
      message: `${backend.describe().title} cannot be used: ${probe.reason ?? 'not available'}`,
      ...(probe.fix === undefined ? {} : { hint: probe.fix }),
      details: { looked: probe.looked }
    });
  }
  const groups = resolveGroups(
    spec,
    backend,
    probe.host ?? null,
    options.configuration.backendDefaults(backendName)
  );
  checkLimits(groups, limits);
  const scheduler = spec.scheduler ?? schedulerSchema.parse({});
  checkScheduler(scheduler.placement, backend);
  const environment = spec.environment ?? environmentSchema.parse({});
  const interpreter = await options.environments.resolve(environment);
  return {
    name: spec.name ?? options.makeName(),
    backend: backendName,
    ...(spec.profile === undefined ? {} : { profile: spec.profile }),
    scheduler,
    groups,
    environment: { ...environment, python: interpreter.python },
    lifetime: spec.lifetime ?? lifetimeSchema.parse({}),
    security: spec.security ?? { tls: true }
  };
}

/**
 * The request laid over its profile, and that over the site's defaults: objects field by field,
 * lists and values whole.
 */
function underDefaults(options: ResolveOptions): ParsedSpec {
  const { configuration, spec, body } = options;
  const lifetime = configuration.lifetime();
  const name =
    spec.profile ??
    (spec.backend === undefined ? configuration.defaultProfile() : null);
  if (name === null && Object.keys(lifetime).length === 0) {
    return spec;
  }
  const profile = name === null ? {} : profileSpec(name, configuration);
  const merged = clusterSpecSchema.safeParse(
    overlay(
      overlay({ lifetime }, profile),
      overlay(body, { profile: name ?? undefined })
    )
  );
  if (!merged.success) {
    throw specInvalid(merged.error);
  }
  return merged.data;
}

function profileSpec(
  name: string,
  configuration: Configuration
): Record<string, unknown> {
  const profiles = configuration.profiles();
  const profile = profiles.find(one => one.name === name);
  if (profile === undefined) {
    throw new MusterError({
      code: 'spec-invalid',
      path: 'profile',
      message: `profile: there is no profile '${name}'`,
      hint:
        profiles.length === 0
          ? 'no profiles are defined; leave it out'
          : `one of: ${profiles.map(one => one.name).join(', ')}`
    });
  }
  return profile.spec;
}

function overlay(under: unknown, over: unknown): unknown {
  if (!isObject(under) || !isObject(over)) {
    return over === undefined ? under : over;
  }
  const keys = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries(
    [...keys].flatMap(key => {
      const value = overlay(under[key], over[key]);
      return value === undefined ? [] : [[key, value]];
    })
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Host = { cores: number; memory: number };
type ParsedGroup = NonNullable<ParsedSpec['groups']>[number];

function resolveGroups(
  spec: ParsedSpec,
  backend: DescribedBackend,
  host: Host | null,
  defaults: Record<string, unknown>
): WorkerGroup[] {
  const asked: readonly ParsedGroup[] = spec.groups ?? [defaultGroup(host)];
  return asked.map((group, index) =>
    resolveGroup(group, index, backend, host, defaults)
  );
}

/** Without groups: Dask's own split of this host; elsewhere one worker. */
function defaultGroup(host: Host | null): ParsedGroup {
  const workers = host === null ? 1 : daskSplit(host.cores).processes;
  return {
    name: 'default',
    workersPerJob: 1,
    scale: { type: 'fixed', workers },
    launcher: null,
    options: {}
  };
}

/** `distributed.deploy.utils.nprocesses_nthreads`: processes × threads of a host with n cores. */
export function daskSplit(cores: number): {
  processes: number;
  threads: number;
} {
  if (cores <= 4) {
    return { processes: cores, threads: 1 };
  }
  let processes = Math.ceil(Math.sqrt(cores));
  while (cores % processes !== 0) {
    processes += 1;
  }
  return { processes, threads: cores / processes };
}

function resolveGroup(
  group: ParsedGroup,
  index: number,
  backend: DescribedBackend,
  host: Host | null,
  defaults: Record<string, unknown>
): WorkerGroup {
  const { optionsSchema, limits, title } = backend.describe();
  const options = optionsSchema.safeParse({ ...defaults, ...group.options });
  if (!options.success) {
    const error = specInvalid(options.error);
    const path = formatPath([
      'groups',
      index,
      'options',
      ...(options.error.issues[0]?.path ?? [])
    ]);
    const field =
      error.path === undefined || error.path === ''
        ? path
        : `groups[${index}].options.${error.path}`;
    throw new MusterError({
      code: 'spec-invalid',
      path: field,
      message: `${field}: ${stripPath(error)}`
    });
  }
  if (group.launcher !== null && !limits.launcher) {
    throw fieldError(
      index,
      'launcher',
      `${title} starts workers itself and takes no launcher`,
      'null'
    );
  }
  if (group.workersPerJob > limits.workersPerJob) {
    throw fieldError(
      index,
      'workersPerJob',
      `at most ${limits.workersPerJob} on ${title}`,
      `${limits.workersPerJob}`
    );
  }
  const resolved: WorkerGroup = {
    name: group.name,
    worker: shapeOf(group, host),
    workersPerJob: group.workersPerJob,
    scale: group.scale,
    launcher: group.launcher,
    options: options.data
  };
  if (resolved.worker.gpus > 0 && !backend.describe().capabilities.gpus) {
    throw fieldError(
      index,
      'worker.gpus',
      `${title} does not give GPUs to workers`,
      '0'
    );
  }
  checkScale(resolved, `groups[${index}].scale`);
  return resolved;
}

function stripPath(error: MusterError): string {
  const prefix = `${error.path ?? ''}: `;
  return error.message.startsWith(prefix)
    ? error.message.slice(prefix.length)
    : error.message;
}

function fieldError(
  index: number,
  field: string,
  message: string,
  hint: string
): MusterError {
  const path = `groups[${index}].${field}`;
  return new MusterError({
    code: 'spec-invalid',
    path,
    message: `${path}: ${message}`,
    hint
  });
}

/** Refuses a scale that cannot be converted to workers, or whose ends cross. */
export function checkScale(group: WorkerGroup, at: string): void {
  const problem = scaleProblem(group);
  if (problem !== null) {
    const path = problem.path === '' ? at : `${at}.${problem.path}`;
    throw new MusterError({
      code: 'spec-invalid',
      path,
      message: `${path}: ${problem.message}`
    });
  }
}

function shapeOf(group: ParsedGroup, host: Host | null): WorkerShape {
  const cores =
    group.worker?.cores ?? (host === null ? 1 : daskSplit(host.cores).threads);
  const asked = group.worker?.memory;
  return {
    cores,
    memory:
      asked === undefined ? defaultMemory(cores, group.scale, host) : asked,
    gpus: group.worker?.gpus ?? 0,
    resources: group.worker?.resources ?? {}
  };
}

/** This host: the share of its memory that goes with the cores, or with the number of workers. */
function defaultMemory(cores: number, scale: Scale, host: Host | null): number {
  if (host === null) {
    return DEFAULT_MEMORY_ELSEWHERE;
  }
  const byCores = host.memory * Math.min(1, cores / host.cores);
  const workers =
    scale.type === 'fixed' && 'workers' in scale
      ? Math.max(1, scale.workers)
      : 1;
  return Math.floor(Math.min(byCores, host.memory / workers));
}

function checkScheduler(
  placement: 'bridge' | 'job',
  backend: DescribedBackend
): void {
  const allowed = backend.describe().capabilities.schedulerPlacement;
  if (!allowed.includes(placement)) {
    throw new MusterError({
      code: 'spec-invalid',
      path: 'scheduler.placement',
      message: `scheduler.placement: '${placement}' is not possible on ${backend.describe().title}`,
      hint: `one of: ${allowed.join(', ')}`
    });
  }
}

/** The most this cluster may ever have, against the site's limits. */
export function checkLimits(
  groups: readonly WorkerGroup[],
  limits: Limits
): void {
  const most = groups.map(group => ({
    group,
    workers: rangeOf(group).maximum
  }));
  const total = (amount: (group: WorkerGroup) => number): number =>
    most.reduce((sum, { group, workers }) => sum + workers * amount(group), 0);
  const checks: [number | null, number, string, (value: number) => string][] = [
    [limits.maximumWorkers, total(() => 1), 'workers', String],
    [limits.maximumCores, total(group => group.worker.cores), 'cores', String],
    [
      limits.maximumMemory,
      total(group => group.worker.memory ?? 0),
      'memory',
      formatBytes
    ]
  ];
  for (const [limit, asked, what, text] of checks) {
    if (limit !== null && asked > limit) {
      throw new MusterError({
        code: 'policy',
        path: 'groups',
        message: `groups: ${text(asked)} of ${what} asked for in all, ${text(limit)} allowed here`,
        hint: `ask for at most ${text(limit)}`,
        details: { limit, asked, what }
      });
    }
  }
}
