/** Schemas of path parameters and queries, shared by routes. Everything arrives as text. */
import { z } from 'zod';
import { durationSchema } from '../../protocol/index.js';
import { DEFAULT_LIMIT, MAXIMUM_LIMIT } from './page.js';

const text = (maximum: number) =>
  z
    .string({ error: 'must be said once, as text' })
    .min(1, { error: 'must not be empty' })
    .max(maximum, { error: `must be ${maximum} characters or less` });

export const refParams = z.strictObject({
  ref: text(64).describe('id, or name: the newest cluster of that name')
});

export const workerParams = z.strictObject({
  ref: refParams.shape.ref,
  worker: text(64).describe('<job id>-<index>')
});

export const logParams = z.strictObject({
  ref: refParams.shape.ref,
  what: text(64).describe("'scheduler', a job id or a worker id")
});

export const clientParams = z.strictObject({
  client: z.string().regex(/^[A-Za-z0-9_-]{8,64}$/, {
    error: 'must be 8 to 64 letters, digits, - and _'
  })
});

const whole = (minimum: number, maximum: number) =>
  z
    .string({ error: 'must be said once, as a whole number' })
    .regex(/^-?\d{1,16}$/, { error: 'must be a whole number' })
    .transform(Number)
    .refine(value => value >= minimum && value <= maximum, {
      error: `must be between ${minimum} and ${maximum}`
    });

const limit = (standard: number, maximum: number) =>
  whole(1, maximum)
    .optional()
    .transform(value => value ?? standard);

export const pageQuery = z.strictObject({
  cursor: text(512).optional().describe('`next` of the page before'),
  limit: limit(DEFAULT_LIMIT, MAXIMUM_LIMIT)
});

export const eventsQuery = z.strictObject({
  after: whole(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('only events with a greater seq'),
  cursor: whole(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('`next` of the page before; the same as `after`'),
  limit: limit(DEFAULT_LIMIT, MAXIMUM_LIMIT)
});

/** Bytes of one answer of the logs route. */
const DEFAULT_LOG_LIMIT = 64 * 1024;
const MAXIMUM_LOG_LIMIT = 1024 * 1024;

export const logQuery = z.strictObject({
  stream: z
    .enum(['stdout', 'stderr'], { error: "must be 'stdout' or 'stderr'" })
    .default('stderr'),
  offset: whole(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
    .optional()
    .transform(value => value ?? 0)
    .describe('bytes from the start; negative: from the end'),
  limit: limit(DEFAULT_LOG_LIMIT, MAXIMUM_LOG_LIMIT).describe('bytes')
});

export const forceQuery = z.strictObject({
  force: z
    .enum(['true', 'false'], { error: "must be 'true' or 'false'" })
    .default('false')
    .transform(value => value === 'true')
});

export const noQuery = z.strictObject({});
export const emptyBody = z.strictObject({});

const DAY = 86400;

export const retireBody = z.strictObject({
  deadline: durationSchema({ minimum: 0, maximum: 30 * DAY })
    .nullable()
    .default(null)
    .describe('seconds its running tasks may still take; null: the default')
});
