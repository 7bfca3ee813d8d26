import { describe, expect, it } from '@jest/globals';
import { workerId, type ClusterId, type JobId } from '../../protocol/index.js';
import type { PoolProcess } from '../pool/pool-messages.js';
import { PROCESSES_PER_JOB } from './local-description.js';
import { localHandleData, makeLocalHandle } from './local-handle.js';

const job = 'fedcba9876543210' as JobId;
const inspection = {
  name: 'proc',
  bootId: () => Promise.resolve('ee38aef6-89e0-4da4-b25d-f819fb08dab4'),
  startTimes: () => Promise.resolve(new Map<number, string>()),
  same: () => false
} as const;

const made = (processes: number) =>
  makeLocalHandle({
    host: 'a-host-with-a-long-name.of.some.university.example',
    inspection,
    folder: `/home/${'deep/'.repeat(40)}0123456789abcdef`,
    cluster: '0123456789abcdef' as ClusterId,
    attempt: 1,
    pool: '0123456789-9',
    processes: Array.from({ length: processes }, (_, index) => ({
      id: workerId(job, index),
      pid: 4194303 - index,
      startTime: '99999999999'
    })) as unknown as PoolProcess[]
  });

describe('the handle of a local job', () => {
  it('stays below 4 KiB for as many processes as a job may have', async () => {
    const { handle } = await made(PROCESSES_PER_JOB);
    expect(JSON.stringify(handle).length).toBeLessThan(4096);
  });

  it('comes back whole from storage, and nothing else passes for one', async () => {
    const { handle, data } = await made(2);
    const stored = JSON.parse(JSON.stringify(handle)) as typeof handle;
    expect(localHandleData(stored)).toEqual(data);
    expect(handle.nativeId).toBe('4194303.99999999999');
    for (const pool of ['../../etc', '', '0123456789/..']) {
      expect(
        localHandleData({ ...stored, data: { ...stored.data, pool } })
      ).toBeNull();
    }
    for (const pid of [0, -1, 1.5, '4711']) {
      const processes = [{ launch: 'a', pid, startTime: '1' }];
      expect(
        localHandleData({ ...stored, data: { ...stored.data, processes } })
      ).toBeNull();
    }
  });
});
