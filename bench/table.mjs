/** An artefact as a table; no number in the docs is typed by hand. */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const number = value =>
  typeof value !== 'number' || !Number.isFinite(value)
    ? '–'
    : value >= 100
      ? Math.round(value).toLocaleString('en-US')
      : value.toPrecision(3);

/** Results older than this are marked stale (honesty rule 1). */
const STALE_MS = 183 * 24 * 3_600_000;

export function renderTable(artefact) {
  const e = artefact.environment;
  const stale = Date.now() - Date.parse(e.time) > STALE_MS ? ' **stale**' : '';
  const lines = [
    `### ${artefact.id} ${artefact.title}${stale}`,
    '',
    `Muster ${e.muster} (${e.revision?.slice(0, 10)}${e.uncommitted ? ', changed' : ''}), Node ${e.node}, ${Object.entries(
      e.peers ?? {}
    )
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}; ${e.cores} × ${e.cpu}; ${e.time.slice(0, 10)}`,
    '',
    '| measured | side | median | p99 | samples |',
    '|---|---|---|---|---|'
  ];
  for (const row of artefact.rows) {
    lines.push(
      `| ${row.measured} (${row.unit}) | ${row.side} | ${number(row.median)} | ${number(row.p99)} | ${row.samples} |`
    );
  }
  lines.push(
    '',
    '| ratio | value | 95 % interval | goal | met |',
    '|---|---|---|---|---|'
  );
  for (const ratio of artefact.ratios) {
    lines.push(
      `| ${ratio.name} | ${number(ratio.ratio)} | ${number(ratio.low)} – ${number(ratio.high)}${
        ratio.verdict === 'no difference' ? ' (no difference)' : ''
      } | ${ratio.goal ?? '–'} | ${ratio.met === undefined ? '–' : ratio.met ? 'yes' : 'no'} |`
    );
  }
  for (const note of artefact.notes ?? []) {
    lines.push('', note);
  }
  return lines.join('\n');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const file of process.argv.slice(2)) {
    process.stdout.write(
      `${renderTable(JSON.parse(readFileSync(file, 'utf8')))}\n\n`
    );
  }
}
