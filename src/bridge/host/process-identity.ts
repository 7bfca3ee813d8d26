/**
 * Who a process is. A pid alone is nobody: it is given again after its process ended. The identity
 * is pid + start time + boot id (specs/reliability-and-security.md R3).
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { bootId, UNKNOWN_BOOT } from './boot-id.js';

export type ProcessIdentity = {
  pid: number;
  /** As `processStartTime` says it; opaque. */
  startTime: string;
  bootId: string;
};

type ProcessStat = { state: string; startTime: string };

/**
 * When a process began, in the system's own words: Linux clock ticks since boot (field 22 of
 * `/proc/<pid>/stat`, see proc(5)), elsewhere `ps -o lstart`. null: there is no such process, or
 * only its remains (a zombie: process 1 of a container may reap nothing).
 */
export function processStartTime(pid: number): string | null {
  const stat = readStat(pid);
  return stat === null || isDeadState(stat.state) ? null : stat.startTime;
}

/** This process. */
export function ownIdentity(): ProcessIdentity {
  const startTime = processStartTime(process.pid);
  if (startTime === null) {
    throw new Error(
      `the start time of this process (${process.pid}) cannot be read`
    );
  }
  return { pid: process.pid, startTime, bootId: bootId() };
}

/** Does exactly this process still live here? A stopped one (SIGSTOP) lives; a zombie does not. */
export function processLives(identity: ProcessIdentity): boolean {
  return (
    identity.bootId !== UNKNOWN_BOOT &&
    identity.bootId === bootId() &&
    processStartTime(identity.pid) === identity.startTime
  );
}

/**
 * Sends a signal to exactly this process.
 * @returns false where it does not live here any more; nothing was signalled then.
 */
export function signalProcess(
  identity: ProcessIdentity,
  signal: NodeJS.Signals
): boolean {
  if (identity.pid <= 1 || !processLives(identity)) {
    return false;
  }
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') {
      return false;
    }
    throw error;
  }
}

/** Z and X of proc(5) are dead: `kill(pid, 0)` still succeeds on a zombie. */
function isDeadState(state: string): boolean {
  return state.startsWith('Z') || state.startsWith('X');
}

/**
 * State and start time out of the text of `/proc/<pid>/stat`. The command name may hold spaces and
 * parentheses, so fields are counted from the last `)`.
 */
export function parseStat(text: string): ProcessStat | null {
  const fields = text
    .slice(text.lastIndexOf(')') + 1)
    .trim()
    .split(/\s+/);
  const state = fields[0];
  const startTime = fields[19];
  if (
    !text.includes(')') ||
    state === undefined ||
    startTime === undefined ||
    !/^\d+$/.test(startTime)
  ) {
    return null;
  }
  return { state, startTime };
}

function readStat(pid: number): ProcessStat | null {
  if (!Number.isSafeInteger(pid) || pid <= 0) {
    return null;
  }
  if (process.platform === 'linux') {
    try {
      return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    } catch {
      return null;
    }
  }
  try {
    // LC_ALL: the date's words must not change with the user's language.
    const text = execFileSync(
      'ps',
      ['-o', 'state=', '-o', 'lstart=', '-p', String(pid)],
      {
        encoding: 'utf8',
        timeout: 5_000,
        env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
        stdio: ['ignore', 'pipe', 'ignore']
      }
    ).trim();
    const match = /^(\S+)\s+(.+)$/.exec(text);
    return match?.[1] === undefined || match[2] === undefined
      ? null
      : { state: match[1], startTime: match[2].replace(/\s+/g, ' ') };
  } catch {
    // ps exits 1 where there is no such process.
    return null;
  }
}
