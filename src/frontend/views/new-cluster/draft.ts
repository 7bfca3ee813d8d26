/**
 * What is being typed: a form of texts, and from it the request and what is wrong with it. Pure.
 * The judge is the protocol's own schema, the same one the bridge uses.
 */
import { textOf } from '../../elements/text-of.js';
import {
  formatSize,
  formatAmount,
  parseAmount
} from '../../elements/amount-text.js';
import type {
  Amount,
  BackendView,
  ClusterSpec,
  Scale
} from '../../../protocol/index.js';
import {
  clusterSpecSchema,
  formatBytes,
  formatPath,
  parseBytes,
  scaleProblem
} from '../../../protocol/index.js';

export type DraftGroup = {
  name: string;
  cores: string;
  /** Empty: none asked for, no limit set. */
  memory: string;
  gpus: string;
  workersPerJob: string;
  type: Scale['type'];
  fixed: string;
  minimum: string;
  maximum: string;
  /** What the form does not show, kept as it came. */
  rest: Record<string, unknown>;
  options: Record<string, unknown>;
};

export type Draft = {
  backend: string;
  profile: string | null;
  /** Empty: a readable one is made up. */
  name: string;
  /** Of `EnvironmentView.python`; null: the bridge's default. */
  python: string | null;
  kernelspec: string | null;
  /** Variables, prologue, … of a profile or of the cluster that is duplicated. */
  environment: Record<string, unknown>;
  groups: DraftGroup[];
  /** What was changed in the backend's options, for all groups. */
  options: Record<string, unknown>;
  onJupyterStop: 'keep' | 'stop';
  idleTimeout: string;
  maximumAge: string;
  placement: 'bridge' | 'job';
  scheduler: Record<string, unknown>;
  security: Record<string, unknown> | null;
};

export type Problem = { path: string; message: string };

const text = (value: unknown, fallback: string): string =>
  value === undefined || value === null ? fallback : textOf(value);

const size = (value: unknown): string => {
  const bytes =
    typeof value === 'number' || typeof value === 'string'
      ? parseBytes(value)
      : null;
  return typeof value === 'string'
    ? value
    : bytes === null
      ? ''
      : formatSize(bytes);
};

const duration = (value: unknown, fallback: string): string =>
  value === null
    ? ''
    : typeof value === 'number'
      ? durationText(value)
      : text(value, fallback);

/** `5400` → `90 m`: unlike `formatDuration`, what the schema reads back to the same. */
function durationText(seconds: number): string {
  for (const [unit, letter] of [
    [172_800, 'd'],
    [3600, 'h'],
    [60, 'm']
  ] as const) {
    const whole = letter === 'd' ? 86_400 : unit;
    if (seconds >= unit && seconds % whole === 0) {
      return `${seconds / whole} ${letter}`;
    }
  }
  return `${seconds} s`;
}

const amount = (value: unknown): string => {
  const said = (value ?? {}) as Record<string, unknown>;
  if (said['memory'] !== undefined) {
    return size(said['memory']);
  }
  return said['cores'] !== undefined
    ? formatAmount({ cores: Number(said['cores']) })
    : text(said['workers'], '0');
};

/** A local host as Dask itself would cut it: processes about the root of the cores. */
export function localSplit(cores: number): { workers: number; cores: number } {
  let workers = cores <= 4 ? cores : Math.ceil(Math.sqrt(cores));
  while (cores % workers !== 0) {
    workers += 1;
  }
  return { workers, cores: cores / workers };
}

export function newGroup(
  backend: BackendView | undefined,
  name = 'default'
): DraftGroup {
  const host = backend?.host;
  const split = host === undefined ? null : localSplit(Math.max(1, host.cores));
  const memory =
    host === undefined || split === null
      ? '4 GiB'
      : formatBytes(
          Math.floor(host.memory / split.workers / 1024 ** 2) * 1024 ** 2
        );
  return {
    name,
    cores: String(split?.cores ?? 1),
    memory,
    gpus: '0',
    workersPerJob: '1',
    type: 'fixed',
    fixed: String(split?.workers ?? 1),
    minimum: '0',
    maximum: String(Math.max(2, split?.workers ?? 1)),
    rest: {},
    options: {}
  };
}

function groupFrom(
  said: Record<string, unknown>,
  fallback: DraftGroup
): DraftGroup {
  const worker = (said['worker'] ?? {}) as Record<string, unknown>;
  const scale = (said['scale'] ?? { type: 'fixed', workers: 1 }) as Record<
    string,
    unknown
  >;
  const { resources, ...shape } = worker;
  const isAdaptive = scale['type'] === 'adaptive';
  const rest: Record<string, unknown> = {};
  if (resources !== undefined) {
    rest['resources'] = resources;
  }
  if (said['launcher'] !== undefined && said['launcher'] !== null) {
    rest['launcher'] = said['launcher'];
  }
  return {
    name: text(said['name'], fallback.name),
    cores: text(shape['cores'], fallback.cores),
    memory: 'memory' in shape ? size(shape['memory']) : fallback.memory,
    gpus: text(shape['gpus'], '0'),
    workersPerJob: text(said['workersPerJob'], '1'),
    type: isAdaptive ? 'adaptive' : 'fixed',
    fixed: isAdaptive ? amount(scale['maximum']) : amount(scale),
    minimum: isAdaptive ? amount(scale['minimum'] ?? { workers: 0 }) : '0',
    maximum: isAdaptive ? amount(scale['maximum']) : amount(scale),
    rest,
    options: (said['options'] ?? {}) as Record<string, unknown>
  };
}

/** A form filled from a profile, a cluster to duplicate, or nothing. */
export function draftFrom(options: {
  spec: Record<string, unknown>;
  profile: string | null;
  backend: BackendView | undefined;
}): Draft {
  const { spec, backend } = options;
  const said = spec as {
    name?: string;
    groups?: Record<string, unknown>[];
    environment?: Record<string, unknown>;
    lifetime?: Record<string, unknown>;
    scheduler?: Record<string, unknown>;
    security?: Record<string, unknown>;
  };
  const fallback = newGroup(backend);
  const { python, kernelspec, ...environment } = said.environment ?? {};
  const { placement, ...scheduler } = said.scheduler ?? {};
  const lifetime = said.lifetime ?? {};
  return {
    backend: backend?.name ?? 'local',
    profile: options.profile,
    name: said.name ?? '',
    python: typeof python === 'string' ? python : null,
    kernelspec: typeof kernelspec === 'string' ? kernelspec : null,
    environment,
    groups: said.groups?.map(group => groupFrom(group, fallback)) ?? [fallback],
    options: {},
    onJupyterStop: lifetime['onJupyterStop'] === 'stop' ? 'stop' : 'keep',
    idleTimeout: duration(lifetime['idleTimeout'], '24 h'),
    maximumAge:
      lifetime['maximumAge'] === undefined
        ? ''
        : duration(lifetime['maximumAge'], ''),
    placement: placement === 'job' ? 'job' : 'bridge',
    scheduler,
    security: said.security ?? null
  };
}

/** What is no whole number stays as typed: the schema then says what is wrong with it. */
const whole = (typed: string): unknown =>
  /^\s*[+-]?\d+\s*$/.test(typed) ? Number(typed) : typed;

/** What is no amount stays text, so that the schema refuses it (peer row W10). */
const said = (typed: string): unknown =>
  parseAmount(typed) ?? { workers: typed };

/** The request as it would be sent; may still be wrong. */
export function specOf(draft: Draft): ClusterSpec {
  const spec = {
    ...(draft.name.trim() === '' ? {} : { name: draft.name.trim() }),
    backend: draft.backend,
    ...(draft.profile === null ? {} : { profile: draft.profile }),
    groups: draft.groups.map(group => {
      const { resources, launcher } = group.rest;
      return {
        name: group.name,
        worker: {
          cores: whole(group.cores),
          memory: group.memory.trim() === '' ? null : group.memory,
          gpus: whole(group.gpus),
          ...(resources === undefined ? {} : { resources })
        },
        workersPerJob: whole(group.workersPerJob),
        scale:
          group.type === 'fixed'
            ? { type: 'fixed', ...(said(group.fixed) as Amount) }
            : {
                type: 'adaptive',
                minimum: said(group.minimum),
                maximum: said(group.maximum)
              },
        ...(launcher === undefined ? {} : { launcher }),
        options: without({ ...group.options, ...draft.options })
      };
    }),
    environment: {
      ...draft.environment,
      ...(draft.kernelspec !== null
        ? { kernelspec: draft.kernelspec }
        : draft.python !== null
          ? { python: draft.python }
          : {})
    },
    lifetime: {
      onJupyterStop: draft.onJupyterStop,
      idleTimeout: draft.idleTimeout.trim() === '' ? null : draft.idleTimeout,
      maximumAge: draft.maximumAge.trim() === '' ? null : draft.maximumAge
    },
    scheduler: { ...draft.scheduler, placement: draft.placement },
    ...(draft.security === null ? {} : { security: draft.security })
  };
  return spec as ClusterSpec;
}

function without(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).filter(
      ([, value]) => value !== undefined && value !== ''
    )
  );
}

/** All that is wrong, by field of the request; empty: it can be sent. */
export function problemsOf(
  draft: Draft,
  taken: ReadonlySet<string>
): Problem[] {
  const parsed = clusterSpecSchema.safeParse(specOf(draft));
  const problems: Problem[] = [];
  if (taken.has(draft.name.trim())) {
    problems.push({ path: 'name', message: 'is the name of another cluster' });
  }
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      problems.push({ path: formatPath(issue.path), message: issue.message });
    }
    return problems;
  }
  parsed.data.groups?.forEach((group, index) => {
    const worker = {
      cores: 1,
      gpus: 0,
      resources: {},
      ...group.worker,
      memory: group.worker?.memory ?? null
    };
    const problem = scaleProblem({ ...group, worker });
    if (problem !== null) {
      problems.push({
        path: `groups[${index}].scale.${problem.path}`,
        message: problem.message
      });
    }
  });
  return problems;
}
