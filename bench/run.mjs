/** The runner: one file per benchmark, one JSON artefact per run, tables made from artefacts only. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { describeEnvironment } from './environment.mjs';
import { randomOf } from './statistics.mjs';
import { renderTable } from './table.mjs';

const BENCHMARKS = {
  B1: () => import('./b1-local-start.mjs'),
  B10: () => import('./b10-store.mjs'),
  B11: () => import('./b11-cold-start.mjs')
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seed: { type: 'string' },
    out: { type: 'string', default: 'bench/results' },
    python: { type: 'string', default: '.venv/bin/python' },
    workers: { type: 'string' },
    help: { type: 'boolean', default: false }
  }
});

if (values.help || positionals.length === 0) {
  process.stderr.write(
    `usage: script/bench <${Object.keys(BENCHMARKS).join('|')}>… [--smoke] [--rounds N] [--seed N] [--workers 1,4,8] [--python P] [--out FOLDER] [--json]\n`
  );
  process.exit(values.help ? 0 : 2);
}

let failed = false;
for (const id of positionals) {
  const load = BENCHMARKS[id.toUpperCase()];
  if (load === undefined) {
    process.stderr.write(
      `there is no benchmark ${id}: ${Object.keys(BENCHMARKS).join(', ')}\n`
    );
    process.exit(2);
  }
  const seed =
    values.seed === undefined
      ? Math.floor(Math.random() * 2 ** 32)
      : Number(values.seed);
  const python = resolve(values.python);
  const environment = describeEnvironment(python);
  const log = text => process.stderr.write(`${id}: ${text}\n`);
  try {
    const { benchmark } = await load();
    const result = await benchmark({
      smoke: values.smoke,
      rounds: values.rounds === undefined ? null : Number(values.rounds),
      workers: values.workers?.split(',').map(Number) ?? null,
      random: randomOf(seed),
      python,
      log
    });
    const artefact = { id: id.toUpperCase(), seed, environment, ...result };
    const file = join(
      values.out,
      `${artefact.id}-${environment.time.replace(/[:.]/g, '-')}.json`
    );
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(artefact, null, 1)}\n`);
    process.stdout.write(
      values.json
        ? `${JSON.stringify(artefact)}\n`
        : `${renderTable(artefact)}\n`
    );
    log(`kept in ${file}`);
  } catch (error) {
    failed = true;
    process.stderr.write(`${id}: ${error.stack ?? error}\n`);
  }
}
process.exitCode = failed ? 1 : 0;
