/**
 * Sizes and durations as people write them. Bytes are read exactly as `dask.utils.parse_bytes`
 * reads them (kB, MB, … and a bare letter are powers of 1000; KiB, MiB, … and Ki, Mi are powers of
 * 1024; fractions are cut off); durations as `dask.utils.parse_timedelta`, and besides as batch
 * systems write them: "2h30m", "2:30:00", "1-12:00:00".
 */
import { z } from 'zod';

const BYTE_UNITS: ReadonlyMap<string, number> = new Map(
  ['', 'k', 'm', 'g', 't', 'p'].flatMap((letter, power): [string, number][] => [
    [`${letter}b`, 1000 ** power],
    [letter, 1000 ** power],
    ...(letter === ''
      ? []
      : ([
          [`${letter}ib`, 1024 ** power],
          [`${letter}i`, 1024 ** power]
        ] as [string, number][]))
  ])
);

const SECOND_UNITS: ReadonlyMap<string, number> = new Map(
  (
    [
      [1e-9, 'ns', 'nanosecond'],
      [1e-6, 'us', 'microsecond'],
      [1e-3, 'ms', 'millisecond'],
      [1, 's', 'second'],
      [60, 'm', 'minute'],
      [3600, 'h', 'hour'],
      [86400, 'd', 'day'],
      [604800, 'w', 'week']
    ] as const
  ).flatMap(([seconds, short, long]): [string, number][] => [
    [short, seconds],
    [long, seconds],
    [`${long}s`, seconds]
  ])
);

const PYTHON_FLOAT =
  /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?$/;

function pythonFloat(text: string): number | null {
  return PYTHON_FLOAT.test(text) ? Number(text.replaceAll('_', '')) : null;
}

/**
 * Bytes as Dask reads them, whole bytes, fractions cut off.
 * @returns null where the text is not a size.
 */
export function parseBytes(text: string | number): number | null {
  if (typeof text === 'number') {
    return Number.isFinite(text) ? Math.trunc(text) : null;
  }
  let compact = text.replaceAll(' ', '');
  if (!/\d/.test(compact)) {
    compact = `1${compact}`;
  }
  const suffix = /[a-zA-Z]*$/.exec(compact)?.[0] ?? '';
  const number = pythonFloat(compact.slice(0, compact.length - suffix.length));
  const unit = BYTE_UNITS.get(suffix.toLowerCase());
  if (number === null || unit === undefined) {
    return null;
  }
  const bytes = Math.trunc(number * unit);
  return Number.isFinite(bytes) ? bytes + 0 : null;
}

/** `8589934592` → `8 GiB`; what this writes, `parseBytes` reads back to the same number or nearest. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let index = 0;
  while (Math.abs(value) >= 1024 && index < units.length - 1) {
    value /= 1024;
    index += 1;
  }
  const digits =
    index === 0 || Number.isInteger(value) || value >= 100
      ? 0
      : value >= 10
        ? 1
        : 2;
  return `${Number(value.toFixed(digits))} ${units[index] ?? 'B'}`;
}

/**
 * Seconds. Accepts Dask's forms ("90s", "1.5 hours", 90 = seconds), compound ones ("2h30m"), and
 * clock forms: `h:mm:ss`, `mm:ss`, `d-hh`, `d-hh:mm`, `d-hh:mm:ss` (as Slurm reads them).
 * @returns null where the text is not a duration.
 */
export function parseDuration(text: string | number): number | null {
  if (typeof text === 'number') {
    return Number.isFinite(text) ? text : null;
  }
  const compact = text.replaceAll(' ', '');
  if (compact === '') {
    return null;
  }
  return clockDuration(compact) ?? compoundDuration(compact);
}

function clockDuration(text: string): number | null {
  const days = /^(\d+)-(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2}))?$/.exec(text);
  if (days !== null) {
    const [, d, h, m, s] = days.map((part: string | undefined) =>
      Number(part ?? 0)
    );
    return inClock(h, m, s)
      ? (d ?? 0) * 86400 + (h ?? 0) * 3600 + (m ?? 0) * 60 + (s ?? 0)
      : null;
  }
  const clock = /^(?:(\d+):)?(\d+):(\d{2})$/.exec(text);
  if (clock === null) {
    return null;
  }
  const [, h, m, s] = clock.map((part: string | undefined) =>
    Number(part ?? 0)
  );
  if ((s ?? 0) > 59 || (clock[1] !== undefined && (m ?? 0) > 59)) {
    return null;
  }
  return (h ?? 0) * 3600 + (m ?? 0) * 60 + (s ?? 0);
}

function inClock(h = 0, m = 0, s = 0): boolean {
  return h < 24 && m < 60 && s < 60;
}

function compoundDuration(text: string): number | null {
  const parts = [
    ...text.matchAll(/([\d._]+(?:[eE][+-]?\d+)?|^)([a-zA-Z]*)/gy)
  ].filter(part => part[0] !== '');
  if (parts.map(part => part[0]).join('') !== text || parts.length === 0) {
    return null;
  }
  let seconds = 0;
  for (const [, digits = '', suffix = ''] of parts) {
    if (parts.length > 1 && suffix === '') {
      return null;
    }
    const number = digits === '' ? 1 : pythonFloat(digits);
    const unit = SECOND_UNITS.get((suffix === '' ? 's' : suffix).toLowerCase());
    if (number === null || unit === undefined) {
      return null;
    }
    seconds += number * unit;
  }
  return Number.isFinite(seconds) ? seconds : null;
}

/** `5400` → `1 h 30 min`; for people. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) {
    return `${whole} s`;
  }
  const parts: [number, string][] = [
    [Math.floor(whole / 86400), 'd'],
    [Math.floor((whole % 86400) / 3600), 'h'],
    [Math.floor((whole % 3600) / 60), 'min'],
    [whole % 60, 's']
  ];
  const first = parts.findIndex(([value]) => value > 0);
  return parts
    .slice(first, first + 2)
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ');
}

const SIZE_HINT = "e.g. '4 GiB', '800MB' or a number of bytes";
const DURATION_HINT = "e.g. '90s', '2h30m', '2:30:00' or a number of seconds";

const CONTROL =
  // eslint-disable-next-line no-control-regex -- control characters must not reach a terminal or log
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** The text of a bad value, short enough for a message and without control characters. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
  return text.replace(CONTROL, '�').slice(0, 80);
}

/** A size in a request: bytes, or text as Dask reads it → whole bytes within the bounds. */
export function bytesSchema(bounds: { minimum: number; maximum: number }) {
  return z
    .union([z.string().max(64), z.number()], {
      error: issue => `${shown(issue.input)} is not a size`
    })
    .transform((value, context) => {
      // Dask reads '' as 1 byte; in a request it is an emptied field, not a size.
      const empty = typeof value === 'string' && value.trim() === '';
      const bytes = empty ? null : parseBytes(value);
      if (bytes === null) {
        context.addIssue({
          code: 'custom',
          message: `${shown(value)} is not a size`,
          params: { hint: SIZE_HINT }
        });
        return z.NEVER;
      }
      if (bytes < bounds.minimum || bytes > bounds.maximum) {
        context.addIssue({
          code: 'custom',
          message: `${shown(value)} is not between ${formatBytes(bounds.minimum)} and ${formatBytes(bounds.maximum)}`,
          params: { hint: SIZE_HINT }
        });
        return z.NEVER;
      }
      return bytes;
    });
}

/** A duration in a request: seconds, or text → seconds within the bounds. */
export function durationSchema(bounds: { minimum: number; maximum: number }) {
  return z
    .union([z.string().max(64), z.number()], {
      error: issue => `${shown(issue.input)} is not a duration`
    })
    .transform((value, context) => {
      const seconds = parseDuration(value);
      if (seconds === null) {
        context.addIssue({
          code: 'custom',
          message: `${shown(value)} is not a duration`,
          params: { hint: DURATION_HINT }
        });
        return z.NEVER;
      }
      if (seconds < bounds.minimum || seconds > bounds.maximum) {
        context.addIssue({
          code: 'custom',
          message: `${shown(value)} is not between ${formatDuration(bounds.minimum)} and ${formatDuration(bounds.maximum)}`,
          params: { hint: DURATION_HINT }
        });
        return z.NEVER;
      }
      return seconds;
    });
}
