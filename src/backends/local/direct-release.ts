/** Ends a process whose pool is gone: verified right before each signal, never a foreign pid. */
import { isAlive, type ProcessInspection } from './process-inspection.js';

const STEP_MS = 50;

/**
 * SIGTERM to its group, SIGKILL after the grace.
 * @returns why it may not be ended, or null.
 */
export async function endDirectly(
  inspection: ProcessInspection,
  target: { pid: number; startTime: string },
  graceSeconds: number
): Promise<string | null> {
  if (graceSeconds > 0) {
    const denied = await signal(inspection, target, 'SIGTERM');
    if (denied !== null) {
      return denied;
    }
    const deadline = Date.now() + graceSeconds * 1000;
    while (Date.now() < deadline) {
      if (!(await isAlive(inspection, target))) {
        return null;
      }
      await new Promise(resolve => setTimeout(resolve, STEP_MS));
    }
  }
  return signal(inspection, target, 'SIGKILL');
}

async function signal(
  inspection: ProcessInspection,
  target: { pid: number; startTime: string },
  name: 'SIGTERM' | 'SIGKILL'
): Promise<string | null> {
  if (target.pid <= 1 || !(await isAlive(inspection, target))) {
    return null;
  }
  try {
    // It leads a session and group of its own (pool.py), so the group bears its number.
    process.kill(-target.pid, name);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EPERM') {
      return message;
    }
    if (code !== 'ESRCH') {
      throw error;
    }
  }
  return null;
}
