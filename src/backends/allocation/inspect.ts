/** The effects around the pure readers: files of this host, and commands that are asked. */
import { readFileSync, statSync } from 'node:fs';
import { availableParallelism, hostname } from 'node:os';
import type {
  AllocationAnswer,
  Answer,
  Environment,
  ReadFile
} from './allocation.js';
import { readAllocation, type Here } from './read.js';
import type { Asks } from './time-left.js';

/** A node file of a very large job is a few MiB. */
const MOST_BYTES = 16 * 1024 * 1024;

/** A plain file of this host; null where it cannot be read or is something else. */
export const textFile: ReadFile = path => {
  try {
    const file = statSync(path);
    // Files of /proc say 0.
    return file.isFile() && file.size <= MOST_BYTES
      ? readFileSync(path, 'utf8')
      : null;
  } catch {
    // On another node, cleaned up, or not ours: the readers say so.
    return null;
  }
};

export type Asking = {
  env: Environment;
  readFile: ReadFile;
  /** null: nothing is asked, an allocation only a command can tell stays incomplete. */
  runner: Asks | null;
  /** This process; left out where the environment is of another one. */
  here?: Here | undefined;
};

/** The process itself. */
export function hereNow(): Here {
  return { host: hostname(), cpus: availableParallelism() };
}

/** What the innermost batch system gave; asks its commands where files and variables do not tell. */
export async function inspect(asking: Asking): Promise<AllocationAnswer> {
  const { here } = asking;
  const first = readAllocation(asking.env, asking.readFile, { here });
  if (first.state !== 'incomplete' || asking.runner === null) {
    return first;
  }
  const answers: Record<string, Answer> = {};
  for (const argv of first.asks) {
    const [program = '', ...rest] = argv;
    answers[argv.join(' ')] = await asking.runner.run({
      argv: [program, ...rest],
      timeoutMs: 15_000
    });
  }
  return readAllocation(asking.env, asking.readFile, { answers, here });
}
