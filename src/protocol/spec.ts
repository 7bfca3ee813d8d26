/**
 * What a user asks for: ClusterSpec, worker groups and their scale (specs/api.md §1).
 * `clusterSpecSchema` is what a request may say; `ResolvedSpec` is what is stored: every default
 * filled, sizes in bytes, durations in seconds.
 */
import { z } from 'zod';
import { bytesSchema, durationSchema } from './quantities.js';

export const NAME_PATTERN = /^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/;
export const MAXIMUM_GROUPS = 16;
export const MAXIMUM_WORKERS = 100_000;
export const MAXIMUM_CORES = 4096;
const KIB = 1024;
export const MAXIMUM_WORKER_MEMORY = 1024 ** 5;
const MAXIMUM_TOTAL_MEMORY = MAXIMUM_WORKER_MEMORY * MAXIMUM_WORKERS;
const MAXIMUM_TOTAL_CORES = MAXIMUM_CORES * MAXIMUM_WORKERS;
const TEN_YEARS = 10 * 366 * 86400;

const integer = (what: string, minimum: number, maximum: number) =>
  z
    .number({ error: `must be a whole number of ${what}` })
    .int({ error: `must be a whole number of ${what}` })
    .min(minimum, { error: `must be ${minimum} or more` })
    .max(maximum, { error: `must be ${maximum} or less` });

/** Printable text of one line: no control characters, no line breaks, no NUL. */
const line = (maximum: number) =>
  z
    .string({ error: 'must be text' })
    .max(maximum, { error: `must be ${maximum} characters or less` })
    // eslint-disable-next-line no-control-regex -- exactly these are what it keeps out
    .regex(/^[^\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028\u2029]*$/, {
      error: 'must not contain control characters or line breaks'
    });

export const nameSchema = z
  .string({ error: 'must be text' })
  .regex(NAME_PATTERN, {
    error:
      'must begin with a letter a-z, then letters, digits and -, at most 40 characters, not ending in -'
  });

const size = bytesSchema({ minimum: KIB, maximum: MAXIMUM_TOTAL_MEMORY });
const sizeOrZero = bytesSchema({ minimum: 0, maximum: MAXIMUM_TOTAL_MEMORY });
const workers = integer('workers', 0, MAXIMUM_WORKERS);
const cores = integer('cores', 0, MAXIMUM_TOTAL_CORES);

/** One amount, said in exactly one unit. */
const amountSchema = z
  .strictObject({
    workers: workers.optional(),
    cores: cores.optional(),
    memory: sizeOrZero.optional()
  })
  .transform((value, context): Amount => {
    const amount = oneAmount(value);
    if (amount === null) {
      context.addIssue({
        code: 'custom',
        message: 'say exactly one of workers, cores or memory'
      });
      return z.NEVER;
    }
    return amount;
  });

export type Amount =
  { workers: number } | { cores: number } | { memory: number };

function oneAmount(value: {
  workers?: number | undefined;
  cores?: number | undefined;
  memory?: number | undefined;
}): Amount | null {
  const said = [value.workers, value.cores, value.memory].filter(
    part => part !== undefined
  );
  if (said.length !== 1) {
    return null;
  }
  if (value.workers !== undefined) {
    return { workers: value.workers };
  }
  if (value.cores !== undefined) {
    return { cores: value.cores };
  }
  return { memory: value.memory ?? 0 };
}

export type FixedScale = { type: 'fixed' } & Amount;
export type AdaptiveScale = {
  type: 'adaptive';
  minimum: Amount;
  maximum: Amount;
};
export type Scale = FixedScale | AdaptiveScale;

const fixedScaleSchema = z
  .strictObject({
    type: z.literal('fixed'),
    workers: workers.optional(),
    cores: cores.optional(),
    memory: sizeOrZero.optional()
  })
  .transform((value, context): FixedScale => {
    const amount = oneAmount(value);
    if (amount === null) {
      context.addIssue({
        code: 'custom',
        message: 'say exactly one of workers, cores or memory'
      });
      return z.NEVER;
    }
    return { type: 'fixed', ...amount };
  });

const adaptiveScaleSchema = z
  .strictObject({
    type: z.literal('adaptive'),
    minimum: amountSchema.default({ workers: 0 }),
    maximum: amountSchema
  })
  .superRefine((value, context) => {
    for (const unit of ['workers', 'cores', 'memory'] as const) {
      const low = amountIn(value.minimum, unit);
      const high = amountIn(value.maximum, unit);
      if (low !== null && high !== null && low > high) {
        context.addIssue({
          code: 'custom',
          path: ['minimum', unit],
          message: `the minimum (${low}) is above the maximum (${high})`
        });
      }
    }
  });

function amountIn(
  amount: Amount,
  unit: 'workers' | 'cores' | 'memory'
): number | null {
  return unit in amount
    ? ((amount as Record<string, number>)[unit] ?? null)
    : null;
}

/** Fixed or adaptive, in workers, cores or memory. */
export const scaleSchema = z.discriminatedUnion(
  'type',
  [fixedScaleSchema, adaptiveScaleSchema],
  {
    error: (issue: { code?: string }) =>
      issue.code === 'invalid_union'
        ? "type must be 'fixed' or 'adaptive'"
        : undefined
  }
);

/** Abstract Dask resources of a worker, e.g. `{ GPU: 1 }`: name → amount. */
const daskResourcesSchema = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/, {
      error: 'a resource name is a word of up to 64 letters, digits, _ . -'
    }),
    z
      .number({ error: 'must be a number' })
      .min(0, { error: 'must be 0 or more' })
      .max(1e15, { error: 'must be 1e15 or less' })
  )
  .refine(value => Object.keys(value).length <= 32, {
    error: 'at most 32 resources'
  });

export const workerShapeSchema = z.strictObject({
  cores: integer('cores', 1, MAXIMUM_CORES).default(1),
  memory: bytesSchema({ minimum: KIB * KIB, maximum: MAXIMUM_WORKER_MEMORY })
    .nullable()
    .optional(),
  gpus: integer('GPUs', 0, 1024).default(0),
  resources: daskResourcesSchema.default({})
});

const optionsSchema = z.record(z.string().max(128), z.unknown()).default({});

const launcherSchema = z.looseObject({
  name: line(64).min(1, { error: 'must name a launcher' })
});

export const groupSchema = z.strictObject({
  name: nameSchema.default('default'),
  worker: workerShapeSchema.optional(),
  workersPerJob: integer('workers', 1, 4096).default(1),
  scale: scaleSchema.default({ type: 'fixed', workers: 1 }),
  launcher: launcherSchema.nullable().default(null),
  options: optionsSchema
});

export const schedulerSchema = z.strictObject({
  placement: z
    .enum(['bridge', 'job'], { error: "must be 'bridge' or 'job'" })
    .default('bridge'),
  resources: z
    .strictObject({
      cores: integer('cores', 1, MAXIMUM_CORES).default(1),
      memory: bytesSchema({
        minimum: KIB * KIB,
        maximum: MAXIMUM_WORKER_MEMORY
      })
        .nullable()
        .default(null)
    })
    .default({ cores: 1, memory: null }),
  options: optionsSchema
});

/** Variables Muster itself sets, or that would change what runs before our checks. */
export const RESERVED_VARIABLES =
  /^(DASK_DISTRIBUTED__COMM__TLS__.*|DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION|MUSTER_.*)$/;

export const environmentSchema = z.strictObject({
  kernelspec: line(255)
    .min(1, { error: 'must name a kernelspec' })
    .nullable()
    .default(null),
  python: line(4096)
    .min(1, { error: 'must be the path of an interpreter' })
    .regex(/^\//, { error: 'must be an absolute path' })
    .nullable()
    .default(null),
  variables: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, {
        error: 'is not the name of an environment variable'
      }),
      z
        .string({ error: 'must be text' })
        .max(65536)
        // NUL ends a string in every exec interface.
        .refine(value => !value.includes('\u0000'), {
          error: 'must not contain NUL'
        })
    )
    .refine(value => Object.keys(value).length <= 1000, {
      error: 'at most 1000 variables'
    })
    .default({})
    .superRefine((value, context) => {
      for (const name of Object.keys(value)) {
        if (RESERVED_VARIABLES.test(name)) {
          context.addIssue({
            code: 'custom',
            path: [name],
            message: 'is set by Muster itself and cannot be given'
          });
        }
      }
    }),
  prologue: z.array(line(8192)).max(1000).default([]),
  epilogue: z.array(line(8192)).max(1000).default([])
});

export const lifetimeSchema = z.strictObject({
  onJupyterStop: z
    .enum(['keep', 'stop'], { error: "must be 'keep' or 'stop'" })
    .default('keep'),
  /** Seconds without work after which the cluster ends; null: never. */
  idleTimeout: durationSchema({ minimum: 1, maximum: TEN_YEARS })
    .nullable()
    .default(86400),
  /** Seconds after which the cluster ends whatever it does; null: never. */
  maximumAge: durationSchema({ minimum: 1, maximum: TEN_YEARS })
    .nullable()
    .default(null)
});

export const securitySchema = z.strictObject({
  tls: z.boolean({ error: 'must be true or false' }).default(true)
});

const groupsSchema = z
  .array(groupSchema)
  .min(1, { error: 'at least one worker group' })
  .max(MAXIMUM_GROUPS, { error: `at most ${MAXIMUM_GROUPS} worker groups` })
  .superRefine((groups, context) => {
    const seen = new Set<string>();
    groups.forEach((group, index) => {
      if (seen.has(group.name)) {
        context.addIssue({
          code: 'custom',
          path: [index, 'name'],
          message: `'${group.name}' is the name of another group too`
        });
      }
      seen.add(group.name);
    });
  });

/** A request's ClusterSpec. Unknown fields are refused by name. */
export const clusterSpecSchema = z.strictObject({
  name: nameSchema.optional(),
  backend: line(64).min(1, { error: 'must name a backend' }).optional(),
  profile: line(64).min(1, { error: 'must name a profile' }).optional(),
  scheduler: schedulerSchema.optional(),
  groups: groupsSchema.optional(),
  environment: environmentSchema.optional(),
  lifetime: lifetimeSchema.optional(),
  security: securitySchema.optional()
});

/** What a request says (before defaults): the panel and the CLI build this. */
export type ClusterSpec = z.input<typeof clusterSpecSchema>;
/** A parsed request: sizes in bytes, durations in seconds, still without backend defaults. */
export type ParsedSpec = z.output<typeof clusterSpecSchema>;

export type WorkerShape = {
  /** Threads of one worker. */
  cores: number;
  /** Bytes; null: none asked for, no limit set. */
  memory: number | null;
  gpus: number;
  resources: Record<string, number>;
};

export type WorkerGroup = {
  name: string;
  worker: WorkerShape;
  workersPerJob: number;
  scale: Scale;
  launcher: ({ name: string } & Record<string, unknown>) | null;
  options: Record<string, unknown>;
};

export type SpecEnvironment = z.output<typeof environmentSchema>;
export type SpecLifetime = z.output<typeof lifetimeSchema>;
export type SpecScheduler = z.output<typeof schedulerSchema>;

/** A spec with everything decided; what ClusterView.spec shows. */
export type ResolvedSpec = {
  name: string;
  backend: string;
  profile?: string;
  scheduler: SpecScheduler;
  groups: WorkerGroup[];
  /** `python` is the absolute interpreter the workers run. */
  environment: SpecEnvironment & { python: string };
  lifetime: SpecLifetime;
  security: { tls: boolean };
};

/** PATCH clusters/{id}. */
export const clusterPatchSchema = z
  .strictObject({
    scale: z.record(z.string().max(64), scaleSchema).optional(),
    lifetime: z
      .strictObject({
        onJupyterStop: z
          .enum(['keep', 'stop'], { error: "must be 'keep' or 'stop'" })
          .optional(),
        idleTimeout: durationSchema({ minimum: 1, maximum: TEN_YEARS })
          .nullable()
          .optional(),
        maximumAge: durationSchema({ minimum: 1, maximum: TEN_YEARS })
          .nullable()
          .optional()
      })
      .optional(),
    name: nameSchema.optional()
  })
  .refine(value => Object.keys(value).length > 0, {
    error: 'say what to change: scale, lifetime or name'
  });

export type ClusterPatch = z.input<typeof clusterPatchSchema>;
export type ParsedPatch = z.output<typeof clusterPatchSchema>;

/** Whole-size schema of totals, for limits in muster.yaml. */
export const totalMemorySchema = size;
