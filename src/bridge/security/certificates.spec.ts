import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MusterError } from '../../protocol/index.js';
import {
  certificatesEnd,
  certificatesExpireSoon,
  createClusterCertificates,
  loadLinkSecurity,
  readClusterCertificates,
  removeKeys
} from './certificates.js';

const CLUSTER = '0123456789abcdef';
const NOW = new Date('2026-05-01T12:00:00Z');
const END = new Date('2026-05-03T12:00:00Z');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-certificates-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const create = (): ReturnType<typeof createClusterCertificates> =>
  createClusterCertificates({
    folder,
    clusterId: CLUSTER,
    notAfter: END,
    now: NOW
  });

describe('the certificates of a cluster', () => {
  it('are an authority and a leaf per role that it signed, named by the cluster', async () => {
    const made = await create();
    const authority = new X509Certificate(readFileSync(made.caFile));
    expect(authority.ca).toBe(true);
    expect(made.fingerprint).toBe(authority.fingerprint256);
    expect(made.notAfter).toEqual(END);
    const serials = new Set<string>();
    for (const role of ['scheduler', 'worker', 'client'] as const) {
      const leaf = new X509Certificate(readFileSync(made[role].certFile));
      expect(leaf.verify(authority.publicKey)).toBe(true);
      expect(leaf.checkIssued(authority)).toBe(true);
      expect(leaf.ca).toBe(false);
      expect(leaf.checkHost(`${CLUSTER}.muster`)).toBe(`${CLUSTER}.muster`);
      expect(leaf.checkHost('another.muster')).toBeUndefined();
      expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1');
      expect(
        leaf.checkPrivateKey(createPrivateKey(readFileSync(made[role].keyFile)))
      ).toBe(true);
      expect(leaf.publicKey.asymmetricKeyDetails?.namedCurve).toBe(
        'prime256v1'
      );
      serials.add(leaf.serialNumber);
    }
    expect(serials.size).toBe(3);
  });

  it('hold for a clock that is 10 minutes back, and end when told', async () => {
    const { caFile, scheduler } = await create();
    for (const file of [caFile, scheduler.certFile]) {
      const certificate = new X509Certificate(readFileSync(file));
      expect(new Date(certificate.validFrom).getTime()).toBe(
        NOW.getTime() - 15 * 60_000
      );
      expect(new Date(certificate.validTo)).toEqual(END);
    }
  });

  it('are readable by nobody else, whatever the umask', async () => {
    const old = process.umask(0);
    try {
      await create();
    } finally {
      process.umask(old);
    }
    const tls = join(folder, 'tls');
    expect(lstatSync(tls).mode & 0o777).toBe(0o700);
    const files = readdirSync(tls);
    expect(files.sort()).toEqual([
      'ca-key.pem',
      'ca.pem',
      'client-key.pem',
      'client.pem',
      'scheduler-key.pem',
      'scheduler.pem',
      'worker-key.pem',
      'worker.pem'
    ]);
    for (const file of files) {
      expect(lstatSync(join(tls, file)).mode & 0o777).toBe(0o600);
    }
  });

  it('stay as they are when their creation is repeated, also at the same time', async () => {
    const [first, second] = await Promise.all([create(), create()]);
    expect(second.fingerprint).toBe(first.fingerprint);
    expect((await create()).fingerprint).toBe(first.fingerprint);
    expect(readdirSync(folder)).toEqual(['tls']);
  });

  it('left half made by a crash are made anew', async () => {
    mkdirSync(join(folder, '.tls-crashed'), { mode: 0o700 });
    writeFileSync(join(folder, '.tls-crashed', 'ca-key.pem'), 'half');
    expect(await readClusterCertificates(folder)).toBeNull();
    await create();
    await removeKeys(folder);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are never written through a symbolic link', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'muster-elsewhere-'));
    try {
      symlinkSync(elsewhere, join(folder, 'tls'));
      await expect(create()).rejects.toThrow(MusterError);
      expect(readdirSync(elsewhere)).toEqual([]);
      await removeKeys(folder);
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('of two clusters have nothing in common', async () => {
    const first = await create();
    const other = join(folder, 'other');
    const second = await createClusterCertificates({
      folder: other,
      clusterId: 'fedcba9876543210',
      notAfter: END
    });
    const authority = new X509Certificate(readFileSync(first.caFile));
    const stranger = new X509Certificate(readFileSync(second.client.certFile));
    expect(stranger.verify(authority.publicKey)).toBe(false);
  });
});

describe('the keys of the link', () => {
  it('are the client’s, with the name the scheduler must prove', async () => {
    const made = await create();
    const security = await loadLinkSecurity(folder, CLUSTER);
    expect(security).toEqual({
      ca: readFileSync(made.caFile, 'utf8'),
      cert: readFileSync(made.client.certFile, 'utf8'),
      key: readFileSync(made.client.keyFile, 'utf8'),
      servername: `${CLUSTER}.muster`
    });
  });

  it('that others can read are refused, with the fix', async () => {
    const { client } = await create();
    chmodSync(client.keyFile, 0o644);
    const error: unknown = await loadLinkSecurity(folder, CLUSTER).catch(
      (reason: unknown) => reason
    );
    expect(error).toBeInstanceOf(MusterError);
    expect((error as MusterError).code).toBe('forbidden');
    expect((error as MusterError).hint).toContain('chmod 600');
  });

  it('are gone after the cluster’s end, which may be told twice', async () => {
    await create();
    await removeKeys(folder);
    await removeKeys(folder);
    await removeKeys(join(folder, 'never-was'));
    expect(readdirSync(folder)).toEqual([]);
    await expect(loadLinkSecurity(folder, CLUSTER)).rejects.toMatchObject({
      code: 'ENOENT'
    });
  });
});

it('certificates last a day longer than the walltime, and a year without one', () => {
  expect(certificatesEnd(NOW, 3600)).toEqual(new Date('2026-05-02T13:00:00Z'));
  expect(certificatesEnd(NOW, null)).toEqual(new Date('2027-05-01T12:00:00Z'));
});

it('a warning comes within 14 days of the end', () => {
  expect(certificatesExpireSoon(new Date('2026-05-15T12:00:01Z'), NOW)).toBe(
    false
  );
  expect(certificatesExpireSoon(new Date('2026-05-15T11:59:59Z'), NOW)).toBe(
    true
  );
});
