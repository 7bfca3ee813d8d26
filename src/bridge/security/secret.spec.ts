import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  chmodSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type BridgeRecord,
  newSecret,
  readBridgeRecord,
  removeBridgeRecord,
  secretsEqual,
  writeBridgeRecord
} from './secret.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-secret-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function record(secret = newSecret()): BridgeRecord {
  return {
    pid: 4711,
    startTime: '123',
    host: 'login1',
    bootId: 'boot',
    epoch: 3,
    protocol: 1,
    secret
  };
}

test('a secret is 64 hexadecimal characters and never the same', () => {
  const secrets = new Set(Array.from({ length: 100 }, newSecret));
  expect(secrets.size).toBe(100);
  for (const secret of secrets) {
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
  }
});

test('only the very same secret is accepted', () => {
  const secret = newSecret();
  expect(secretsEqual(secret, secret)).toBe(true);
  for (const wrong of [
    '',
    secret.slice(1),
    `${secret}0`,
    secret.toUpperCase() + 'é',
    newSecret()
  ]) {
    expect(secretsEqual(wrong, secret)).toBe(false);
  }
});

describe('the bridge’s record', () => {
  test('is read back as it was written, from a file only we can read', () => {
    const written = record();
    writeBridgeRecord(folder, written);
    expect(readBridgeRecord(folder)).toEqual(written);
    expect(statSync(join(folder, 'bridge.json')).mode & 0o777).toBe(0o600);
  });

  test('is null where there is no bridge', () => {
    expect(readBridgeRecord(folder)).toBeNull();
  });

  test('that others can read is refused and says the fix', () => {
    writeBridgeRecord(folder, record());
    chmodSync(join(folder, 'bridge.json'), 0o644);
    expect(() => readBridgeRecord(folder)).toThrow(
      expect.objectContaining({
        code: 'forbidden',
        hint: expect.stringContaining('chmod 600')
      })
    );
  });

  test('that is damaged is refused without quoting it', () => {
    const { secret } = record();
    writeFileSync(join(folder, 'bridge.json'), `{"secret":"${secret}" oops`, {
      mode: 0o600
    });
    let message = '';
    try {
      readBridgeRecord(folder);
    } catch (error) {
      message = JSON.stringify([String(error), error]);
    }
    expect(message).toContain('bridge.json');
    expect(message).not.toContain(secret.slice(0, 8));
  });

  test('is removed only by the bridge it is of', () => {
    const ours = record();
    const theirs = record();
    writeBridgeRecord(folder, theirs);
    expect(removeBridgeRecord(folder, ours.secret)).toBe(false);
    expect(readBridgeRecord(folder)).toEqual(theirs);
    expect(removeBridgeRecord(folder, theirs.secret)).toBe(true);
    expect(readBridgeRecord(folder)).toBeNull();
    expect(removeBridgeRecord(folder, theirs.secret)).toBe(false);
  });
});
