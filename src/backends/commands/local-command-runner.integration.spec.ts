import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalCommandRunner } from './local-command-runner.js';

const runner = new LocalCommandRunner({
  environment: { PATH: '/usr/bin:/bin', SECRET_FREE: 'yes' }
});

describe('commands of this host', () => {
  it('says the exit code, and keeps both streams apart', async () => {
    const result = await runner.run({
      argv: ['sh', '-c', 'cat; echo no >&2; exit 3'],
      stdin: 'as "given" $HOME\n',
      timeoutMs: 10_000
    });
    expect(result).toMatchObject({
      rc: 3,
      signal: null,
      errno: null,
      stdout: 'as "given" $HOME\n',
      stderr: 'no\n',
      timedOut: false,
      truncated: false
    });
  });

  it('tells a program that is not there from one that fails', async () => {
    const missing = await runner.run({
      argv: ['muster-no-such-program'],
      timeoutMs: 10_000
    });
    expect(missing).toMatchObject({ rc: null, signal: null, errno: 'ENOENT' });
  });

  it('passes arguments on as they are, and nothing of its own environment', async () => {
    process.env['MUSTER_CANARY'] = 'leaked';
    const result = await runner.run({
      argv: ['env'],
      environment: { HOSTILE: '$(id) ; "\n' },
      timeoutMs: 10_000
    });
    delete process.env['MUSTER_CANARY'];
    expect(result.stdout).not.toContain('leaked');
    expect(result.stdout).toContain('LC_ALL=C');
    expect(result.stdout).toContain('SECRET_FREE=yes');
    expect(result.stdout).toContain('HOSTILE=$(id) ; "\n');
    const echoed = await runner.run({
      argv: ['printf', '%s', '$(id) `id` \'"; *\n'],
      timeoutMs: 10_000
    });
    expect(echoed.stdout).toBe('$(id) `id` \'"; *\n');
  });

  it('ends a command that takes too long together with what it started', async () => {
    const result = await runner.run({
      argv: ['sh', '-c', 'trap "" TERM; sleep 300 & echo $!; wait; sleep 300'],
      timeoutMs: 300
    });
    expect(result.timedOut).toBe(true);
    expect(result.signal).toBe('SIGKILL');
    const child = Number(result.stdout);
    expect(child).toBeGreaterThan(1);
    const seen = await runner.run({
      argv: ['ps', '-o', 'stat=', '-p', String(child)],
      timeoutMs: 10_000
    });
    expect(['', 'Z']).toContain(seen.stdout.trim().slice(0, 1));
  });

  it('says that output was dropped instead of passing off a part as the whole', async () => {
    const result = await runner.run({
      argv: ['seq', '100000'],
      timeoutMs: 10_000,
      maxOutputBytes: 100
    });
    expect(result).toMatchObject({ rc: 0, truncated: true });
    expect(result.stdout).toHaveLength(100);
  });

  it('creates private files and never writes through what is there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-files-'));
    try {
      const path = join(folder, 'script');
      await runner.createFile(path, 'text');
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await runner.readFile(path, 100)).toBe('text');
      await expect(runner.createFile(path, 'other')).rejects.toThrow('EEXIST');
      await symlink(path, join(folder, 'link'));
      await expect(
        runner.createFile(join(folder, 'link'), 'other')
      ).rejects.toThrow('EEXIST');
      expect(await runner.readFile(path, 100)).toBe('text');
      expect(await runner.readFile(join(folder, 'none'), 100)).toBeNull();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
