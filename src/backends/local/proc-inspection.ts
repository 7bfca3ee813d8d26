/** Linux: what /proc says. */
import { readFile } from 'node:fs/promises';
import type { ProcessInspection } from './process-inspection.js';

/**
 * Start time in clock ticks since boot from the text of `/proc/<pid>/stat` (field 22 of proc(5)),
 * or null for a zombie. The name in parentheses may itself hold blanks and parentheses.
 */
export function parseStat(text: string): string | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const state = fields[0] ?? 'X';
  return 'ZXx'.includes(state) ? null : (fields[19] ?? null);
}

export class ProcInspection implements ProcessInspection {
  readonly name = 'proc';

  async bootId(): Promise<string> {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  }

  async startTimes(
    pids: readonly number[]
  ): Promise<ReadonlyMap<number, string>> {
    const found = new Map<number, string>();
    await Promise.all(
      pids.map(async pid => {
        const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(
          (error: unknown) => {
            const { code } = error as NodeJS.ErrnoException;
            if (code === 'ENOENT' || code === 'ESRCH') {
              return null;
            }
            throw error;
          }
        );
        const startTime = text === null ? null : parseStat(text);
        if (startTime !== null) {
          found.set(pid, startTime);
        }
      })
    );
    return found;
  }

  same(left: string | undefined, right: string): boolean {
    return left === right;
  }
}
