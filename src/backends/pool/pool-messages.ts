/**
 * The lines between the bridge and the warm pool (`jupyterlab_muster/pool.py`, which is the other
 * half and the law). One JSON object per line; a reply carries `re`, an event carries `event`.
 */
import { z } from 'zod';

/** Grows when the two halves stop understanding each other. */
export const POOL_PROTOCOL = 1;

export const causeSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('memory-limit'),
    pid: z.number(),
    /** Bytes in use when the limit was passed (PSS where the kernel tells it). */
    rss: z.number(),
    limit: z.number()
  }),
  z.object({ type: z.literal('kernel-out-of-memory'), pid: z.number() })
]);
/** Why the pool ended a process, or who else did. */
export type PoolCause = z.infer<typeof causeSchema>;

export const poolProcessSchema = z.object({
  id: z.string(),
  attempt: z.number(),
  token: z.string(),
  pid: z.number().int().positive(),
  startTime: z.string(),
  mode: z.enum(['fork', 'exec']),
  state: z.enum(['running', 'stopping', 'ended']),
  /** Its end was asked for by us. */
  requested: z.boolean(),
  started: z.string(),
  ended: z.string().nullable(),
  code: z.number().nullable(),
  signal: z.string().nullable(),
  cause: causeSchema.nullable()
});
/** One process as the pool knows it. */
export type PoolProcess = z.infer<typeof poolProcessSchema>;

/** `pool.json` of a pool's folder. */
export const poolStateSchema = z.object({
  protocol: z.number(),
  pid: z.number().int().positive(),
  startTime: z.string(),
  bootId: z.string(),
  host: z.string(),
  python: z.string(),
  socket: z.string(),
  assigned: z.boolean()
});
export type PoolState = z.infer<typeof poolStateSchema>;

export const helloSchema = poolStateSchema.extend({
  threads: z.number(),
  forks: z.boolean(),
  /** Why processes are started anew instead of forked. */
  whyNot: z.string().nullable(),
  draining: z.boolean()
});
export type PoolHello = z.infer<typeof helloSchema>;

export const startReplySchema = z.object({
  results: z.array(
    z.union([
      z.object({
        id: z.string(),
        existing: z.boolean(),
        process: poolProcessSchema
      }),
      z.object({
        id: z.string(),
        error: z.string(),
        errno: z.number().nullable()
      })
    ])
  ),
  fallback: z.string().nullable()
});
export type StartReply = z.infer<typeof startReplySchema>;

export const listReplySchema = z.object({
  processes: z.array(poolProcessSchema)
});

export const terminateReplySchema = z.union([
  z.object({ known: z.literal(false) }),
  z.object({ known: z.literal(true), process: poolProcessSchema })
]);

export const shutdownReplySchema = z.object({ running: z.number() });

/** First line of a freshly started pool, on the descriptor it was given for that. */
export const readySchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), socket: z.string() }),
  z.object({ ok: z.literal(false), code: z.string(), error: z.string() })
]);

/** What a process is to be: one element of `start`. */
export type PoolLaunch = {
  id: string;
  attempt: number;
  token: string;
  argv: readonly string[];
  environment: Readonly<Record<string, string>>;
  stdout: string;
  stderr: string;
  cwd: string;
  limit: number | null;
  wrapped: boolean;
  umask: number;
};

export const exitEventSchema = z.object({
  event: z.literal('exit'),
  process: poolProcessSchema
});

export const replySchema = z.union([
  z.looseObject({ re: z.number().nullable(), ok: z.literal(true) }),
  z.object({
    re: z.number().nullable(),
    ok: z.literal(false),
    code: z.string(),
    error: z.string()
  })
]);
