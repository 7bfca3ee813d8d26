/** One entry to all readers: a text and how to read it → records, or null where it is not such. */
import type { ReaderSpec } from '../specification.js';
import {
  readAutoformat,
  readBlocks,
  readDsv,
  readPairs,
  readRows,
  readTable
} from './lines.js';
import type { TextRecord } from './record.js';
import { readJson, readXml, readYaml } from './trees.js';

export type { TextRecord } from './record.js';

export function read(
  reader: ReaderSpec,
  text: string,
  argv?: readonly string[]
): TextRecord[] | null {
  switch (reader.type) {
    case 'json':
      return readJson(text, reader.at, reader.keyAs);
    case 'yaml':
      return readYaml(text, reader.at, reader.keyAs);
    case 'xml':
      return text.trim() === '' ? [] : readXml(text, reader.elements);
    case 'autoformat':
      return readAutoformat(reader, text, argv);
    case 'blocks':
      return readBlocks(reader, text);
    case 'rows':
      return readRows(reader, text, argv);
    case 'table':
      return readTable(reader, text);
    case 'pairs':
      return readPairs(reader, text);
    case 'dsv':
      return readDsv(reader, text);
  }
}
