/** Replies of the scheduler, checked at the edge. Every metric and field may be missing (H14). */
import { z } from 'zod';
import type { SchedulerIdentity, SchedulerWorker } from './scheduler-link.js';
import { LinkError } from './wire/errors.js';

const optionalNumber = z.number().nullish().catch(null);

const workerSchema = z
  .object({
    id: z.unknown().optional(),
    name: z.unknown().optional(),
    host: z.string().nullish().catch(null),
    status: z.string().catch('unknown'),
    nthreads: z.number().catch(0),
    memory_limit: optionalNumber,
    resources: z.record(z.string(), z.unknown()).nullish().catch(null),
    metrics: z
      .object({
        cpu: optionalNumber,
        memory: optionalNumber,
        managed_bytes: optionalNumber,
        time: optionalNumber,
        task_counts: z.record(z.string(), z.unknown()).nullish().catch(null)
      })
      .nullish()
      .catch(null)
  })
  .loose();

const identitySchema = z
  .object({
    type: z.literal('Scheduler'),
    id: z.string(),
    address: z.string(),
    services: z.record(z.string(), z.unknown()).nullish().catch(null),
    n_workers: z.number().int().nonnegative().optional(),
    workers: z.record(z.string(), z.unknown()).catch({})
  })
  .loose();

/** `n_workers` is null where the version does not tell it. */
export function readIdentity(reply: unknown): {
  identity: SchedulerIdentity;
  workerCount: number | null;
} {
  const parsed = identitySchema.safeParse(reply);
  if (!parsed.success) {
    throw unreadable('identity', parsed.error);
  }
  const { id, address, services, workers, n_workers } = parsed.data;
  const dashboard = services?.['dashboard'];
  return {
    identity: {
      id,
      address,
      dashboardPort: typeof dashboard === 'number' ? dashboard : null,
      workers: Object.entries(workers).flatMap(([worker, value]) => {
        const read = readWorker(worker, value);
        return read === null ? [] : [read];
      })
    },
    workerCount: n_workers ?? null
  };
}

function readWorker(address: string, value: unknown): SchedulerWorker | null {
  const parsed = workerSchema.safeParse(value);
  if (!parsed.success) {
    return null;
  }
  const worker = parsed.data;
  const metrics = worker.metrics ?? null;
  const count = (state: string): number => {
    const value = metrics?.task_counts?.[state];
    return typeof value === 'number' ? value : 0;
  };
  return {
    address,
    // The command line turns `--name 7` into the integer 7.
    name: nameOf(worker.name) ?? nameOf(worker.id) ?? address,
    host: worker.host ?? null,
    status: worker.status,
    nthreads: worker.nthreads,
    memoryLimit: worker.memory_limit ?? null,
    resources: Object.fromEntries(
      Object.entries(worker.resources ?? {}).filter(
        (entry): entry is [string, number] => typeof entry[1] === 'number'
      )
    ),
    cpu: metrics?.cpu ?? null,
    memory: metrics?.memory ?? null,
    managedBytes: metrics?.managed_bytes ?? null,
    executing: count('executing'),
    longRunning: count('long-running'),
    ready: count('ready'),
    inMemory: count('memory'),
    metricsTime: metrics?.time ?? null
  };
}

function nameOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number'
    ? String(value)
    : null;
}

const schemas = {
  ncores: z.record(z.string(), z.unknown()),
  processing: z.record(z.string(), z.array(z.unknown())),
  adaptive_target: z.number().int().nonnegative(),
  workers_to_close: z.array(z.string()),
  check_idle: z.number().nullable(),
  retire_workers: z.record(z.string(), z.unknown()),
  unregister: z.enum(['OK', 'already-removed']),
  get_task_prefix_states: z.record(
    z.string(),
    z.record(z.string(), z.number())
  ),
  /** `[timestamp, message]`; a message may be anything. */
  events: z.array(z.tuple([z.number(), z.unknown()]))
} as const;

type Schemas = typeof schemas;

/** @throws LinkError `protocol` when the reply has another shape. */
export function readReply<Op extends keyof Schemas>(
  op: Op,
  reply: unknown
): z.infer<Schemas[Op]> {
  const parsed = schemas[op].safeParse(reply);
  if (!parsed.success) {
    throw unreadable(op, parsed.error);
  }
  return parsed.data as z.infer<Schemas[Op]>;
}

function unreadable(op: string, cause: z.ZodError): LinkError {
  return new LinkError({
    kind: 'protocol',
    message: `The scheduler's answer to "${op}" has an unknown shape`,
    cause
  });
}
