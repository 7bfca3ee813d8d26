/** Starts a pool as a process of its own: own session, own log, no tie to the bridge's life. */
import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { writePrivateFile } from './private-folder.js';
import { readySchema } from './pool-messages.js';

/** Why a pool did not come up; `code` `busy`: another one owns the folder. */
export class PoolStartError extends Error {
  constructor(
    readonly code: 'busy' | 'python' | 'failed' | 'timeout',
    message: string
  ) {
    super(message);
    this.name = 'PoolStartError';
  }
}

export type PoolStart = {
  /** Private, existing; the program text, its log, socket and journal go there. */
  folder: string;
  python: string;
  program: string;
  /** The whole environment, read-once variables included. */
  environment: Readonly<Record<string, string>>;
  /** Used when the folder's own path is too long for a socket, or its file system has none. */
  fallbackSocket: string;
  standby: boolean;
  idleSeconds: number;
  unassignedSeconds: number;
  forceExec: boolean;
  inspection: 'proc' | 'ps';
  timeoutMs: number;
};

/**
 * Start it and wait until it listens; it answers when its imports are done.
 * @returns the path of its socket.
 */
export async function startPool(start: PoolStart): Promise<string> {
  const program = join(start.folder, 'pool.py');
  await writePrivateFile(program, start.program);
  const log = await open(
    join(start.folder, 'pool.log'),
    constants.O_WRONLY |
      constants.O_APPEND |
      constants.O_CREAT |
      constants.O_NOFOLLOW,
    0o600
  );
  try {
    return await run(start, program, log.fd);
  } catch (error) {
    if (error instanceof PoolStartError && error.code === 'failed') {
      const words = await lastLines(join(start.folder, 'pool.log'));
      throw new PoolStartError('failed', `${error.message}${words}`);
    }
    throw error;
  } finally {
    await log.close();
  }
}

function run(start: PoolStart, program: string, log: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      start.python,
      [
        program,
        '--folder',
        start.folder,
        '--fallback-socket',
        start.fallbackSocket,
        '--interpreter',
        start.python,
        '--idle-seconds',
        String(start.idleSeconds),
        '--unassigned-seconds',
        String(start.unassignedSeconds),
        '--inspection',
        start.inspection,
        '--ready-descriptor',
        '3',
        ...(start.standby ? ['--standby'] : []),
        ...(start.forceExec ? ['--force-exec'] : [])
      ],
      {
        cwd: start.folder,
        env: start.environment,
        detached: true,
        stdio: ['ignore', log, log, 'pipe']
      }
    );
    child.unref();
    const ready = child.stdio[3] as Readable;
    let text = '';
    const timer = setTimeout(() => {
      settle(() => {
        reject(
          new PoolStartError(
            'timeout',
            `${start.python} did not start within ${start.timeoutMs / 1000} s`
          )
        );
      });
    }, start.timeoutMs);
    const settle = (act: () => void) => {
      clearTimeout(timer);
      ready.destroy();
      act();
    };
    ready.setEncoding('utf8');
    ready.on('error', () => undefined);
    ready.on('data', (chunk: string) => {
      text += chunk;
    });
    ready.on('end', () => {
      settle(() => {
        const answer = readySchema.safeParse(parse(text)).data;
        if (answer?.ok === true) {
          resolve(answer.socket);
        } else if (answer?.ok === false) {
          reject(
            new PoolStartError(
              answer.code === 'busy' ? 'busy' : 'failed',
              answer.error
            )
          );
        } else {
          reject(
            new PoolStartError(
              'failed',
              `${start.python} could not run the worker pool`
            )
          );
        }
      });
    });
    child.on('error', error => {
      settle(() => {
        reject(
          new PoolStartError(
            'python',
            `${start.python} cannot be started: ${error.message}`
          )
        );
      });
    });
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function lastLines(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.trimEnd().split('\n').slice(-5).join('\n');
  return lines === '' ? '' : `: ${lines}`;
}
