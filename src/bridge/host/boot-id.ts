/** Which boot of this machine we run in; process ids mean nothing across boots. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Stable while the machine is up, different after every boot. Containers share their machine's.
 * `unknown` where the system does not say; callers then must not treat two values as equal boots.
 */
export function bootId(): string {
  if (process.platform === 'linux') {
    try {
      return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    } catch {
      return UNKNOWN_BOOT;
    }
  }
  try {
    // macOS: "{ sec = 1758000000, usec = 123456 } Tue Sep …"
    const text = execFileSync('sysctl', ['-n', 'kern.boottime'], {
      encoding: 'utf8',
      timeout: 5_000
    });
    const match = /sec\s*=\s*(\d+)/.exec(text);
    return match === null ? UNKNOWN_BOOT : `boottime-${match[1]}`;
  } catch {
    return UNKNOWN_BOOT;
  }
}

export const UNKNOWN_BOOT = 'unknown';

/**
 * The process-id namespace, so that two containers of one machine do not take each other's pids
 * for their own; null where there is no such thing.
 */
export function pidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}
