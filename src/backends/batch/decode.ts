/** Texts of records as values: times, durations, exits, hosts. null = the text says nothing. */
import type { Exit } from '../resource-manager.js';
import { expandHosts } from './host-names.js';
import {
  DURATION_DECODERS,
  type Decoder,
  type FieldSource
} from './specification.js';
import { signalName } from './states.js';
import type { TextRecord } from './readers/read.js';
import { fill } from './templates.js';
import { readNativeDuration, type Walltime } from './walltime.js';

const NOTHING =
  /^(|-|--|n\/a|none|none assigned|\(null\)|null|unknown|undefined|not_set|invalid)$/i;

export type Found = { text: string; as: Decoder };

/** The text of a field in a record and how it is to be read. */
export function find(
  record: TextRecord,
  source: FieldSource | undefined
): Found | null {
  if (source === undefined) {
    return null;
  }
  const { from, as, match } =
    typeof source === 'string'
      ? { from: source, as: 'text' as const, match: undefined }
      : source;
  for (const key of Array.isArray(from) ? from : [from]) {
    const text = lookUp(record, key);
    if (text === undefined || text.trim() === '') {
      continue;
    }
    if (match === undefined) {
      return { text, as };
    }
    const hit = new RegExp(match, 'u').exec(text);
    if (hit !== null) {
      return { text: hit.groups?.['value'] ?? hit[0], as };
    }
  }
  return null;
}

/** A key; `prefix.*` for all below it, joined by commas; `{a}.{b}` for several together. */
function lookUp(record: TextRecord, key: string): string | undefined {
  if (key.endsWith('.*')) {
    const prefix = key.slice(0, -2);
    const parts = Object.entries(record)
      .filter(([name]) => name === prefix || name.startsWith(`${prefix}.`))
      .map(([, value]) => value);
    return parts.length === 0 ? undefined : parts.join(',');
  }
  if (key.includes('{')) {
    return fill(key, record).text ?? undefined;
  }
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** A text that may be one of the many words for "nothing". */
export function wordOrNull(found: Found | null): string | null {
  return found === null || NOTHING.test(found.text.trim())
    ? null
    : found.text.trim();
}

const MONTHS = [
  'jan',
  'feb',
  'mar',
  'apr',
  'may',
  'jun',
  'jul',
  'aug',
  'sep',
  'oct',
  'nov',
  'dec'
];

/**
 * A point in time as ISO-8601 in UTC. Texts without a zone are UTC: the commands run with TZ=UTC.
 * Reads seconds since 1970 (also with a fraction), ISO, `Mon Nov 30 12:21:53 2026`,
 * `11/30/2026 12:18:44` and `2026-11-30 12:18:44`.
 */
export function instant(found: Found | null): string | null {
  const text = wordOrNull(found);
  if (text === null) {
    return null;
  }
  if (/^\d+(\.\d+)?$/.test(text)) {
    const divisor = found?.as === 'epochMillis' ? 1 : 1000;
    const value = Number(text);
    return value <= 0 ? null : iso(divisor === 1 ? value : value * 1000);
  }
  const isoText =
    /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?$/.exec(
      text
    );
  if (isoText !== null) {
    const zone = isoText[8] ?? 'Z';
    return iso(
      Date.parse(
        `${isoText[1]}-${isoText[2]}-${isoText[3]}T${isoText[4]}:${isoText[5]}:${isoText[6]}${zone}`
      )
    );
  }
  const american =
    /^(\d\d)\/(\d\d)\/(\d{4}) (\d\d):(\d\d):(\d\d)(?:\.\d+)?$/.exec(text);
  if (american !== null) {
    const [, month, day, year, h, m, s] = american.map(Number);
    return iso(Date.UTC(year ?? 0, (month ?? 1) - 1, day, h, m, s));
  }
  const ctime =
    /^(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.\d+)? (\d{4})$/.exec(
      text
    );
  if (ctime !== null) {
    const month = MONTHS.indexOf((ctime[1] ?? '').toLowerCase());
    const [, , day, h, m, s, year] = ctime.map(Number);
    return month < 0 ? null : iso(Date.UTC(year ?? 0, month, day, h, m, s));
  }
  return null;
}

function iso(milliseconds: number): string | null {
  return Number.isFinite(milliseconds) && Math.abs(milliseconds) < 8.64e15
    ? new Date(milliseconds).toISOString().replace('.000Z', 'Z')
    : null;
}

export function duration(found: Found | null): Walltime | null {
  if (found === null) {
    return null;
  }
  const grammar = DURATION_DECODERS[found.as];
  return grammar === undefined ? null : readNativeDuration(grammar, found.text);
}

export function hosts(found: Found | null): string[] {
  const text = wordOrNull(found);
  if (text === null || /^\(/.test(text)) {
    return [];
  }
  switch (found?.as) {
    case 'execHosts':
      // PBS, Torque: `head/0*2+n2/1`, `(n1/0+n2/0)`, `head/0-1`.
      return unique(
        text
          .replace(/[()]/g, '')
          .split('+')
          .map(part => part.replace(/[/:].*$/, ''))
      );
    case 'slotHosts':
      // LSF: `4*n1:n2`.
      return unique(text.split(':').map(part => part.replace(/^\d+\*/, '')));
    case 'queueHost':
      // Grid Engine: `all.q@c1`; HTCondor: `slot1_1@head.cluster`.
      return unique(text.split(',').map(part => part.replace(/^.*@/, '')));
    default:
      return unique(expandHosts(text));
  }
}

function unique(names: readonly string[]): string[] {
  return [
    ...new Set(names.map(name => name.trim()).filter(name => name !== ''))
  ];
}

export function wholeNumber(found: Found | null): number | null {
  const text = wordOrNull(found);
  return text !== null && /^-?\d+(\.0+)?$/.test(text) ? Number(text) : null;
}

/** How a process ended. Numbers from 128 on are signals only where the system says so. */
export function exit(found: Found | null): Exit | null {
  const text = wordOrNull(found);
  if (text === null || found === null) {
    return null;
  }
  switch (found.as) {
    case 'exitPair': {
      // Slurm `code:signal`.
      const match = /^(\d+):(\d+)$/.exec(text);
      if (match === null) {
        return null;
      }
      const signal = Number(match[2]);
      // 0:125 is Slurm's mark of an OOM kill; no signal has that number.
      if (signal > 64) {
        return null;
      }
      return signal > 0
        ? { code: null, signal: signalName(signal) }
        : { code: Number(match[1]), signal: null };
    }
    case 'exitWait': {
      // The status of wait(2): 768 = exit 3, 9 = signal 9 (OAR); also `768 (3,0,0)`.
      const match = /^(\d+)\b/.exec(text);
      if (match === null) {
        return null;
      }
      const status = Number(match[1]);
      const signal = status & 0x7f;
      return signal > 0
        ? { code: null, signal: signalName(signal) }
        : { code: status >> 8, signal: null };
    }
    case 'exitShell': {
      // PBS, Torque, Grid Engine, Flux: 128 + signal, 256 + signal; negative: never ran.
      const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
      if (Number.isNaN(value)) {
        return null;
      }
      const signal = value > 256 ? value - 256 : value > 128 ? value - 128 : 0;
      return signal > 0 && signal < 65
        ? { code: null, signal: signalName(signal) }
        : { code: value, signal: null };
    }
    case 'exitFlux': {
      // 128 + signal of a task; negative: the job shell was killed, -128: cancelled before start.
      const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
      if (Number.isNaN(value) || value <= -128) {
        return null;
      }
      const signal = value < 0 ? -value : value > 128 ? value - 128 : 0;
      return signal > 0 && signal < 65
        ? { code: null, signal: signalName(signal) }
        : { code: value, signal: null };
    }
    default:
      return /^-?\d+$/.test(text) ? { code: Number(text), signal: null } : null;
  }
}
