/** B11: `bridge serve` → first answer on its socket, and the size of what is shipped. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BUNDLE, requireBundle, startBridge } from './bridge-process.mjs';
import { interleave } from './rounds.mjs';
import { median, percentile, ratioOf } from './statistics.mjs';

const UNBUNDLED = 'lib/bridge/index.js';

export async function benchmark({ smoke, rounds, random, python, log }) {
  requireBundle();
  const bridge = program => async () => {
    const started = await startBridge({ program: [program], python });
    await started.stop();
    return { ms: started.startMs, readyMs: started.readyMs };
  };
  const sides = {
    'muster, bundled': bridge(BUNDLE),
    'node -e 0': async () => {
      const begun = performance.now();
      execFileSync(process.execPath, ['-e', '0']);
      return { ms: performance.now() - begun };
    },
    'Jupyter server with a hello extension': () => tornado(python)
  };
  if (existsSync(UNBUNDLED)) {
    sides['muster, unbundled'] = bridge(UNBUNDLED);
  }
  const results = await interleave(sides, {
    rounds: rounds ?? (smoke ? 5 : 15),
    random,
    log
  });
  const of = name => results[name].map(round => round.ms);
  const bare = median(of('node -e 0'));
  const ours = median(of('muster, bundled'));
  const bytes = readdirSync(dirname(BUNDLE), { recursive: true })
    .filter(name => /\.m?js$/.test(String(name)))
    .reduce(
      (sum, name) => sum + statSync(join(dirname(BUNDLE), String(name))).size,
      0
    );
  const goal = 4 * bare + 100;
  return {
    title: 'cold start of the bridge',
    raw: results,
    artefactBytes: bytes,
    rows: Object.keys(results).map(name => ({
      measured: 'start to first answer',
      unit: 'ms',
      side: name,
      median: median(of(name)),
      p99: percentile(of(name), 99),
      samples: results[name].length
    })),
    ratios: Object.keys(results)
      .filter(name => name !== 'muster, bundled')
      .map(name => ({
        name: `muster, bundled / ${name}`,
        ...ratioOf(of('muster, bundled'), of(name), random),
        ...(name === 'node -e 0'
          ? {
              goal: `≤ 4× + 100 ms = ${Math.round(goal)} ms`,
              met: ours <= goal
            }
          : {})
      })),
    goals: [
      { name: 'artefact ≤ 6 MB', value: bytes, met: bytes <= 6e6 },
      { name: '≤ 4× node -e 0 + 100 ms', value: ours, met: ours <= goal }
    ],
    notes: [
      `The artefact is ${(bytes / 1e6).toFixed(2)} MB (goal ≤ 6, extreme ≤ 2.5). "First answer" is the health route with the secret, not the bare listen; recovery of an empty store was done after ${Math.round(median(results['muster, bundled'].map(round => round.readyMs)))} ms.`
    ]
  };
}

async function tornado(python) {
  const folder = mkdtempSync(join(tmpdir(), 'mt-'));
  const begun = performance.now();
  const child = spawn(python, ['bench/programs/tornado_hello.py', folder], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      JUPYTER_CONFIG_DIR: join(folder, 'config'),
      JUPYTER_RUNTIME_DIR: join(folder, 'runtime'),
      JUPYTER_DATA_DIR: join(folder, 'data')
    }
  });
  try {
    const said = await Promise.race([
      once(child.stdout, 'data').then(() => true),
      once(child, 'close').then(() => false)
    ]);
    if (!said) {
      throw new Error('the Jupyter server did not start');
    }
    return { ms: performance.now() - begun };
  } finally {
    if (child.exitCode === null) {
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  }
}
