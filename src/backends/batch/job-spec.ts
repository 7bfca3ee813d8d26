/**
 * What a job asks for, in one vocabulary for all batch systems (specs/resource-manager.md §5).
 * Values are literal; what shall be filled in by the batch system or on the node is marked
 * (`NodeText`). A line break in a value that goes into a directive would be another directive, so
 * it is refused.
 */
import { z } from 'zod';
import { formatPath, parseBytes } from '../../protocol/index.js';
import { SpecError, type SpecProblem } from './errors.js';
import {
  type Geometry,
  MEMORY_SCOPES,
  memoryPer,
  solveGeometry
} from './geometry.js';
import { signalNumber } from './states.js';
import { readOurWalltime } from './walltime.js';

/** A text, parts of which are known only later: the job's id, its array index, a node's variable. */
export type NodeText =
  | string
  | readonly (string | { fill: 'id' | 'index' } | { variable: string })[];

const line = (maximum = 4096) =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(maximum)
    // eslint-disable-next-line no-control-regex -- control characters are what is refused here
    .regex(/^[^\u0000-\u001f\u007f\u0085\u2028\u2029]*$/, {
      error: 'must not contain line breaks or control characters'
    });

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'is not a variable name' });

const nodeText: z.ZodType<NodeText> = z.union([
  line(),
  z
    .array(
      z.union([
        line(),
        z.strictObject({ fill: z.enum(['id', 'index']) }),
        z.strictObject({ variable: variableName })
      ])
    )
    .min(1)
]);

const bytes = z
  .union([z.number(), z.string().max(64)])
  .transform((value, context) => {
    const size = parseBytes(value);
    if (size === null || size < 0) {
      context.addIssue({
        code: 'custom',
        message: `'${String(value)}' is not a size such as '4 GiB', '800MB' or a number of bytes`
      });
      return z.NEVER;
    }
    return size;
  });

const walltime = z
  .union([z.number().int().positive().max(315_360_000), z.string().max(64)])
  .transform((value, context) => {
    const read = typeof value === 'number' ? value : readOurWalltime(value);
    if (typeof read === 'object') {
      context.addIssue({ code: 'custom', message: read.refused });
      return z.NEVER;
    }
    return read;
  });

const count = (maximum: number) => z.number().int().min(1).max(maximum);

export const DEPENDENCY_CONDITIONS = ['ok', 'notOk', 'any', 'started'] as const;

export const jobSpecSchema = z.strictObject({
  name: line(255).optional(),
  /** Our mark; goes into name, comment and environment (specs/batch-systems.md §9). */
  token: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, {
      error: 'must be letters, digits, _ and -, beginning with a letter'
    })
    .optional(),
  /** For `submitCommand`. */
  command: z
    .array(z.string().regex(/^[^\0]*$/))
    .min(1)
    .optional(),
  env: z
    .record(variableName, z.union([z.string().regex(/^[^\0]*$/), nodeText]))
    .default({}),
  workdir: nodeText.optional(),
  stdout: nodeText.optional(),
  stderr: nodeText.optional(),
  /** One file for both streams. */
  joinOutput: z.boolean().default(false),
  /** Absolute folder for `<token>.started` and `<token>.exit`, seen by the bridge and the nodes. */
  marks: line().optional(),
  nodes: count(100_000).optional(),
  tasks: count(10_000_000).optional(),
  tasksPerNode: count(100_000).optional(),
  cpusPerTask: count(100_000).optional(),
  gpusPerTask: z.number().int().min(0).max(1024).optional(),
  gpuType: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, {
      error: 'is not a GPU type'
    })
    .optional(),
  memory: z
    .union([
      z.literal('wholeNode'),
      z.strictObject({ bytes, per: z.enum(MEMORY_SCOPES) })
    ])
    .optional(),
  walltimeSeconds: walltime.optional(),
  exclusive: z.boolean().default(false),
  queue: line(255).optional(),
  account: line(255).optional(),
  project: line(255).optional(),
  qos: line(255).optional(),
  constraint: line().optional(),
  reservation: line(255).optional(),
  placement: z.enum(['pack', 'scatter', 'any']).default('any'),
  priority: z.number().min(0).max(1).optional(),
  array: z
    .strictObject({
      indices: z
        .array(z.number().int().min(0).max(4_000_000))
        .min(1)
        .max(100_000),
      maxRunning: count(100_000).optional()
    })
    .refine(one => new Set(one.indices).size === one.indices.length, {
      error: 'an index is given twice',
      path: ['indices']
    })
    .optional(),
  dependsOn: z
    .array(
      z.strictObject({
        ids: z
          .array(
            z.string().regex(/^[A-Za-z0-9ƒ][A-Za-z0-9ƒ_.+[\]@-]{0,127}$/u, {
              error: 'is not a job id'
            })
          )
          .min(1),
        condition: z.enum(DEPENDENCY_CONDITIONS)
      })
    )
    .default([]),
  warnBefore: z
    .strictObject({
      signal: z
        .string()
        .refine(name => signalNumber(name) !== null, 'is not a signal name')
        .transform(name => name.replace(/^SIG/, '')),
      seconds: count(86_400)
    })
    .optional(),
  requeue: z.boolean().default(false),
  /** Lines for the batch system as they are, without its prefix. They come last. */
  native: z.array(line()).default([]),
  workersPerJob: count(10_000).default(1),
  threadsPerWorker: count(10_000).optional(),
  memoryPerWorker: bytes.optional()
});

export type JobSpecInput = z.input<typeof jobSpecSchema>;
export type JobSpec = z.output<typeof jobSpecSchema> & { geometry: Geometry };

/** The spec checked and solved. @throws SpecError naming every problem at once. */
export function parseJobSpec(input: unknown): JobSpec {
  const parsed = jobSpecSchema.safeParse(input);
  if (!parsed.success) {
    throw new SpecError(
      parsed.error.issues.flatMap(issue =>
        issue.code === 'unrecognized_keys'
          ? issue.keys.map(key => ({ field: key, message: 'is not a field' }))
          : [{ field: formatPath(issue.path), message: issue.message }]
      )
    );
  }
  const spec = parsed.data;
  const geometry = solveGeometry(spec);
  if ('problems' in geometry) {
    throw new SpecError(geometry.problems);
  }
  const problems = crossChecks(spec, geometry);
  if (problems.length > 0) {
    throw new SpecError(problems);
  }
  return { ...spec, geometry };
}

/** The job's whole memory in bytes; null where it is unset or a whole node's. */
export function jobMemory(spec: JobSpec): number | null {
  return spec.memory === undefined ||
    spec.memory === 'wholeNode' ||
    spec.memory.bytes === 0
    ? null
    : memoryPer('job', spec.memory, spec.geometry);
}

function crossChecks(
  spec: z.output<typeof jobSpecSchema>,
  geometry: Geometry
): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const { memory } = spec;
  if (
    typeof memory === 'object' &&
    memory.per === 'gpu' &&
    geometry.gpus === 0
  ) {
    problems.push({
      field: 'memory',
      message: 'is given per GPU, but the job asks for no GPU'
    });
  }
  if (spec.gpuType !== undefined && geometry.gpus === 0) {
    problems.push({
      field: 'gpuType',
      message: 'is given, but gpusPerTask is not'
    });
  }
  const total = jobMemory({ ...spec, geometry });
  if (spec.memoryPerWorker !== undefined && total !== null) {
    const sum = spec.memoryPerWorker * spec.workersPerJob;
    if (sum > total) {
      problems.push({
        field: 'memoryPerWorker',
        message: `${spec.workersPerJob} workers of ${spec.memoryPerWorker} bytes are more than the job's ${total} bytes`
      });
    }
  }
  if (spec.joinOutput && spec.stderr !== undefined) {
    problems.push({
      field: 'stderr',
      message: 'has no meaning with joinOutput'
    });
  }
  return problems;
}

/** `<folder>/<stem>-<job id>[-<index>].<suffix>`: a path of which no two jobs write the same. */
export function logFile(options: {
  folder: string;
  stem: string;
  suffix: string;
  array?: boolean;
}): NodeText {
  return [
    `${options.folder}/${options.stem}-`,
    { fill: 'id' },
    ...(options.array === true ? ['-', { fill: 'index' } as const] : []),
    `.${options.suffix}`
  ];
}
