/** Reads the pool's journal: what was started and how it ended, also without the pool. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { causeSchema, type PoolProcess } from './pool-messages.js';

const startSchema = z.object({
  type: z.literal('start'),
  id: z.string(),
  attempt: z.number(),
  token: z.string(),
  pid: z.number().int().positive(),
  startTime: z.string(),
  mode: z.enum(['fork', 'exec']),
  time: z.string()
});
const exitSchema = z.object({
  type: z.literal('exit'),
  id: z.string(),
  attempt: z.number(),
  pid: z.number().int().positive(),
  startTime: z.string(),
  code: z.number().nullable(),
  signal: z.string().nullable(),
  cause: causeSchema.nullable(),
  requested: z.boolean(),
  time: z.string()
});
const entrySchema = z.union([startSchema, exitSchema]);

/**
 * The processes of a journal's text, as they were when the last line was written: `running` means
 * no exit was recorded, which is not the same as alive. Torn and foreign lines are skipped.
 */
export function parseJournal(text: string): PoolProcess[] {
  const processes = new Map<string, PoolProcess>();
  for (const line of text.split('\n')) {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      continue;
    }
    const entry = entrySchema.safeParse(value).data;
    if (entry === undefined) {
      continue;
    }
    const key = `${entry.id}/${entry.attempt}`;
    if (entry.type === 'start') {
      processes.set(key, {
        id: entry.id,
        attempt: entry.attempt,
        token: entry.token,
        pid: entry.pid,
        startTime: entry.startTime,
        mode: entry.mode,
        state: 'running',
        requested: false,
        started: entry.time,
        ended: null,
        code: null,
        signal: null,
        cause: null
      });
      continue;
    }
    const process = processes.get(key);
    if (process !== undefined && process.pid === entry.pid) {
      processes.set(key, {
        ...process,
        state: 'ended',
        requested: entry.requested,
        ended: entry.time,
        code: entry.code,
        signal: entry.signal,
        cause: entry.cause
      });
    }
  }
  return [...processes.values()];
}

/** The journal of a pool's folder; a missing one is empty. */
export async function readJournal(path: string): Promise<PoolProcess[]> {
  try {
    return parseJournal(await readFile(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return [];
    }
    throw error;
  }
}
