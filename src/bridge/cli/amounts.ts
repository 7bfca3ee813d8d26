/** Amounts, ranges and options as they are written on a command line. Pure. */
import { parseBytes, parseDuration } from '../../protocol/index.js';
import type { Amount, Scale } from '../../protocol/index.js';
import { usage } from './failure.js';

/** `4` workers, `64cores`, `1TB`. */
export function amount(text: string, option: string): Amount {
  const compact = text.trim();
  if (/^\d+$/.test(compact)) {
    return { workers: Number(compact) };
  }
  const cores = /^(\d+) *(?:c|cores?)$/i.exec(compact);
  if (cores !== null) {
    return { cores: Number(cores[1]) };
  }
  const bytes = /\d.*[a-z]$/i.test(compact) ? parseBytes(compact) : null;
  if (bytes === null || bytes < 0) {
    throw usage(
      `${option}: '${text}' is not an amount`,
      'e.g. 4 (workers), 64cores, or 1TB'
    );
  }
  return { memory: bytes };
}

/** `0..4`, `0..1TB`, `2..64cores`, `..8`. */
export function adaptiveScale(text: string, option: string): Scale {
  const match = /^([^.]*(?:\.\d[^.]*)?)\.\.(.+)$/.exec(text);
  if (match === null) {
    throw usage(
      `${option}: '${text}' is not a range`,
      'MIN..MAX, e.g. 0..4 or 0..1TB'
    );
  }
  const [, low = '', high = ''] = match;
  return {
    type: 'adaptive',
    minimum: low.trim() === '' ? { workers: 0 } : amount(low, option),
    maximum: amount(high, option)
  };
}

/** The fixed scale of `--workers`, `--cores` or `--memory`; null where none is said. */
export function fixedScale(said: {
  workers?: string | undefined;
  cores?: string | undefined;
  memory?: string | undefined;
}): Scale | null {
  const given = Object.entries(said).filter(([, value]) => value !== undefined);
  if (given.length > 1) {
    throw usage('say only one of --workers, --cores and --memory');
  }
  if (said.workers !== undefined) {
    return { type: 'fixed', workers: whole(said.workers, '--workers') };
  }
  if (said.cores !== undefined) {
    return { type: 'fixed', cores: whole(said.cores, '--cores') };
  }
  return said.memory === undefined
    ? null
    : { type: 'fixed', memory: size(said.memory, '--memory') };
}

export function whole(text: string, option: string): number {
  if (!/^\d{1,9}$/.test(text.trim())) {
    throw usage(`${option}: '${text}' is not a whole number`);
  }
  return Number(text);
}

/** Bytes. */
export function size(text: string, option: string): number {
  const bytes = /\d/.test(text) ? parseBytes(text) : null;
  if (bytes === null || bytes < 0) {
    throw usage(`${option}: '${text}' is not a size`, "e.g. '4 GiB' or 800MB");
  }
  return bytes;
}

/** Seconds. */
export function duration(text: string, option: string): number {
  const seconds = parseDuration(text);
  if (seconds === null || seconds < 0) {
    throw usage(`${option}: '${text}' is not a duration`, 'e.g. 90s or 2h30m');
  }
  return seconds;
}

type PropertySchema = { type?: unknown; anyOf?: unknown; enum?: unknown };

/**
 * `-o key=value` by the backend's own schema of its options: text stays text where text is wanted
 * (an account named 0042), numbers and lists become such.
 */
export function typedOptions(
  pairs: readonly string[],
  schema: Record<string, unknown> | null
): Record<string, unknown> {
  const properties = (schema?.['properties'] ?? {}) as Record<
    string,
    PropertySchema
  >;
  const options: Record<string, unknown> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) {
      throw usage(`-o: '${pair}' is not key=value`);
    }
    const key = pair.slice(0, at);
    options[key] = typedValue(pair.slice(at + 1), typesOf(properties[key]));
  }
  return options;
}

function typesOf(schema: PropertySchema | undefined): Set<string> {
  if (schema === undefined) {
    return new Set();
  }
  const own = Array.isArray(schema.type)
    ? (schema.type as string[])
    : typeof schema.type === 'string'
      ? [schema.type]
      : [];
  const inner = Array.isArray(schema.anyOf)
    ? (schema.anyOf as PropertySchema[]).flatMap(one => [...typesOf(one)])
    : [];
  return new Set([...own, ...inner]);
}

function typedValue(text: string, types: ReadonlySet<string>): unknown {
  if (types.has('array') || types.has('object')) {
    if (/^[[{]/.test(text.trim())) {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw usage(`-o: '${text}' is not JSON`);
      }
    }
    if (types.has('array')) {
      return text === '' ? [] : text.split(',');
    }
  }
  const isNumber = /^-?\d+(\.\d+)?$/.test(text);
  if (isNumber && (types.has('number') || types.has('integer'))) {
    return Number(text);
  }
  if ((text === 'true' || text === 'false') && types.has('boolean')) {
    return text === 'true';
  }
  if (text === 'null' && types.has('null')) {
    return null;
  }
  if (types.size > 0) {
    return text;
  }
  // Nothing is known of this option: as JSON would read it, else text.
  return isNumber
    ? Number(text)
    : text === 'true' || text === 'false'
      ? text === 'true'
      : text;
}
