/** What a `muster.yaml` may say, and how several files become one. Pure. */
import { z } from 'zod';
import {
  clusterPatchSchema,
  clusterSpecSchema,
  durationSchema,
  totalMemorySchema
} from '../../protocol/index.js';
import type { ProfileView } from '../../protocol/index.js';

const BACKEND_NAME = /^[a-z][a-z0-9-]{0,63}$/;
const TEN_YEARS = 10 * 366 * 86400;

const whole = (what: string) =>
  z
    .number({ error: `must be a whole number of ${what}` })
    .int({ error: `must be a whole number of ${what}` })
    .min(0, { error: 'must be 0 or more' });

const backendName = z.string({ error: 'must be text' }).regex(BACKEND_NAME, {
  error: 'is not the name of a backend (small letters, digits, -)'
});

/** A profile's fields are the defaults of a request: any of them, except its name and profile. */
const profileSpecSchema = clusterSpecSchema.omit({ name: true, profile: true });

const profileSchema = z.strictObject({
  title: z.string({ error: 'must be text' }).max(200).optional(),
  /** Checked here, kept as written: a default filled in now would hide the backend's own. */
  spec: z.unknown().superRefine((value, context) => {
    const result = profileSpecSchema.safeParse(value);
    for (const issue of result.error?.issues ?? []) {
      context.addIssue({ ...issue, code: 'custom', params: { issue } });
    }
  })
});

export const limitsSchema = z.strictObject({
  maximumWorkers: whole('workers').optional(),
  maximumCores: whole('cores').optional(),
  /** Bytes, or text as "1TB". */
  maximumMemory: totalMemorySchema.optional(),
  allowedBackends: z
    .array(backendName, { error: 'must be a list of names' })
    .optional()
});

/** Of one cluster, all its groups together; the strictest word of any file counts. */
export type Limits = z.output<typeof limitsSchema>;

const backendSchema = z.strictObject({
  /** Defaults of `groups[].options`, under what a profile and the request say. */
  options: z.record(z.string(), z.unknown()).default({}),
  /** Where the backend's programs are, e.g. `sbatch: /opt/slurm/bin/sbatch`. */
  commands: z
    .record(
      z.string(),
      z
        .string({ error: 'must be a path' })
        .max(4096)
        .regex(/^\//, { error: 'must be an absolute path' })
    )
    .default({}),
  /** The backend's own: login host, hosts, namespace, … */
  settings: z.record(z.string(), z.unknown()).default({})
});

export type BackendConfig = z.output<typeof backendSchema>;

export const musterFileSchema = z.strictObject({
  profiles: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._ -]{0,63}$/, {
        error:
          'is not the name of a profile (letters, digits, . _ - and spaces, at most 64)'
      }),
      profileSchema
    )
    .default({}),
  limits: limitsSchema.default({}),
  backends: z.record(backendName, backendSchema).default({}),
  /**
   * Batch systems of the site's own, or built-in ones changed (docs/batch-systems/). Each is looked
   * at by itself, with the others there are (batch-systems.ts): one may be based on another file's.
   */
  batchSystems: z
    .array(z.unknown(), { error: 'must be a list of descriptions' })
    .max(100, { error: 'at most 100 batch systems' })
    .default([]),
  /** Defaults of a new cluster's lifetime. */
  lifetime: clusterPatchSchema.shape.lifetime,
  /** Which profile a request without profile and backend begins with. */
  defaultProfile: z.string({ error: 'must be text' }).max(64).optional(),
  /** The bridge's own end: seconds without clusters and clients; 0: never. */
  bridgeIdleTimeout: durationSchema({
    minimum: 0,
    maximum: TEN_YEARS
  }).optional()
});

export type MusterFile = z.output<typeof musterFileSchema>;

export type ConfigSource = ProfileView['source'];

/** All files as one. */
export type MusterConfig = {
  profiles: ProfileView[];
  limits: Limits;
  backends: Record<string, BackendConfig>;
  lifetime: NonNullable<MusterFile['lifetime']>;
  defaultProfile: string | null;
  /** Seconds; null: not said in any file. */
  bridgeIdleTimeout: number | null;
};

/** What the package itself brings. */
export const PACKAGE_FILE: MusterFile = musterFileSchema.parse({
  profiles: {
    'this-host': {
      title: 'This computer, split as Dask does',
      spec: { backend: 'local' }
    }
  }
});

/**
 * One configuration out of files, the strongest first. The stronger file's word counts field by
 * field, except for limits: there the strictest does, so that a user cannot lift a site's.
 */
export function mergeFiles(
  files: readonly { source: ConfigSource; file: MusterFile }[]
): MusterConfig {
  const config: MusterConfig = {
    profiles: [],
    limits: {},
    backends: {},
    lifetime: {},
    defaultProfile: null,
    bridgeIdleTimeout: null
  };
  for (const { source, file } of files) {
    for (const [name, profile] of Object.entries(file.profiles)) {
      if (!config.profiles.some(known => known.name === name)) {
        config.profiles.push({
          name,
          source,
          ...(profile.title === undefined ? {} : { title: profile.title }),
          spec: profile.spec as Record<string, unknown>
        });
      }
    }
    for (const [name, backend] of Object.entries(file.backends)) {
      const stronger = config.backends[name];
      config.backends[name] = {
        options: { ...backend.options, ...stronger?.options },
        commands: { ...backend.commands, ...stronger?.commands },
        settings: { ...backend.settings, ...stronger?.settings }
      };
    }
    config.limits = strictest(config.limits, file.limits);
    config.lifetime = { ...file.lifetime, ...config.lifetime };
    config.defaultProfile ??= file.defaultProfile ?? null;
    config.bridgeIdleTimeout ??= file.bridgeIdleTimeout ?? null;
  }
  return config;
}

function strictest(one: Limits, other: Limits): Limits {
  const least = (
    name: 'maximumWorkers' | 'maximumCores' | 'maximumMemory'
  ): Limits => {
    const said = [one[name], other[name]].filter(value => value !== undefined);
    return said.length === 0 ? {} : { [name]: Math.min(...said) };
  };
  const allowed =
    one.allowedBackends !== undefined && other.allowedBackends !== undefined
      ? one.allowedBackends.filter(name =>
          other.allowedBackends?.includes(name)
        )
      : (one.allowedBackends ?? other.allowedBackends);
  return {
    ...least('maximumWorkers'),
    ...least('maximumCores'),
    ...least('maximumMemory'),
    ...(allowed === undefined ? {} : { allowedBackends: allowed })
  };
}
