/** Which processes of a test are still alive: it must leave none. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export type Process = { pid: number; command: string };

/**
 * All living processes that carry a mark in their environment or command line. Ended ones that
 * nobody has reaped (`Z`) do not count: in a container process 1 may never do it.
 */
export function processesMarked(mark: string): Process[] {
  const found: Process[] = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) {
      continue;
    }
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      if (stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')) {
        continue;
      }
      const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8')
        .replaceAll('\0', ' ')
        .trim();
      const environment = readFileSync(`/proc/${entry}/environ`, 'utf8');
      if (command.includes(mark) || environment.includes(mark)) {
        found.push({ pid, command: command.slice(0, 300) });
      }
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

/** The processes left when they had time to end. */
export async function settledProcesses(
  read: () => Process[],
  milliseconds: number
): Promise<Process[]> {
  const deadline = Date.now() + milliseconds;
  let left = read();
  while (left.length > 0 && Date.now() < deadline) {
    await sleep(200);
    left = read();
  }
  return left;
}
