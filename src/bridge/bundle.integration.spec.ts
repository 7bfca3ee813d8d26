import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The bundle as it is shipped, run from a folder that has nothing of ours in it. */
const BUNDLE = join(process.cwd(), 'jupyterlab_muster', 'bridge');
let folder: string;

beforeAll(() => {
  execFileSync(process.execPath, ['script/bundle-bridge.mjs']);
  folder = mkdtempSync(join(tmpdir(), 'muster-bundle-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => ({
  ...process.env,
  NODE_OPTIONS: '',
  XDG_CACHE_HOME: join(folder, 'cache')
});

function run(...args: string[]) {
  return spawnSync(process.execPath, [join(BUNDLE, 'bridge.mjs'), ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: environment()
  });
}

function health(
  socketPath: string,
  secret: string
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    request(
      {
        socketPath,
        path: '/api/v1/health',
        headers: { host: 'bridge', authorization: `Bearer ${secret}` }
      },
      answer => {
        let body = '';
        answer.on('data', (part: Buffer) => (body += part.toString()));
        answer.on('end', () => {
          resolve(JSON.parse(body) as Record<string, unknown>);
        });
      }
    )
      .on('error', reject)
      .end();
  });
}

describe('the bundle', () => {
  test('holds one entry, its programs and their notice; no addon, no map', () => {
    const names = readdirSync(BUNDLE).sort();
    expect(names).toEqual([
      'THIRD-PARTY-NOTICES.txt',
      'bridge.mjs',
      expect.stringMatching(/^cli-[0-9a-f]{12}\.mjs$/),
      expect.stringMatching(/^program-[0-9a-f]{12}\.mjs$/)
    ]);
    const notice = readFileSync(
      join(BUNDLE, 'THIRD-PARTY-NOTICES.txt'),
      'utf8'
    );
    for (const name of ['fastify', 'zod', 'ws', 'pino', 'commander', 'yaml']) {
      expect(notice).toMatch(new RegExp(`^${name} \\d`, 'm'));
    }
    for (const name of names.filter(one => one.endsWith('.mjs'))) {
      expect(readFileSync(join(BUNDLE, name), 'utf8')).not.toContain(
        process.cwd()
      );
    }
  });

  test('says its version, and how it is used', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      version: string;
    };
    expect(run('--version').stdout).toBe(`${version}\n`);
    expect(run('cli', '--version').stdout).toBe(`${version}\n`);
    expect(run('serve')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--runtime is needed')
    });
    expect(run()).toMatchObject({ status: 2 });
    expect(run('cli', '--no-start', 'list')).toMatchObject({ status: 3 });
  });

  test('keeps compiled code in the user’s own cache folder', () => {
    expect(
      statSync(join(folder, 'cache', 'muster', 'node')).isDirectory()
    ).toBe(true);
  });

  test('serves from an empty folder, and SIGTERM ends it with nothing left behind', async () => {
    const runtime = join(folder, 'rt');
    const child = spawn(
      process.execPath,
      [
        join(BUNDLE, 'bridge.mjs'),
        'serve',
        '--runtime',
        runtime,
        '--state',
        join(folder, 'state'),
        '--idle-timeout',
        '0'
      ],
      { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], env: environment() }
    );
    let log = '';
    child.stderr.on('data', (part: Buffer) => (log += part.toString()));
    const ended = new Promise(resolve => {
      child.once('exit', (code, signal) => {
        resolve(code ?? signal);
      });
    });
    try {
      const file = join(runtime, 'bridge.json');
      while (!existsSync(file)) {
        expect(child.exitCode).toBeNull();
        await new Promise(resolve => setTimeout(resolve, 20));
      }
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const { secret, pid } = JSON.parse(readFileSync(file, 'utf8')) as {
        secret: string;
        pid: number;
      };
      expect(pid).toBe(child.pid);
      expect(await health(join(runtime, 'bridge.sock'), secret)).toMatchObject({
        protocol: 1,
        pid
      });
      expect(log).not.toContain(secret);
    } finally {
      child.kill('SIGTERM');
    }
    expect(await ended).toBe(0);
    expect(
      readdirSync(runtime).filter(name => name.startsWith('bridge.'))
    ).toEqual([]);
  });
});
