import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootId } from './boot-id.js';
import {
  fileSystemOfMagic,
  fileSystemType,
  findMount,
  hidingLockOptions
} from './file-system.js';
import { hostName } from './host-name.js';
import { probeLocks, requireLocks } from './lock-probe.js';
import {
  ownIdentity,
  parseStat,
  processLives,
  processStartTime,
  signalProcess
} from './process-identity.js';

describe('a host’s name', () => {
  test.each([
    ['Login1.Example.org', 'login1.example.org'],
    ['my host/../x', 'my-host-..-x'],
    ['..', 'localhost'],
    ['', 'localhost'],
    ['.hidden', 'hidden'],
    ['ünï', 'n-']
  ])('%p names the folder %p', (name, expected) => {
    expect(hostName(name)).toBe(expected);
  });
});

describe('a process', () => {
  test('is known by pid, start time and boot', () => {
    const own = ownIdentity();
    expect(own.bootId).toBe(bootId());
    expect(processLives(own)).toBe(true);
    expect(processLives({ ...own, startTime: '1' })).toBe(false);
    expect(processLives({ ...own, bootId: 'another' })).toBe(false);
  });

  test('that ended is dead, also before anybody reaped it', async () => {
    // The child's own child ends while nobody waits for it: a zombie.
    // It outlives the exec, else the shell itself might reap it.
    const parent = spawn('sh', ['-c', 'sleep 1 & echo $!; exec sleep 30'], {
      stdio: ['ignore', 'pipe', 'ignore']
    });
    try {
      const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
      const zombie = Number(chunk.toString());
      expect(processStartTime(zombie)).not.toBeNull();
      while (processStartTime(zombie) !== null) {
        await new Promise(resolve => setTimeout(resolve, 20));
      }
      // Dead for us, although the signal 0 still finds it.
      expect(() => process.kill(zombie, 0)).not.toThrow();
    } finally {
      parent.kill('SIGKILL');
    }
  });

  test('that is stopped lives, and is signalled only under its own identity', async () => {
    const child = spawn('sleep', ['30']);
    const pid = child.pid ?? 0;
    const startTime = processStartTime(pid) ?? '';
    const identity = { pid, startTime, bootId: bootId() };
    const ended = once(child, 'close');
    expect(signalProcess(identity, 'SIGSTOP')).toBe(true);
    expect(processLives(identity)).toBe(true);
    expect(signalProcess({ ...identity, startTime: '7' }, 'SIGKILL')).toBe(
      false
    );
    expect(processLives(identity)).toBe(true);
    expect(signalProcess(identity, 'SIGKILL')).toBe(true);
    await ended;
    expect(processLives(identity)).toBe(false);
    expect(signalProcess(identity, 'SIGKILL')).toBe(false);
  });

  test('may have any name', () => {
    const tail = Array.from({ length: 30 }, (_, i) => String(i + 4)).join(' ');
    expect(parseStat(`12 (a b) S (x)) S ${tail}`)).toEqual({
      state: 'S',
      startTime: '22'
    });
    expect(parseStat('12 (cut')).toBeNull();
    expect(parseStat('')).toBeNull();
  });

  test.each([0, -1, 1.5, NaN, 2 ** 40])('%p is none', pid => {
    expect(processStartTime(pid)).toBeNull();
  });
});

describe('a file system', () => {
  test('is known by its number', () => {
    expect(fileSystemOfMagic(0x6969, 'linux')).toEqual({
      name: 'nfs',
      kind: 'network'
    });
    expect(fileSystemOfMagic(0x0bd00bd0, 'linux').name).toBe('lustre');
    expect(fileSystemOfMagic(0x65735546, 'linux').kind).toBe('unknown');
    expect(fileSystemOfMagic(0x1234, 'linux')).toEqual({
      name: '0x1234',
      kind: 'unknown'
    });
    expect(fileSystemOfMagic(0x6969, 'darwin').kind).toBe('unknown');
    expect(fileSystemType('/proc/self').kind).toBe('unknown');
  });

  test('is mounted where the longest mount point says', () => {
    const mountinfo = [
      '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
      '40 22 0:35 / /home rw,nosuid shared:20 - nfs server:/home rw,vers=3,nolock,local_lock=all',
      '41 22 0:36 / /home/a\\040b rw - tmpfs tmpfs rw',
      ''
    ].join('\n');
    expect(findMount(mountinfo, '/homestead')?.type).toBe('ext4');
    expect(findMount(mountinfo, '/home/a b/c')?.type).toBe('tmpfs');
    const home = findMount(mountinfo, '/home/user');
    expect(home).toMatchObject({ source: 'server:/home', type: 'nfs' });
    expect(home && hidingLockOptions(home)).toEqual([
      'nolock',
      'local_lock=all'
    ]);
  });
});

describe('the probe of locks', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'muster-probe-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('finds that another process is kept out, and asks only once per mount', async () => {
    const probe = await probeLocks(folder, process.execPath);
    expect(probe.locksWork).toBe(true);
    expect(readdirSync(folder)).toEqual(['lock-probe.json']);
    // The kept answer needs no child: this Node does not exist.
    expect((await probeLocks(folder, '/no/such/node')).locksWork).toBe(true);
  });

  test('that cannot be made proves nothing and is not kept', async () => {
    expect((await probeLocks(folder, '/no/such/node')).locksWork).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('refuses a folder without locks unless the user accepts that', () => {
    const bad = {
      fileSystem: { name: 'nfs', kind: 'network' as const },
      locksWork: false,
      hiding: []
    };
    const hidden = { ...bad, locksWork: true, hiding: ['nolock'] };
    for (const probe of [bad, hidden]) {
      expect(() => {
        requireLocks(folder, probe, false);
      }).toThrow(
        expect.objectContaining({
          code: 'bridge-unavailable',
          hint: expect.stringContaining('MUSTER_STATE_DIR')
        })
      );
      requireLocks(folder, probe, true);
    }
    requireLocks(folder, { ...bad, locksWork: null }, false);
  });
});
