/** Tables for people. Pure: rows in, text out. */
import { printable } from './printable.js';

export type Tone = 'plain' | 'good' | 'bad' | 'warn' | 'faint' | 'head';
export type Cell = string | number | null | { text: string; tone: Tone };

const CODES: Record<Tone, string> = {
  plain: '',
  good: '32',
  bad: '31',
  warn: '33',
  faint: '2',
  head: '1'
};

export function toned(text: string, tone: Tone, colour: boolean): string {
  return colour && tone !== 'plain'
    ? `\u001b[${CODES[tone]}m${text}\u001b[0m`
    : text;
}

function textOf(cell: Cell): { text: string; tone: Tone } {
  if (cell === null || cell === '') {
    return { text: '-', tone: 'faint' };
  }
  return typeof cell === 'object'
    ? { text: printable(cell.text), tone: cell.tone }
    : { text: printable(String(cell)), tone: 'plain' };
}

/** Columns two spaces apart; numbers to the right; nothing after the last column. */
export function table(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  colour: boolean
): string {
  const lines = [
    head.map(name => ({ text: name, tone: 'head' as const })),
    ...rows.map(row => row.map(textOf))
  ];
  const right = head.map(
    (_, column) =>
      rows.length > 0 && rows.every(row => typeof row[column] === 'number')
  );
  const widths = head.map((_, column) =>
    Math.max(...lines.map(line => line[column]?.text.length ?? 0))
  );
  return lines
    .map(line =>
      line
        .map(({ text, tone }, column) => {
          const width = widths[column] ?? 0;
          const padding =
            column === line.length - 1 && right[column] !== true
              ? ''
              : ' '.repeat(width - text.length);
          const shown = toned(text, tone, colour);
          return right[column] === true ? padding + shown : shown + padding;
        })
        .join('  ')
        .trimEnd()
    )
    .map(line => `${line}\n`)
    .join('');
}

/** `name  value` lines. */
export function facts(
  pairs: readonly (readonly [string, Cell])[],
  colour: boolean
): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs
    .map(([name, cell]) => {
      const { text, tone } = textOf(cell);
      return `${toned(name.padEnd(width), 'head', colour)}  ${toned(text, tone, colour)}\n`;
    })
    .join('');
}

/** `3 min`, `2 h 5 min` ago, from ISO times. */
export function since(time: string | null, now: number): number | null {
  return time === null ? null : Math.max(0, (now - Date.parse(time)) / 1000);
}
