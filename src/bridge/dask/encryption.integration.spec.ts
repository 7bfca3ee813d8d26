/** Who is let in by a cluster's certificates, and how a refusal shows (§5, the table of faults). */
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createClusterCertificates,
  loadLinkSecurity
} from '../security/certificates.js';
import {
  DASK_VERSIONS,
  TestCluster,
  type DaskVersion
} from './fixtures/dask-cluster.js';
import { failureOf } from './fixtures/failure.js';
import type { TlsFiles } from './launch.js';
import type { LinkSecurity } from './scheduler-link.js';
import { openComm, type Comm } from './wire/comm.js';
import type { LinkError } from './wire/errors.js';
import { RpcComm } from './wire/rpc.js';

const comms: Comm[] = [];

afterEach(async () => {
  comms.splice(0).forEach(comm => {
    comm.destroy();
  });
  await TestCluster.stopAll();
});

async function start(
  version: DaskVersion,
  transport: 'tcp' | 'tls',
  environment: Record<string, string> = {}
): Promise<TestCluster> {
  return TestCluster.start({ version, transport, environment });
}

async function accepted(cluster: TestCluster): Promise<void> {
  const link = await cluster.openLink();
  expect(link.connected).toBe(true);
}

describe.each(DASK_VERSIONS)('the encryption of %s', version => {
  let stranger: LinkSecurity;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-stranger-'));
    try {
      await createClusterCertificates({
        folder,
        clusterId: '0123456789abcdef',
        notAfter: new Date(Date.now() + 86_400_000)
      });
      stranger = await loadLinkSecurity(folder, '0123456789abcdef');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('lets nobody in without the certificates of this very cluster', async () => {
    const cluster = await start(version, 'tls');
    const security = cluster.security as LinkSecurity;
    const attempt = async (
      address: string,
      changed: Partial<LinkSecurity> | null
    ): Promise<LinkError> =>
      failureOf(
        openComm({
          address,
          security: changed === null ? null : { ...security, ...changed },
          helloTimeoutMs: 5000
        })
      );

    expect(await attempt(cluster.address, { cert: '', key: '' })).toMatchObject(
      {
        kind: 'tls',
        systemCode: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'
      }
    );
    expect(
      await attempt(cluster.address, { cert: stranger.cert, key: stranger.key })
    ).toMatchObject({
      kind: 'tls',
      systemCode: expect.stringMatching(
        /ERR_SSL_TLSV1_ALERT_(UNKNOWN_CA|DECRYPT_ERROR)/
      )
    });
    expect(await attempt(cluster.address, { ca: stranger.ca })).toMatchObject({
      kind: 'tls',
      message: expect.stringContaining('another authority')
    });
    expect(
      await attempt(cluster.address, { servername: 'fedcba9876543210.muster' })
    ).toMatchObject({
      kind: 'tls',
      systemCode: 'ERR_TLS_CERT_ALTNAME_INVALID',
      message: expect.stringContaining('another cluster')
    });
    expect(
      await attempt(cluster.address.replace('tls:', 'tcp:'), null)
    ).toMatchObject({
      kind: 'handshake',
      hint: expect.stringContaining('tls port')
    });
    // Roles are not checked by Dask: the authority is the secret.
    const worker = cluster.certificates?.worker as TlsFiles;
    const comm = await openComm({
      address: cluster.address,
      security: {
        ...security,
        cert: readFileSync(worker.certFile, 'utf8'),
        key: readFileSync(worker.keyFile, 'utf8')
      }
    });
    comms.push(comm);
    expect(await new RpcComm(comm).call({ op: 'echo', data: 1 }, 5000)).toBe(1);
    await accepted(cluster);
  });

  it('with TLS 1.2 refuses a client without a certificate too', async () => {
    const cluster = await start(version, 'tls', {
      DASK_DISTRIBUTED__COMM__TLS__MAX_VERSION: '1.2'
    });
    await accepted(cluster);
    expect(
      await failureOf(
        openComm({
          address: cluster.address,
          security: { ...(cluster.security as LinkSecurity), cert: '', key: '' }
        })
      )
    ).toMatchObject({
      kind: 'tls',
      systemCode: expect.stringMatching(/HANDSHAKE_FAILURE/)
    });
  });

  it('is missed at a plain port', async () => {
    const cluster = await start(version, 'tcp');
    expect(
      await failureOf(
        openComm({
          address: cluster.address.replace('tcp:', 'tls:'),
          security: stranger
        })
      )
    ).toMatchObject({
      kind: 'tls',
      systemCode: 'ERR_SSL_WRONG_VERSION_NUMBER',
      message: expect.stringContaining('plain tcp')
    });
  });
});
