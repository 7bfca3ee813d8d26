/** Answers that are lines: rows, tables, blocks, pairs. Each gives flat records. */
import type { ReaderSpec } from '../specification.js';
import type { TextRecord } from './record.js';

type Reader<T extends ReaderSpec['type']> = Extract<ReaderSpec, { type: T }>;

export function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
}

/** The value of one of these options in a command line: `-o X`, `--format=X`, `format=X`. */
export function optionValue(
  argv: readonly string[],
  options: readonly string[]
): string | null {
  for (const [at, word] of argv.entries()) {
    for (const option of options) {
      if (word === option && !option.endsWith('=')) {
        return argv[at + 1] ?? null;
      }
      // `-no FORMAT`: single letters may be run together, the one with a value last.
      if (
        /^-[A-Za-z]$/.test(option) &&
        /^-[A-Za-z]{2,4}$/.test(word) &&
        word.endsWith(option.slice(1))
      ) {
        return argv[at + 1] ?? null;
      }
      const prefix = option.endsWith('=') ? option : `${option}=`;
      if (
        (option.startsWith('--') || option.endsWith('=')) &&
        word.startsWith(prefix)
      ) {
        return word.slice(prefix.length);
      }
    }
  }
  return null;
}

/** A column, and what parts it from the next: a separator, or its width. */
type Column = { name: string; separator: string; width: number | null };

export function readRows(
  reader: Reader<'rows'>,
  text: string,
  argv: readonly string[] | undefined
): TextRecord[] | null {
  let lines = linesOf(text).filter(line => line.trim() !== '');
  let columns = chosenColumns(reader, argv);
  if (reader.headerUnless !== undefined) {
    const plain =
      argv?.some(word => reader.headerUnless?.includes(word)) ?? false;
    const [first = ''] = lines;
    if (!plain && /^[A-Za-z]/.test(first.trim())) {
      columns = first.split(reader.separator).map(name => ({
        name: name.trim(),
        separator: reader.separator,
        width: null
      }));
      lines = lines.slice(1);
    }
  }
  if (reader.only !== undefined) {
    const only = new RegExp(reader.only, 'u');
    const banner =
      reader.banner === undefined ? null : new RegExp(reader.banner, 'u');
    const rows = lines.filter(line => only.test(line));
    // Text of which no line is a row is no empty listing, but an answer of somebody else.
    if (rows.length === 0 && lines.some(line => banner?.test(line) !== true)) {
      return null;
    }
    lines = rows;
  }
  return columns.length === 0 ? null : lines.map(line => cells(line, columns));
}

function chosenColumns(
  reader: Reader<'rows'>,
  argv: readonly string[] | undefined
): Column[] {
  const format =
    argv === undefined ? null : optionValue(argv, reader.columnsFrom);
  if (format === null || reader.columnPattern === undefined) {
    return reader.columns.map(name => ({
      name,
      separator: reader.separator,
      width: null
    }));
  }
  return [...format.matchAll(new RegExp(reader.columnPattern, 'gu'))].map(
    one => {
      const { column = one[0], separator, width } = one.groups ?? {};
      return {
        name: column,
        separator:
          separator === undefined || separator === ''
            ? reader.separator
            : separator,
        width: width === undefined ? null : Number(width)
      };
    }
  );
}

/** A blank as separator stands for any number of blanks; the last column runs to the line's end. */
function cells(line: string, columns: readonly Column[]): TextRecord {
  const record: Record<string, string> = {};
  let rest = line;
  for (const [at, { name, separator, width }] of columns.entries()) {
    if (width !== null) {
      record[name] = rest.slice(0, width).trim();
      rest = rest.slice(width);
      continue;
    }
    const blank = separator.trim() === '';
    rest = blank ? rest.trimStart() : rest;
    const end = at === columns.length - 1 ? -1 : rest.indexOf(separator);
    const value = end < 0 ? rest : rest.slice(0, end);
    record[name] = value.trim();
    if (end < 0) {
      break;
    }
    rest = rest.slice(end + separator.length);
  }
  return record;
}

/** Blank-separated values, strings perhaps in double quotes; `j` puts the job's id first. */
export function readAutoformat(
  reader: Reader<'autoformat'>,
  text: string,
  argv: readonly string[] | undefined
): TextRecord[] | null {
  const option = new RegExp(reader.option, 'u');
  const at = argv?.findIndex(word => option.test(word)) ?? -1;
  if (argv === undefined || at < 0) {
    return null;
  }
  const flags = (argv[at] ?? '').split(':')[1] ?? '';
  const rest = argv.slice(at + 1);
  const end = rest.findIndex(word => word.startsWith('-'));
  const names = [
    ...(flags.includes('j') ? ['JobId'] : []),
    ...(end < 0 ? rest : rest.slice(0, end))
  ];
  const lines = linesOf(text).filter(line => line.trim() !== '');
  return (flags.includes('h') ? lines.slice(1) : lines).map(line => {
    const parts = line.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
    return Object.fromEntries(
      names.flatMap((name, column) => {
        const value =
          column === names.length - 1
            ? parts.slice(column).join(' ')
            : (parts[column] ?? '');
        return value === 'undefined' || value === ''
          ? []
          : [[name, value.replace(/^"(.*)"$/s, '$1')] as const];
      })
    );
  });
}

export function readTable(
  reader: Reader<'table'>,
  text: string
): TextRecord[] | null {
  const lines = linesOf(text);
  const header = new RegExp(reader.header, 'u');
  const row = new RegExp(reader.row, 'u');
  const begins =
    reader.start === undefined ? undefined : new RegExp(reader.start, 'u');
  const start = lines.findIndex(line => header.test(line));
  if (start < 0) {
    return lines.every(line => line.trim() === '') ? [] : null;
  }
  return lines.slice(start + 1).flatMap(line => {
    const groups: Record<string, string | undefined> | undefined =
      row.exec(line)?.groups;
    return groups === undefined
      ? begins?.test(line) === true
        ? [{}]
        : []
      : [
          Object.fromEntries(
            Object.entries(groups)
              .filter(
                (entry): entry is [string, string] => entry[1] !== undefined
              )
              .map(([key, value]) => [key, value.trim()])
          )
        ];
  });
}

export function readBlocks(
  reader: Reader<'blocks'>,
  text: string
): TextRecord[] | null {
  const start = new RegExp(reader.start, 'u');
  const pair = new RegExp(reader.pair, 'u');
  const more = reader.more === undefined ? null : new RegExp(reader.more, 'u');
  const found: Record<string, string>[] = [];
  let key: string | null = null;
  for (const line of linesOf(text)) {
    const begin = start.exec(line);
    if (begin !== null) {
      const id = begin.groups?.['id'];
      found.push(id === undefined ? {} : { $id: id.trim() });
      key = null;
    }
    const record = found[found.length - 1];
    if (
      record === undefined ||
      (begin !== null && begin.groups?.['id'] !== undefined)
    ) {
      continue;
    }
    const onward = more?.exec(line)?.groups?.['value'];
    if (onward !== undefined && key !== null) {
      record[key] = `${record[key] ?? ''}${onward}`;
      continue;
    }
    const groups = pair.exec(line)?.groups;
    const name = groups?.['key']?.trim();
    if (name !== undefined) {
      // The first one counts: a value with a line break cannot overwrite an earlier key.
      key = Object.hasOwn(record, name) ? null : name;
      if (key !== null) {
        record[key] = groups?.['value']?.trim() ?? '';
      }
    }
  }
  return found;
}

export function readPairs(
  reader: Reader<'pairs'>,
  text: string
): TextRecord[] | null {
  const start = new RegExp(reader.start, 'u');
  const found: Record<string, string>[] = [];
  for (const line of linesOf(text)) {
    if (start.test(line)) {
      found.push({});
    }
    const record = found[found.length - 1];
    if (record === undefined) {
      continue;
    }
    let at = 0;
    const key = /(?:^|\s)([A-Za-z][\w:/]*)=/g;
    while (at < line.length) {
      key.lastIndex = at;
      const match = key.exec(line);
      if (match === null) {
        break;
      }
      const from = match.index + match[0].length;
      const name = match[1] ?? '';
      const toEnd = reader.toLineEnd.includes(name);
      const stop =
        name === 'JobName' && / UserId=\S+\(\d+\) GroupId=/.test(line)
          ? line.search(/ UserId=\S+\(\d+\) GroupId=/)
          : toEnd
            ? line.length
            : nextKey(line, from);
      if (!Object.hasOwn(record, name)) {
        record[name] = line.slice(from, stop).trim();
      }
      at = stop;
    }
  }
  return found;
}

function nextKey(line: string, from: number): number {
  const next = /\s[A-Za-z][\w:/]*=/g;
  next.lastIndex = from;
  return next.exec(line)?.index ?? line.length;
}

export function readDsv(
  reader: Reader<'dsv'>,
  text: string
): TextRecord[] | null {
  const start = new RegExp(reader.start, 'u');
  const pair = new RegExp(reader.pair, 'u');
  return linesOf(text)
    .filter(line => start.test(line))
    .map(line => {
      const record: Record<string, string> = {};
      for (const part of splitEscaped(line, reader.separator)) {
        const groups = pair.exec(part)?.groups;
        const name = groups?.['key']?.trim();
        if (name !== undefined && !Object.hasOwn(record, name)) {
          record[name] = groups?.['value'] ?? '';
        }
      }
      return record;
    });
}

/** A backslash before the separator makes it part of the value (qstat -F dsv). */
function splitEscaped(line: string, separator: string): string[] {
  const parts: string[] = [''];
  for (let at = 0; at < line.length;) {
    if (line.charAt(at) === '\\' && line.startsWith(separator, at + 1)) {
      parts[parts.length - 1] = `${parts.at(-1) ?? ''}${separator}`;
      at += 1 + separator.length;
    } else if (line.startsWith(separator, at)) {
      parts.push('');
      at += separator.length;
    } else {
      parts[parts.length - 1] = `${parts.at(-1) ?? ''}${line.charAt(at)}`;
      at += 1;
    }
  }
  return parts;
}

/**
 * A message as patterns may look at it. No system writes longer lines or more of them to people, and
 * a pattern over one line of a megabyte would take minutes.
 */
export function message(text: string): string {
  return text
    .slice(0, 262_144)
    .split('\n')
    .map(line => line.slice(0, 2048))
    .join('\n');
}
