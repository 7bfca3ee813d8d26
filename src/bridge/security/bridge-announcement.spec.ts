import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BridgeAnnouncement } from './bridge-announcement.js';
import {
  BRIDGE_RECORD_NAME,
  newSecret,
  readBridgeRecord,
  writeBridgeRecord
} from './secret.js';

const OWN = {
  pid: process.pid,
  startTime: '1',
  host: 'here',
  bootId: 'boot',
  epoch: 3,
  protocol: 1,
  secret: newSecret()
};

let folder: string;
let file: string;
let errors: unknown[];
let announcement: BridgeAnnouncement;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-record-'));
  file = path.join(folder, BRIDGE_RECORD_NAME);
  errors = [];
  announcement = new BridgeAnnouncement({
    runtimeFolder: folder,
    record: OWN,
    onError: error => errors.push(error),
    lookMs: 10
  });
  announcement.open();
});

afterEach(() => {
  announcement.close();
  rmSync(folder, { recursive: true, force: true });
});

async function until(condition: () => boolean): Promise<void> {
  for (let round = 0; round < 500 && !condition(); round += 1) {
    await sleep(10);
  }
  expect(condition()).toBe(true);
}

describe('the record of a running bridge', () => {
  it('comes back when a cleaner of temporary files removed it, alone or with its folder', async () => {
    rmSync(file);
    await until(() => readBridgeRecord(folder)?.secret === OWN.secret);
    rmSync(folder, { recursive: true });
    await until(() => readBridgeRecord(folder)?.secret === OWN.secret);
    expect(errors).toEqual([]);
  });

  it('is mended when it holds anything else than a record', async () => {
    writeFileSync(file, '{garbage');
    await until(() => {
      try {
        return readBridgeRecord(folder)?.secret === OWN.secret;
      } catch {
        return false;
      }
    });
  });

  it('is not written over that of another bridge, nor over one that others can read', async () => {
    const other = { ...OWN, secret: newSecret() };
    writeBridgeRecord(folder, other);
    await sleep(100);
    expect(readBridgeRecord(folder)).toEqual(other);
    chmodSync(file, 0o644);
    await until(() => errors.length > 0);
    chmodSync(file, 0o600);
    expect(readBridgeRecord(folder)).toEqual(other);
    announcement.close();
    expect(readBridgeRecord(folder)).toEqual(other);
  });

  it('goes with the bridge, and does not come back', async () => {
    announcement.close();
    await sleep(50);
    expect(readBridgeRecord(folder)).toBeNull();
  });
});
