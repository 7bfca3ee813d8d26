/**
 * A certificate authority per cluster and leaves for its roles (specs/reliability-and-security.md
 * S3, S16; specs/dask-wire-protocol.md §5). Any certificate of the authority has every role in Dask,
 * so the authority is the secret: it signs for one cluster alone and ends with it.
 */
import { webcrypto, X509Certificate } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdtemp, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type * as X509Library from '@peculiar/x509';
import type { TlsFiles } from '../dask/launch.js';
import type { LinkSecurity } from '../dask/scheduler-link.js';
import {
  ensurePrivateFolder,
  syncFolder,
  verifyPrivateFile,
  verifyPrivateFolder
} from './private-files.js';

type X509 = typeof X509Library;
type CryptoKeyPair = webcrypto.CryptoKeyPair;

export type CertificateRole = 'scheduler' | 'worker' | 'client';
const ROLES: readonly CertificateRole[] = ['scheduler', 'worker', 'client'];

export type ClusterCertificates = {
  caFile: string;
  scheduler: TlsFiles;
  worker: TlsFiles;
  client: TlsFiles;
  /** SHA-256 of the authority's certificate, as `AB:CD:…`. */
  fingerprint: string;
  notAfter: Date;
};

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Clocks of hosts differ. */
const BACKDATED_MS = 15 * MINUTE_MS;
const ENDLESS_MS = 365 * DAY_MS;
const WARNING_MS = 14 * DAY_MS;

const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' } as const;

const TLS_FOLDER = 'tls';
/** Where they are made, before they appear in one step. */
const DRAFT_PREFIX = '.tls-';

/** The name in every certificate of a cluster, which its scheduler is asked for. */
export function certificateName(clusterId: string): string {
  return `${clusterId}.muster`;
}

/** Walltime and a day; a year for clusters without an end. */
export function certificatesEnd(
  now: Date,
  walltimeSeconds: number | null
): Date {
  return new Date(
    now.getTime() +
      (walltimeSeconds === null ? ENDLESS_MS : walltimeSeconds * 1000 + DAY_MS)
  );
}

/** Running Dask processes do not reload certificates: within 14 days of the end there is a warning. */
export function certificatesExpireSoon(notAfter: Date, now: Date): boolean {
  return notAfter.getTime() - now.getTime() < WARNING_MS;
}

/**
 * Makes `<folder>/tls/` with the authority and a leaf per role; all of it appears in one step.
 * What is there already (a creation repeated after a crash) is left and returned.
 * @param options.folder the cluster's 0700 folder.
 * @throws MusterError `forbidden` where the folder is not private.
 */
export async function createClusterCertificates(options: {
  folder: string;
  clusterId: string;
  notAfter: Date;
  now?: Date;
}): Promise<ClusterCertificates> {
  const { folder, clusterId, notAfter } = options;
  ensurePrivateFolder(folder);
  const there = await readClusterCertificates(folder);
  if (there !== null) {
    return there;
  }
  const x509 = await loadX509();
  const now = options.now ?? new Date();
  const validity = {
    notBefore: new Date(now.getTime() - BACKDATED_MS),
    notAfter
  };
  const [authorityKeys, ...leafKeys] = await Promise.all(
    [null, ...ROLES].map(makeKeys)
  );
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [`Muster cluster ${clusterId}`] }],
    keys: authorityKeys as CryptoKeyPair,
    signingAlgorithm: SIGNING,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true
      ),
      await x509.SubjectKeyIdentifierExtension.create(
        (authorityKeys as CryptoKeyPair).publicKey
      )
    ]
  });
  const files = await Promise.all([
    Promise.resolve({ name: 'ca.pem', text: authority.toString('pem') }),
    pemOfKey(authorityKeys as CryptoKeyPair).then(text => ({
      name: 'ca-key.pem',
      text
    })),
    ...ROLES.flatMap((role, index) => {
      const keys = leafKeys[index] as CryptoKeyPair;
      return [
        makeLeaf(x509, {
          clusterId,
          role,
          keys,
          authority,
          authorityKeys: authorityKeys as CryptoKeyPair,
          validity
        }).then(text => ({ name: `${role}.pem`, text })),
        pemOfKey(keys).then(text => ({ name: `${role}-key.pem`, text }))
      ];
    })
  ]);
  await publish(folder, files);
  const made = await readClusterCertificates(folder);
  if (made === null) {
    throw new Error(`the certificates in ${folder} vanished while being made`);
  }
  return made;
}

/** What is in the cluster's folder, or null where there is none. */
export async function readClusterCertificates(
  folder: string
): Promise<ClusterCertificates | null> {
  const tls = join(folder, TLS_FOLDER);
  const caFile = join(tls, 'ca.pem');
  try {
    verifyPrivateFolder(tls);
    const authority = new X509Certificate(await readPrivate(caFile));
    return {
      caFile,
      scheduler: certificateFiles(folder, 'scheduler'),
      worker: certificateFiles(folder, 'worker'),
      client: certificateFiles(folder, 'client'),
      fingerprint: authority.fingerprint256,
      notAfter: new Date(authority.validTo)
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return null;
    }
    throw error;
  }
}

/**
 * What the bridge's own link needs, read from the cluster's folder.
 * @throws MusterError `forbidden`, naming the fix, where others could read a key; ENOENT where
 *   there are none (the cluster has ended).
 */
export async function loadLinkSecurity(
  folder: string,
  clusterId: string
): Promise<LinkSecurity> {
  const { caFile, certFile, keyFile } = certificateFiles(folder, 'client');
  verifyPrivateFolder(dirname(caFile));
  const [ca, cert, key] = await Promise.all(
    [caFile, certFile, keyFile].map(readPrivate)
  );
  return {
    ca: ca as string,
    cert: cert as string,
    key: key as string,
    servername: certificateName(clusterId)
  };
}

/** Removes all keys and certificates of a cluster, finished or not. None there is no error. */
export async function removeKeys(folder: string): Promise<void> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return;
    }
    throw error;
  }
  await Promise.all(
    names
      .filter(name => name === TLS_FOLDER || name.startsWith(DRAFT_PREFIX))
      .map(name => rm(join(folder, name), { recursive: true, force: true }))
  );
}

/** Where the files of a role are, or will be; nothing is read. */
export function certificateFiles(
  folder: string,
  role: CertificateRole
): TlsFiles {
  const tls = join(folder, TLS_FOLDER);
  return {
    caFile: join(tls, 'ca.pem'),
    certFile: join(tls, `${role}.pem`),
    keyFile: join(tls, `${role}-key.pem`)
  };
}

/** Loads what making certificates needs (~0.2 s), so that the first cluster need not wait for it. */
export async function prepareCertificates(): Promise<void> {
  await loadX509();
}

/** Not at start: decorators and ASN.1 schemas would cost every start of the bridge. */
async function loadX509(): Promise<X509> {
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

async function makeKeys(): Promise<CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
}

async function pemOfKey(keys: CryptoKeyPair): Promise<string> {
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----']
    .join('\n')
    .concat('\n');
}

type LeafOptions = {
  clusterId: string;
  role: CertificateRole;
  keys: CryptoKeyPair;
  authority: InstanceType<X509['X509Certificate']>;
  authorityKeys: CryptoKeyPair;
  validity: { notBefore: Date; notAfter: Date };
};

async function makeLeaf(x509: X509, options: LeafOptions): Promise<string> {
  const { clusterId, role, keys, authority, authorityKeys, validity } = options;
  const leaf = await x509.X509CertificateGenerator.create({
    subject: [{ CN: [`${role} of ${clusterId}`] }],
    issuer: authority.subjectName,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    signingAlgorithm: SIGNING,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        x509.ExtendedKeyUsage.clientAuth
      ]),
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: certificateName(clusterId) },
        { type: 'dns', value: 'localhost' },
        { type: 'ip', value: '127.0.0.1' },
        { type: 'ip', value: '::1' }
      ]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(authority.publicKey)
    ]
  });
  return leaf.toString('pem');
}

/** All files under another name first: a folder `tls` is whole or not there. */
async function publish(
  folder: string,
  files: readonly { name: string; text: string }[]
): Promise<void> {
  // 0700, whatever the umask.
  const draft = await mkdtemp(join(folder, DRAFT_PREFIX));
  try {
    await Promise.all(
      files.map(file =>
        createDurably(join(draft, file.name), `${file.text.trimEnd()}\n`)
      )
    );
    syncFolder(draft);
    await rename(draft, join(folder, TLS_FOLDER));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another pass of the same creation was first: its authority is the one.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') {
      throw error;
    }
  }
  syncFolder(folder);
}

/** `createPrivateFile`, for eight files at once and off the event loop. */
async function createDurably(path: string, text: string): Promise<void> {
  const file = await open(
    path,
    constants.O_CREAT |
      constants.O_EXCL |
      constants.O_WRONLY |
      constants.O_NOFOLLOW,
    0o600
  );
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function readPrivate(path: string): Promise<string> {
  verifyPrivateFile(path);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
