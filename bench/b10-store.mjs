/** B10: acknowledged operations of the state store, through its interface, crash-verified. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { bundle } from './bundle.mjs';
import { interleave } from './rounds.mjs';
import { median, percentile, ratioOf } from './statistics.mjs';

const run = promisify(execFile);

export async function benchmark({ smoke, rounds, random, log }) {
  const folder = mkdtempSync(join(tmpdir(), 'muster-b10-'));
  try {
    const program = join(folder, 'store-load.mjs');
    await bundle('bench/programs/store-load.ts', program);
    const ms = smoke ? 300 : 2_000;
    const side = (name, concurrency) => async () => {
      const place = mkdtempSync(join(folder, `${name}-`));
      try {
        const { stdout } = await run(process.execPath, [
          '--disable-warning=ExperimentalWarning',
          program,
          name,
          place,
          String(concurrency),
          String(ms)
        ]);
        return JSON.parse(stdout);
      } finally {
        rmSync(place, { recursive: true, force: true });
      }
    };
    const results = await interleave(
      {
        'muster, 1 at a time': side('ours', 1),
        'muster, 32 at a time': side('ours', 32),
        'node:sqlite, one transaction each': side('plain', 1),
        'node:sqlite WAL + FULL (local disk only)': side('wal', 1),
        'raw fdatasync': side('disk', 1)
      },
      { rounds: rounds ?? (smoke ? 3 : 7), random, log }
    );
    const crash = await verifyCrash(folder, random);
    log(`kill test: ${JSON.stringify(crash)}`);
    if (crash.missing > 0 || crash.acknowledged === 0) {
      throw new Error(
        `the kill test failed, so the numbers mean nothing: ${JSON.stringify(crash)}`
      );
    }
    const of = (name, key) => results[name].map(round => round[key]);
    const rows = Object.keys(results).flatMap(name => [
      {
        measured: 'acknowledged operations',
        unit: 'per second',
        side: name,
        median: median(of(name, 'perSecond')),
        samples: results[name].length
      },
      {
        measured: 'time of one operation',
        unit: 'ms',
        side: name,
        median: median(of(name, 'p50')),
        p99: median(of(name, 'p99')),
        samples: of(name, 'operations').reduce((a, b) => a + b, 0)
      },
      ...(name.startsWith('muster')
        ? [
            {
              measured: 'event loop delay',
              unit: 'ms',
              side: name,
              p99: percentile(of(name, 'loopDelayP99'), 50),
              samples: results[name].length
            }
          ]
        : [])
    ]);
    const peer = of('node:sqlite, one transaction each', 'perSecond');
    const many = ratioOf(of('muster, 32 at a time', 'perSecond'), peer, random);
    const one = ratioOf(of('muster, 1 at a time', 'perSecond'), peer, random);
    const p99 = median(of('muster, 1 at a time', 'p99'));
    const loop = median(of('muster, 32 at a time', 'loopDelayP99'));
    return {
      title: 'state store',
      raw: results,
      crash,
      rows,
      ratios: [
        {
          name: '32 at a time / one transaction each, operations per second',
          ...many,
          goal: '≥ 10 (extreme: 20 000 per second)',
          met: many.low >= 10
        },
        {
          name: '1 at a time / one transaction each, operations per second',
          ...one,
          goal: '(extreme: ≥ 0.9)',
          met: one.low >= 0.9
        }
      ],
      goals: [
        { name: 'single p99 ≤ 5 ms', value: p99, met: p99 <= 5 },
        { name: 'event loop delay p99 ≤ 20 ms', value: loop, met: loop <= 20 }
      ],
      notes: [
        `Kill test of the same build: ${crash.acknowledged} operations acknowledged over ${crash.kills} kill -9, ${crash.missing} missing.`,
        `Single p99 ${p99.toFixed(2)} ms (goal ≤ 5), event loop delay p99 ${loop.toFixed(2)} ms at 32 (goal ≤ 20). The peer is synchronous: it blocks its event loop for every commit and cannot do more than one at a time.`
      ]
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writers killed in the middle; every operation they had acknowledged must be in the file. */
async function verifyCrash(folder, random) {
  const program = join(folder, 'store-process.mjs');
  await bundle('src/bridge/store/fixtures/store-process.ts', program);
  const place = mkdtempSync(join(folder, 'crash-'));
  const file = join(place, 'muster.db');
  const acknowledged = [];
  const kills = 5;
  for (let round = 0; round < kills; round++) {
    const child = spawn(
      process.execPath,
      [
        program,
        'commit-for-ever',
        file,
        join(place, 'backups'),
        String(1 + round * 1_000_000)
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] }
    );
    let output = '';
    child.stdout.on('data', chunk => {
      output += chunk;
    });
    await once(child.stdout, 'data');
    await new Promise(resolve => setTimeout(resolve, 50 + random() * 200));
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
    for (const match of output.matchAll(/^ack (\d+)$/gm)) {
      acknowledged.push(Number(match[1]));
    }
  }
  const database = new DatabaseSync(file);
  const kept = new Set(
    database
      .prepare('SELECT seq FROM events')
      .all()
      .map(row => row.seq)
  );
  const whole = database.prepare('PRAGMA quick_check').get().quick_check;
  database.close();
  return {
    kills,
    acknowledged: acknowledged.length,
    missing: acknowledged.filter(seq => !kept.has(seq)).length,
    quickCheck: whole
  };
}
