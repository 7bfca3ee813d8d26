/** What a local job's handle holds: enough to find its processes again, and nothing to guess. */
import { readlink } from 'node:fs/promises';
import { z } from 'zod';
import type { ClusterId } from '../../protocol/index.js';
import type { PoolProcess } from '../pool/pool-messages.js';
import type { Handle } from '../resource-manager.js';
import type { ProcessInspection } from './process-inspection.js';

const dataSchema = z.object({
  host: z.string(),
  bootId: z.string(),
  pidNamespace: z.string(),
  /** The cluster's. */
  folder: z.string(),
  /** Name of the pool's folder in `<folder>/pool/`. */
  pool: z.string().regex(/^[0-9a-f]{10}(-\d)?$/),
  cluster: z.string(),
  attempt: z.number(),
  processes: z
    .array(
      z.object({
        launch: z.string(),
        pid: z.number().int().positive(),
        startTime: z.string()
      })
    )
    .min(1)
});
export type LocalHandleData = z.infer<typeof dataSchema>;
export type LocalProcess = LocalHandleData['processes'][number];

/** Pids mean something only within one; '' where there are none. */
export function pidNamespace(): Promise<string> {
  return readlink('/proc/self/ns/pid').catch(() => '');
}

/**
 * The handle of processes started on this host and boot. Its native id is `<pid>.<start time>` of
 * the first process: pids come back, this does not.
 */
export async function makeLocalHandle(made: {
  host: string;
  inspection: ProcessInspection;
  folder: string;
  cluster: ClusterId;
  attempt: number;
  pool: string;
  processes: readonly PoolProcess[];
}): Promise<{ handle: Handle; data: LocalHandleData }> {
  const data: LocalHandleData = {
    host: made.host,
    bootId: await made.inspection.bootId(),
    pidNamespace: await pidNamespace(),
    folder: made.folder,
    pool: made.pool,
    cluster: made.cluster,
    attempt: made.attempt,
    processes: made.processes.map(({ id, pid, startTime }) => ({
      launch: id,
      pid,
      startTime
    }))
  };
  const [first] = data.processes;
  if (first === undefined) {
    throw new RangeError('a job has at least one process');
  }
  const nativeId = `${first.pid}.${first.startTime}`;
  return { handle: { nativeId, incarnation: 0, data }, data };
}

/** null: not a handle of this backend. */
export function localHandleData(handle: Handle): LocalHandleData | null {
  return dataSchema.safeParse(handle.data).data ?? null;
}
