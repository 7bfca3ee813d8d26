/** The file a scheduler writes once it listens (`--scheduler-file`). */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';

const schedulerFileSchema = z.object({
  id: z.string(),
  address: z.string(),
  /** Seconds since 1970, by its host's clock. */
  started: z.number(),
  services: z.record(z.string(), z.unknown()).nullish()
});

export type SchedulerFile = {
  /** To be compared with a live `identity`: the file stays after SIGKILL. */
  id: string;
  address: string;
  startedSeconds: number;
  dashboardPort: number | null;
};

/**
 * What the file says, or null while there is none or it is half written (it is not written
 * atomically): look again.
 * @throws the file system's own errors, except for a missing file.
 */
export async function readSchedulerFile(
  path: string
): Promise<SchedulerFile | null> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return null;
    }
    throw error;
  }
  return parseSchedulerFile(text);
}

export function parseSchedulerFile(text: string): SchedulerFile | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Half written.
    return null;
  }
  const parsed = schedulerFileSchema.safeParse(value);
  if (!parsed.success) {
    return null;
  }
  const dashboard = parsed.data.services?.['dashboard'];
  return {
    id: parsed.data.id,
    address: parsed.data.address,
    startedSeconds: parsed.data.started,
    dashboardPort: typeof dashboard === 'number' ? dashboard : null
  };
}
