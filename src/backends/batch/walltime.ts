/**
 * Durations at the edge (specs/batch-systems.md §4). Inside everything is seconds. Three kinds of
 * input, three readers: our own text (`readOurWalltime`), a typed number (seconds, no reader
 * needed), and a system's native text (`readNativeDuration` by its grammar). Limits are only ever
 * rounded up, and a positive duration is never printed as 0, which several systems read as "none".
 */
import { parseDuration } from '../../protocol/index.js';

export type Walltime = number | 'unlimited';

/** How a system writes a duration. */
export const DURATION_FORMS = [
  'D-HH:MM:SS',
  'H:MM:SS',
  'H:MM',
  'seconds',
  'minutes',
  'Ns'
] as const;
export type DurationForm = (typeof DURATION_FORMS)[number];

/**
 * Our own text: `H:MM:SS`, `D-HH:MM:SS`, number with unit (`90s`, `2h30m`).
 * @returns seconds, or a sentence why not: two clock fields and bare numbers mean minutes here and
 * hours there, so they are refused with both readings named.
 */
export function readOurWalltime(text: string): Walltime | { refused: string } {
  const compact = text.trim();
  if (compact === 'unlimited') {
    return 'unlimited';
  }
  if (/^\d+$/.test(compact)) {
    return {
      refused: `'${compact}' may mean ${compact} seconds or ${compact} minutes; write '${compact}s' or '${compact}m'`
    };
  }
  const two = /^(\d+):(\d+)$/.exec(compact);
  if (two !== null) {
    return {
      refused: `'${compact}' may mean ${two[1]} min ${two[2]} s or ${two[1]} h ${two[2]} min; write '0:${compact}' or '${compact}:00'`
    };
  }
  if (/:/.test(compact) && /[.,]/.test(compact)) {
    return { refused: `'${compact}' has a fraction in a clock field` };
  }
  const seconds = parseDuration(compact);
  if (seconds === null || seconds <= 0) {
    return {
      refused: `'${compact}' is not a duration such as '90s', '2h30m', '2:30:00' or '1-12:00:00'`
    };
  }
  return Math.ceil(seconds);
}

/** Whole seconds, rounded up to the system's resolution; at least one unit. */
export function roundUpWalltime(seconds: number, resolution: number): number {
  return Math.max(1, Math.ceil(seconds / resolution)) * resolution;
}

export function formatDurationFor(form: DurationForm, seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  switch (form) {
    case 'D-HH:MM:SS':
      return `${Math.floor(hours / 24)}-${two(hours % 24)}:${two(minutes)}:${two(seconds % 60)}`;
    case 'H:MM:SS':
      return `${hours}:${two(minutes)}:${two(seconds % 60)}`;
    case 'H:MM': {
      const whole = Math.ceil(seconds / 60);
      return `${Math.floor(whole / 60)}:${two(whole % 60)}`;
    }
    case 'seconds':
      return String(seconds);
    case 'minutes':
      return String(Math.ceil(seconds / 60));
    case 'Ns':
      return `${seconds}s`;
  }
}

/** How a system's own text of a duration is read. */
export const DURATION_GRAMMARS = [
  /** `M`, `M:S`, `H:M:S`, `D-H[:M[:S]]`; a bare number is minutes. */
  'slurm',
  /** `[[H:]M:]S`. */
  'clock',
  /** Seconds, or `H:M:S` with fields that may be empty, or number with `m`. */
  'sge',
  /** `[H:]M`. */
  'lsf',
  /** `H[:M[:S]]`; minutes and seconds may exceed 59. */
  'oar',
  /** Flux Standard Duration: `300ms`, `90s`, `1.5h`, a bare number is seconds. */
  'fsd',
  'seconds',
  'minutes'
] as const;
export type DurationGrammar = (typeof DURATION_GRAMMARS)[number];

const NONE = /^(unlimited|infinite|infinity|inf|partition_limit)$/i;
const UNKNOWN = /^(|-|n\/a|none|null|not_set|invalid|\(null\)|undefined)$/i;

/** @returns seconds, `unlimited`, or null where the text says nothing (or nothing we can read). */
export function readNativeDuration(
  grammar: DurationGrammar,
  text: string
): Walltime | null {
  const compact = text.trim();
  if (NONE.test(compact)) {
    return 'unlimited';
  }
  if (UNKNOWN.test(compact)) {
    return null;
  }
  switch (grammar) {
    case 'slurm':
      return readSlurm(compact);
    case 'clock':
      return readClock(compact, 1, 3);
    case 'sge':
      return readSge(compact);
    case 'lsf':
      return readClock(compact, 60, 2);
    case 'oar':
      return readOar(compact);
    case 'fsd':
      return readFsd(compact);
    case 'seconds':
      return readNumber(compact, 1);
    case 'minutes':
      return readMinutes(compact);
  }
}

/** Slurm's JSON before 23.02 prints its INFINITE and NO_VAL as they are. */
function readMinutes(text: string): Walltime | null {
  return text === '4294967295'
    ? 'unlimited'
    : text === '4294967294'
      ? null
      : readNumber(text, 60);
}

function readNumber(text: string, factor: number): number | null {
  return /^\d+(\.\d+)?$/.test(text) ? Math.round(Number(text) * factor) : null;
}

function readSlurm(text: string): number | null {
  const days = /^(\d+)-(\d+)(?::(\d+))?(?::(\d+))?$/.exec(text);
  if (days !== null) {
    const [, d, h, m, s] = days.map((part: string | undefined) =>
      Number(part ?? 0)
    );
    return (d ?? 0) * 86400 + (h ?? 0) * 3600 + (m ?? 0) * 60 + (s ?? 0);
  }
  return /:/.test(text) ? readClock(text, 1, 3) : readNumber(text, 60);
}

/** Fields from the right; the last one counts `unit` seconds, each one before it 60 times more. */
function readClock(text: string, unit: number, fields: number): number | null {
  if (!/^\d+(:\d+)*$/.test(text)) {
    return null;
  }
  const parts = text.split(':').map(Number);
  return parts.length > fields
    ? null
    : parts.reduce((sum, part) => sum * 60 + part, 0) * unit;
}

function readSge(text: string): number | null {
  if (/^\d+(\.\d+)?$/.test(text)) {
    return Math.round(Number(text));
  }
  const parts = text.split(':');
  if (parts.length > 3 || !parts.every(part => /^\d*$/.test(part))) {
    return null;
  }
  return parts.reduce((sum, part) => sum * 60 + Number(part), 0);
}

function readOar(text: string): number | null {
  if (!/^\d+(:\d+){0,2}$/.test(text)) {
    return null;
  }
  const [h = 0, m = 0, s = 0] = text.split(':').map(Number);
  return h * 3600 + m * 60 + s;
}

function readFsd(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  if (match === null) {
    return null;
  }
  const unit = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400 }[match[2] ?? 's'];
  return unit === undefined ? null : Number(match[1]) * unit;
}
