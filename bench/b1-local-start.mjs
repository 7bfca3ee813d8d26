/**
 * B1: request → N local workers registered with the scheduler, against `distributed.LocalCluster`.
 * cold: nothing imported yet on either side: a bridge just started, a Python just started;
 * warm: a bridge that had a cluster of the same interpreter before, a Python that has imported.
 */
import 'reflect-metadata';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireBundle, startBridge } from './bridge-process.mjs';
import { interleave } from './rounds.mjs';
import { median, percentile, ratioOf } from './statistics.mjs';

const TIMEOUT_MS = 120_000;
/** Between a stopped cluster and the next warm one: time to import ahead, as a user's pause gives. */
const PAUSE_MS = 3_000;

/** Goals of specs/benchmarks.md §3, for 8 workers. */
const GOALS = { warm: 0.2, cold: 0.5 };

export async function benchmark({
  smoke,
  rounds,
  workers,
  random,
  python,
  log
}) {
  requireBundle();
  const sizes = workers ?? (smoke ? [4] : [1, 4, 8, 16]);
  const peer = await startPeer(python);
  const raw = {};
  const rows = [];
  const ratios = [];
  try {
    for (const n of sizes) {
      const results = await measureSize({
        n,
        peer,
        python,
        rounds: rounds ?? (smoke ? 3 : 7),
        random,
        log
      });
      raw[n] = results;
      const of = name => results[name].map(round => round.ms);
      for (const name of Object.keys(results)) {
        rows.push({
          measured: `${n} workers registered`,
          unit: 'ms',
          side: name,
          median: median(of(name)),
          p99: percentile(of(name), 99),
          samples: results[name].length,
          timeouts: results[name].filter(round => round.timeout).length
        });
      }
      for (const kind of ['cold', 'warm']) {
        const ratio = ratioOf(
          of(`muster ${kind}, TLS`),
          of(`LocalCluster ${kind}, TLS`),
          random
        );
        ratios.push({
          name: `${n} workers, muster ${kind} / LocalCluster, both TLS`,
          ...ratio,
          ...(n === 8
            ? { goal: `≤ ${GOALS[kind]}`, met: ratio.high <= GOALS[kind] }
            : {})
        });
      }
      ratios.push({
        name: `${n} workers, muster warm with TLS / LocalCluster without`,
        ...ratioOf(of('muster warm, TLS'), of('LocalCluster, no TLS'), random)
      });
      ratios.push({
        name: `${n} workers, muster cold / LocalCluster warm, both TLS`,
        ...ratioOf(of('muster cold, TLS'), of('LocalCluster warm, TLS'), random)
      });
    }
  } finally {
    await peer.stop();
  }
  return {
    title: 'request to N local workers registered',
    raw,
    rows,
    ratios,
    notes: [
      'Cold: ours includes the import in the pool, the peer its interpreter and import; the start of the bridge itself is B11. Warm: both have imported.',
      'Readiness is the scheduler reporting N workers: in the peer by its own scheduler object every 2 ms, here through the API every 5 ms, so our side includes up to 5 ms of looking.',
      'Certificates of the peer are made before the clock starts (in its favour), ours inside the measured time.',
      'Memory limits are off on both sides.'
    ]
  };
}

async function measureSize({ n, peer, python, rounds, random, log }) {
  // One bridge stays for the warm side of this size.
  const warmBridge = await startBridge({ python });
  try {
    await oneCluster(warmBridge, n, python, true);
    return await interleave(
      {
        'muster cold, TLS': async () => {
          const bridge = await startBridge({ python });
          try {
            return await oneCluster(bridge, n, python, true);
          } finally {
            await bridge.stop();
          }
        },
        'LocalCluster cold, TLS': async () => {
          const fresh = await startPeer(python, peer.certificate);
          try {
            const round = await fresh.order(n, true);
            return { ...round, ms: fresh.importMs + round.ms };
          } finally {
            await fresh.stop();
          }
        },
        'LocalCluster warm, TLS': () => peer.order(n, true),
        'muster warm, TLS': async () => {
          await sleep(PAUSE_MS);
          return oneCluster(warmBridge, n, python, true);
        },
        'LocalCluster, no TLS': () => peer.order(n, false)
      },
      { rounds, random, log: text => log(`n=${n} ${text}`) }
    );
  } finally {
    await warmBridge.stop();
  }
}

/** Raises one cluster, and stops it again outside of the measured time. A timeout is a result. */
async function oneCluster(bridge, n, python, tls) {
  const begun = performance.now();
  const created = await bridge.call('POST', 'clusters', {
    backend: 'local',
    groups: [
      {
        name: 'default',
        worker: { cores: 1, memory: null },
        scale: { type: 'fixed', workers: n }
      }
    ],
    environment: { python },
    security: { tls }
  });
  let timeout = false;
  for (;;) {
    const view = await bridge.call('GET', `clusters/${created.id}`);
    if ((view.groups[0]?.connected.workers ?? 0) >= n) {
      break;
    }
    if (view.phase === 'failed') {
      throw new Error(`the cluster failed: ${JSON.stringify(view.reasons)}`);
    }
    if (performance.now() - begun > TIMEOUT_MS) {
      timeout = true;
      break;
    }
    await sleep(5);
  }
  const ms = performance.now() - begun;
  await bridge.call('DELETE', `clusters/${created.id}`);
  for (let i = 0; ; i++) {
    const { phase } = await bridge.call('GET', `clusters/${created.id}`);
    if (phase === 'stopped') {
      break;
    }
    if (phase === 'failed' || i > 3_000) {
      throw new Error(`the cluster did not stop: ${phase}`);
    }
    await sleep(20);
  }
  return timeout ? { ms, timeout } : { ms };
}

/** @param given a certificate made before; null: one of its own. */
export async function startPeer(python, given = null) {
  const folder = mkdtempSync(join(tmpdir(), 'mp-'));
  const certificate = given ?? (await makeCertificate(folder));
  const begun = performance.now();
  const child = spawn(python, ['bench/programs/local_cluster.py'], {
    stdio: ['pipe', 'pipe', 'ignore']
  });
  const lines = createInterface({ input: child.stdout })[
    Symbol.asyncIterator
  ]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) {
      throw new Error('the peer ended');
    }
    return JSON.parse(value);
  };
  await next();
  return {
    certificate,
    /** From the start of its interpreter until Dask is imported. */
    importMs: performance.now() - begun,
    async order(workers, tls) {
      child.stdin.write(
        `${JSON.stringify({ workers, certificate: tls ? certificate : null })}\n`
      );
      return next();
    },
    async stop() {
      const ended = once(child, 'close');
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(timer);
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/** One self-signed EC certificate for all roles, as `Security.temporary` makes it. */
async function makeCertificate(folder) {
  const { PemConverter, X509CertificateGenerator, cryptoProvider } =
    await import('@peculiar/x509');
  const { webcrypto } = await import('node:crypto');
  cryptoProvider.set(webcrypto);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify'
  ]);
  const made = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=dask-internal',
    notBefore: new Date(Date.now() - 900_000),
    notAfter: new Date(Date.now() + 86_400_000),
    signingAlgorithm: algorithm,
    keys
  });
  const cert = join(folder, 'cert.pem');
  const key = join(folder, 'key.pem');
  writeFileSync(cert, made.toString('pem'), { mode: 0o600 });
  writeFileSync(
    key,
    PemConverter.encode(
      await webcrypto.subtle.exportKey('pkcs8', keys.privateKey),
      'PRIVATE KEY'
    ),
    { mode: 0o600 }
  );
  return { cert, key };
}
