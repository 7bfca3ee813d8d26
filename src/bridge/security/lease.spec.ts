import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lease } from './lease.js';
import { LeaseObserver } from './lease-observer.js';
import {
  EXPIRY_MS,
  FENCE_MS,
  type LeaseHolder,
  LOOK_MS,
  readLease
} from './lease-record.js';
import { takeLease } from './lease-taking.js';

let folder: string;
let now: number;
let wall: number;
let fenced: string[];
const leases: Lease[] = [];

const holder = (host: string): LeaseHolder => ({
  host,
  bootId: `boot of ${host}`,
  pidNamespace: null,
  pid: 4711,
  startTime: '1'
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-lease-'));
  now = 1_000;
  wall = 1_000_000;
  fenced = [];
});

afterEach(async () => {
  await Promise.all(
    leases.splice(0).map(lease => lease.release().catch(() => undefined))
  );
  rmSync(folder, { recursive: true, force: true });
});

function pass(ms: number): void {
  now += ms;
  wall += ms;
}

async function take(host: string): Promise<Lease | null> {
  const lease = await takeLease({
    folder,
    holder: holder(host),
    over: await readLease(folder),
    onFenced: reason => fenced.push(`${host}: ${reason}`),
    clock: () => now,
    wallClock: () => wall
  });
  if (lease !== null) {
    leases.push(lease);
  }
  return lease;
}

async function taken(host: string): Promise<Lease> {
  const lease = await take(host);
  if (lease === null) {
    throw new Error('the lease was not taken');
  }
  return lease;
}

describe('taking a lease', () => {
  test('writes who holds it into a private file that is linked twice', async () => {
    const lease = await taken('a');
    const sight = await readLease(folder);
    expect(sight).toMatchObject({
      type: 'held',
      record: { ...holder('a'), epoch: 1, nonce: lease.nonce, released: false }
    });
    const stats = statSync(join(folder, 'lease'));
    expect(stats.nlink).toBe(2);
    expect(stats.mode & 0o777).toBe(0o600);
  });

  test('over another one raises the epoch and leaves no old names', async () => {
    await taken('a');
    const second = await taken('b');
    expect(second.epoch).toBe(2);
    expect(readdirSync(folder).sort()).toEqual([
      'lease',
      `lease.${second.nonce}`
    ]);
  });

  test('is won by one of many who try at the same moment', async () => {
    for (let round = 0; round < 20; round++) {
      const over = await readLease(folder);
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          takeLease({
            folder,
            holder: holder(`h${n}`),
            over,
            onFenced: () => undefined,
            clock: () => now
          })
        )
      );
      const winners = results.filter(lease => lease !== null);
      leases.push(...winners);
      // Nobody is possible (somebody's lease was moved and put back while others looked); two is not.
      const sight = await readLease(folder);
      const holding = winners.filter(
        lease => sight.type === 'held' && lease.nonce === sight.record.nonce
      );
      expect(holding.length).toBeLessThanOrEqual(1);
      const mayWrite = [];
      pass(LOOK_MS + 1);
      for (const lease of winners) {
        mayWrite.push(await lease.mayWrite());
      }
      expect(mayWrite.filter(may => may).length).toBeLessThanOrEqual(1);
      expect(mayWrite.filter(may => may).length).toBe(holding.length);
    }
  });

  test('fails where it was renewed after it was judged', async () => {
    const first = await taken('a');
    const judged = await readLease(folder);
    await first.renew();
    const second = await takeLease({
      folder,
      holder: holder('b'),
      over: judged,
      onFenced: () => undefined
    });
    expect(second).toBeNull();
    pass(LOOK_MS + 1);
    await expect(first.mayWrite()).resolves.toBe(true);
  });

  test('refuses a file others can read', async () => {
    await taken('a');
    chmodSync(join(folder, 'lease'), 0o644);
    await expect(readLease(folder)).rejects.toMatchObject({
      code: 'forbidden',
      hint: expect.stringContaining('chmod 600')
    });
  });
});

describe('an observer', () => {
  test('calls a lease over only after its own clock saw no change for 30 s', async () => {
    const lease = await taken('a');
    const observer = new LeaseObserver(folder, { clock: () => now });
    expect((await observer.look()).expired).toBe(false);
    pass(EXPIRY_MS - 1);
    expect((await observer.look()).expired).toBe(false);
    now -= EXPIRY_MS - 1;
    await lease.renew();
    now += EXPIRY_MS;
    // It changed meanwhile: the time begins anew.
    expect((await observer.look()).expired).toBe(false);
    now += EXPIRY_MS;
    expect((await observer.look()).expired).toBe(true);
  });

  test('does not take an old file for an expired one at first sight', async () => {
    await taken('a');
    pass(3_600_000);
    const observer = new LeaseObserver(folder, { clock: () => now });
    expect(await observer.look()).toMatchObject({
      expired: false,
      unchangedMs: 0
    });
  });

  test('sees a lease that was given back as free at once', async () => {
    const lease = await taken('a');
    await lease.release();
    const observer = new LeaseObserver(folder, { clock: () => now });
    expect((await observer.look()).expired).toBe(true);
    expect((await taken('b')).epoch).toBe(2);
  });
});

describe('before an external write', () => {
  test('a holder that was taken over is stopped and fenced once', async () => {
    const first = await taken('a');
    await taken('b');
    pass(LOOK_MS + 1);
    await expect(first.mayWrite()).resolves.toBe(false);
    await expect(first.mayWrite()).resolves.toBe(false);
    expect(fenced).toHaveLength(1);
    expect(fenced[0]).toContain('taken over by b');
  });

  test('a holder that could not renew for 20 s is stopped without a look at the file', async () => {
    const lease = await taken('a');
    pass(FENCE_MS);
    await expect(lease.mayWrite()).resolves.toBe(false);
    expect(fenced).toHaveLength(1);
  });

  test('a machine that slept while its monotonic clock stood still looks again', async () => {
    const first = await taken('a');
    await taken('b');
    wall += 3_600_000;
    await expect(first.mayWrite()).resolves.toBe(false);
  });

  test('a holder that renews goes on for ever', async () => {
    const lease = await taken('a');
    for (let i = 0; i < 20; i++) {
      pass(LOOK_MS);
      await lease.renew();
      await expect(lease.mayWrite()).resolves.toBe(true);
    }
    expect(fenced).toEqual([]);
  });

  test('a file system that does not answer stops the write but is not a loss', async () => {
    const lease = await taken('a');
    pass(LOOK_MS + 1);
    const path = join(folder, 'lease');
    renameSync(path, `${path}-kept`);
    mkdirSync(path);
    await expect(lease.mayWrite()).rejects.toBeDefined();
    rmSync(path, { recursive: true });
    renameSync(`${path}-kept`, path);
    await expect(lease.mayWrite()).resolves.toBe(true);
    expect(fenced).toEqual([]);
  });
});

describe('renewing', () => {
  test('never writes over the lease of the one who took over', async () => {
    const first = await taken('a');
    const second = await taken('b');
    const before = readFileSync(join(folder, 'lease'), 'utf8');
    await first.renew();
    expect(readFileSync(join(folder, 'lease'), 'utf8')).toBe(before);
    expect(fenced).toHaveLength(1);
    await expect(second.mayWrite()).resolves.toBe(true);
  });

  test('ends the ownership where the lease is gone', async () => {
    const lease = await taken('a');
    unlinkSync(join(folder, 'lease'));
    await lease.renew();
    expect(fenced[0]).toContain('taken away');
  });

  test('bears that a starter moves the lease by mistake and puts it back', async () => {
    const lease = await taken('a');
    const path = join(folder, 'lease');
    renameSync(path, `${path}-moved`);
    const renewed = lease.renew();
    await new Promise(resolve => setTimeout(resolve, 50));
    renameSync(`${path}-moved`, path);
    await renewed;
    expect(fenced).toEqual([]);
    expect(await readLease(folder)).toMatchObject({ record: { renewals: 1 } });
  });

  test('carries a higher epoch of the database into the file', async () => {
    const lease = await taken('a');
    await lease.raiseEpoch(12);
    expect(lease.epoch).toBe(12);
    expect(await readLease(folder)).toMatchObject({ record: { epoch: 12 } });
    expect((await taken('b')).epoch).toBe(13);
  });
});
