/**
 * A spec as YAML, for reading and for `muster create -f`. Only what JSON can hold; every text that
 * could be read as something else is quoted. Pure.
 */

import { formatSize } from '../../elements/amount-text.js';
import { parseBytes } from '../../../protocol/index.js';

/** Texts YAML 1.1 and 1.2 both read as plain text. */
const PLAIN =
  /^(?:[A-Za-z_/][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+-]+)*|\d+ [kKMGTP]i?B)$/;
const WORDS = /^(?:true|false|yes|no|on|off|y|n|null|~)$/i;

function scalar(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? '[]' : '{}';
  }
  if (typeof value === 'string') {
    return PLAIN.test(value) && !WORDS.test(value)
      ? value
      : JSON.stringify(value);
  }
  return JSON.stringify(value);
}

export function yamlOf(value: unknown, indent = 0): string {
  const pad = '  '.repeat(indent);
  if (!isNested(value)) {
    return scalar(value);
  }
  if (Array.isArray(value)) {
    return value
      .map((item: unknown) => {
        const text = yamlOf(item, indent + 1);
        return isNested(item)
          ? `${pad}- ${text.slice((indent + 1) * 2)}`
          : `${pad}- ${text}`;
      })
      .join('\n');
  }
  return Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([name, item]) =>
      isNested(item)
        ? `${pad}${scalar(name)}:\n${yamlOf(item, indent + 1)}`
        : `${pad}${scalar(name)}: ${scalar(readable(name, item))}`
    )
    .join('\n');
}

/** Bytes as people write them, where that reads back to the same number. */
function readable(name: string, value: unknown): unknown {
  if (name !== 'memory' || typeof value !== 'number') {
    return value;
  }
  const size = formatSize(value);
  return parseBytes(size) === value ? size : value;
}

function isNested(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.keys(value).length > 0
  );
}
