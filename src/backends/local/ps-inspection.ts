/** macOS, the BSDs and anything else with POSIX `ps`. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { ProcessInspection } from './process-inspection.js';

const ENVIRONMENT = {
  PATH: '/bin:/usr/bin:/sbin:/usr/sbin',
  LC_ALL: 'C',
  TZ: 'UTC'
};
/** `ps` reckons from the boot time, which a corrected clock moves. */
const TOLERANCE_SECONDS = 2;

/**
 * Pid → start in seconds since 1970, from lines of `ps -o pid=,stat=,lstart=` under LC_ALL=C and
 * TZ=UTC: `  815 Ss   Mon Nov 30 15:58:01 2026`. Zombies are left out.
 */
export function parsePs(text: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const line of text.split('\n')) {
    const match =
      /^\s*(\d+)\s+(\S+)\s+\w{3}\s+(\w{3})\s+(\d+)\s+(\d\d:\d\d:\d\d)\s+(\d{4})\s*$/.exec(
        line
      );
    if (match === null || match[2]?.startsWith('Z') === true) {
      continue;
    }
    const time = Date.parse(
      `${match[4] ?? ''} ${match[3] ?? ''} ${match[6] ?? ''} ${match[5] ?? ''} UTC`
    );
    if (Number.isFinite(time)) {
      found.set(Number(match[1]), String(Math.trunc(time / 1000)));
    }
  }
  return found;
}

export class PsInspection implements ProcessInspection {
  readonly name = 'ps';

  async bootId(): Promise<string> {
    const linux = await readFile(
      '/proc/sys/kernel/random/boot_id',
      'utf8'
    ).catch(() => null);
    if (linux !== null) {
      return linux.trim();
    }
    for (const name of ['kern.bootsessionuuid', 'kern.boottime']) {
      const { stdout } = await run('/usr/sbin/sysctl', ['-n', name]);
      const text = stdout.trim();
      if (text !== '') {
        return text.split('}')[0] ?? text;
      }
    }
    return 'unknown';
  }

  async startTimes(
    pids: readonly number[]
  ): Promise<ReadonlyMap<number, string>> {
    if (pids.length === 0) {
      return new Map();
    }
    const { code, stdout, stderr } = await run('ps', [
      '-o',
      'pid=,stat=,lstart=',
      '-p',
      pids.join(',')
    ]);
    // 1 with empty output: none of them lives. Everything else is a failed look, not a fact.
    if (code !== 0 && !(code === 1 && stderr === '')) {
      throw new Error(`ps failed (${code ?? 'killed'}): ${stderr.trim()}`);
    }
    return parsePs(stdout);
  }

  same(left: string | undefined, right: string): boolean {
    return (
      left !== undefined &&
      Math.abs(Number(left) - Number(right)) <= TOLERANCE_SECONDS
    );
  }
}

function run(
  command: string,
  argv: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    const child = execFile(
      command,
      argv,
      { env: ENVIRONMENT, timeout: 10_000, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => {
        resolve({
          code: error === null ? 0 : child.exitCode,
          stdout,
          stderr:
            error !== null && stderr === '' && child.exitCode === null
              ? error.message
              : stderr
        });
      }
    );
  });
}
