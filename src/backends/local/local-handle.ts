/** What a local job's handle holds: enough to find its processes again, and nothing to guess. */
import { z } from 'zod';
import type { Handle } from '../resource-manager.js';

const dataSchema = z.object({
  host: z.string(),
  bootId: z.string(),
  /** Pids mean something only within one; '' where there are none. */
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

/** `<pid>.<start time>` of the first process: pids come back, this does not. */
export function localHandle(data: LocalHandleData): Handle {
  const first = data.processes[0];
  return {
    nativeId: first === undefined ? '' : `${first.pid}.${first.startTime}`,
    incarnation: 0,
    data
  };
}

/** null: not a handle of this backend. */
export function localHandleData(handle: Handle): LocalHandleData | null {
  return dataSchema.safeParse(handle.data).data ?? null;
}
