import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createPrivateFile,
  ensurePrivateFolder,
  MAXIMUM_SOCKET_PATH_BYTES,
  placeSocket,
  verifyPrivateFile,
  writePrivateFile,
  writePrivateFileOnce
} from './private-files.js';

let base: string;
let umask: number;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'muster-private-'));
  umask = process.umask(0);
});

afterEach(() => {
  process.umask(umask);
  rmSync(base, { recursive: true, force: true });
});

const mode = (path: string): number => statSync(path).mode & 0o777;

describe('a private folder', () => {
  test('is 0700 whatever the umask', () => {
    for (const mask of [0o000, 0o022, 0o077, 0o777]) {
      const path = join(base, `umask-${mask}`, 'inner');
      mkdirSync(join(base, `umask-${mask}`), 0o700);
      chmodSync(join(base, `umask-${mask}`), 0o700);
      process.umask(mask);
      ensurePrivateFolder(path);
      process.umask(0);
      expect(mode(path)).toBe(0o700);
      ensurePrivateFolder(path);
    }
  });

  test('open to others is refused with the command that closes it', () => {
    const path = join(base, 'open');
    mkdirSync(path);
    chmodSync(path, 0o750);
    expect(() => {
      ensurePrivateFolder(path);
    }).toThrow(
      expect.objectContaining({
        code: 'forbidden',
        hint: `chmod 700 '${path}'`
      })
    );
    expect(mode(path)).toBe(0o750);
  });

  test('that is a symbolic link is refused, also one to a private folder', () => {
    ensurePrivateFolder(join(base, 'real'));
    symlinkSync(join(base, 'real'), join(base, 'link'));
    expect(() => {
      ensurePrivateFolder(join(base, 'link'));
    }).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });

  (process.getuid?.() === 0 ? test : test.skip)(
    'of another user is refused',
    () => {
      const path = join(base, 'foreign');
      mkdirSync(path, 0o700);
      chownSync(path, 4711, 4711);
      expect(() => {
        ensurePrivateFolder(path);
      }).toThrow(/another user \(uid 4711\)/);
    }
  );
});

describe('a private file', () => {
  test('is 0600, replaced in one step, and leaves nothing beside it', () => {
    const path = join(base, 'file');
    writePrivateFile(path, 'one');
    writePrivateFile(path, 'two');
    expect(readFileSync(path, 'utf8')).toBe('two');
    expect(mode(path)).toBe(0o600);
    expect(readdirSync(base)).toEqual(['file']);
  });

  test('is not written through a symbolic link', () => {
    const target = join(base, 'target');
    writeFileSync(target, 'mine');
    symlinkSync(target, join(base, 'link'));
    expect(() => {
      createPrivateFile(join(base, 'link'), 'theirs');
    }).toThrow(expect.objectContaining({ code: 'EEXIST' }));
    // Replacing puts a file in the place of the link.
    writePrivateFile(join(base, 'link'), 'new');
    expect(readFileSync(target, 'utf8')).toBe('mine');
    verifyPrivateFile(join(base, 'link'));
  });

  test('is written once by whoever is first', () => {
    const path = join(base, 'once');
    expect(writePrivateFileOnce(path, 'first')).toBe(true);
    expect(writePrivateFileOnce(path, 'second')).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe('first');
    expect(readdirSync(base)).toEqual(['once']);
  });

  test.each([0o640, 0o604, 0o620, 0o666])(
    'of mode %o is refused',
    looseMode => {
      const path = join(base, 'file');
      writeFileSync(path, '');
      chmodSync(path, looseMode);
      expect(() => {
        verifyPrivateFile(path);
      }).toThrow(
        expect.objectContaining({
          code: 'forbidden',
          hint: `chmod 600 '${path}'`
        })
      );
    }
  );
});

describe('a socket', () => {
  test('is in its folder where the path is short enough', () => {
    const folder = join(base, 'run');
    expect(
      placeSocket({ folder, name: 'bridge.sock', temporaryFolder: base })
    ).toBe(join(folder, 'bridge.sock'));
    expect(mode(folder)).toBe(0o700);
  });

  test('of a deep folder goes to a short private one, always the same, and can be bound', async () => {
    const folder = join(base, 'd'.repeat(90), 'run');
    const place = (): string =>
      placeSocket({ folder, name: 'bridge.sock', temporaryFolder: base });
    const path = place();
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(
      MAXIMUM_SOCKET_PATH_BYTES
    );
    expect(place()).toBe(path);
    expect(mode(join(path, '..'))).toBe(0o700);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    expect(statSync(path).isSocket()).toBe(true);
    await new Promise(resolve => server.close(resolve));
  });
});
