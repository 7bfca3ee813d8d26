import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import {
  bytesSchema,
  durationSchema,
  formatBytes,
  formatDuration,
  parseBytes,
  parseDuration
} from './quantities.js';

/** What Dask itself reads; made by fixtures/make-dask-quantities.py. */
const dask = JSON.parse(
  readFileSync(
    new URL('./fixtures/dask-quantities.json', import.meta.url),
    'utf8'
  )
) as {
  dask: string;
  bytes: [string, number | null][];
  seconds: [string, number | null][];
};

/** Texts Muster reads beyond Dask (compound and clock forms), which Dask refuses. */
const BEYOND_DASK = /^[\d.]+[a-z]+ ?[\d.]+/i;

describe('sizes', () => {
  test(`every size of the table is read as Dask ${dask.dask} reads it`, () => {
    const wrong = dask.bytes
      .map(([text, bytes]) => ({ text, bytes, ours: parseBytes(text) }))
      .filter(({ bytes, ours }) => ours !== bytes);
    expect(wrong).toEqual([]);
    expect(dask.bytes.length).toBeGreaterThan(2000);
  });

  test('what is shown is read back as the same size, or nearest to it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 53 - 1 }), bytes => {
        const back = parseBytes(formatBytes(bytes));
        expect(back).not.toBeNull();
        expect(Math.abs((back ?? 0) - bytes)).toBeLessThanOrEqual(
          bytes * 0.006 + 1
        );
      })
    );
  });

  test('no text makes reading throw or gives anything but whole bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), text => {
        const bytes = parseBytes(text);
        expect(bytes === null || Number.isInteger(bytes)).toBe(true);
      })
    );
  });

  test('a bad value is quoted without its control characters, and shortened', () => {
    const schema = bytesSchema({ minimum: 1, maximum: 1000 });
    const result = schema.safeParse('\u001b[31m\u202elots');
    expect(result.error?.issues[0]?.message).toBe("'�[31m�lots' is not a size");
    expect(schema.safeParse('2kB').success).toBe(false);
    expect(schema.safeParse('0').success).toBe(false);
    expect(schema.safeParse('1kB').data).toBe(1000);
  });
});

describe('durations', () => {
  test(`every duration Dask ${dask.dask} reads is read alike, and what it refuses is refused`, () => {
    const wrong = dask.seconds
      .map(([text, seconds]) => ({ text, seconds, ours: parseDuration(text) }))
      // Dask puts a 1 before whatever does not begin with a digit: its '.5h' is 1.5 hours. Not here.
      .filter(({ text }) => !/^[._e].*\d/.test(text))
      .filter(({ text, seconds, ours }) =>
        seconds === null
          ? ours !== null && !BEYOND_DASK.test(text)
          : ours === null ||
            Math.abs(ours - seconds) > Math.abs(seconds) * 1e-12
      );
    expect(wrong).toEqual([]);
  });

  test.each([
    ['.5h', 1800],
    ['2h30m', 9000],
    ['1d 2h', 93600],
    ['2:30:00', 9000],
    ['90:00', 5400],
    ['1-12', 129600],
    ['1-12:30', 131400],
    ['1-12:00:01', 129601],
    ['0:00:00', 0]
  ])('%s is %d seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  test.each([
    '2:60:00',
    '1:00:60',
    '1-24',
    '1-2:60',
    '2h30',
    '2:3',
    '1-',
    ':30',
    '2h-30m',
    '1d2',
    ''
  ])('%j is not a duration', text => {
    expect(parseDuration(text)).toBeNull();
  });

  test('clock and compound forms agree', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: 0, max: 59 }),
        (d, h, m, s) => {
          const two = (value: number) => String(value).padStart(2, '0');
          const seconds = d * 86400 + h * 3600 + m * 60 + s;
          expect(parseDuration(`${d}-${two(h)}:${two(m)}:${two(s)}`)).toBe(
            seconds
          );
          expect(parseDuration(`${d}d${h}h${m}m${s}s`)).toBe(seconds);
          expect(parseDuration(`${d * 24 + h}:${two(m)}:${two(s)}`)).toBe(
            seconds
          );
        }
      )
    );
  });

  test('no text makes reading throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), text => {
        const seconds = parseDuration(text);
        expect(seconds === null || Number.isFinite(seconds)).toBe(true);
      })
    );
  });

  test('bounds hold, and are named', () => {
    const schema = durationSchema({ minimum: 60, maximum: 3600 });
    expect(schema.safeParse('59s').error?.issues[0]?.message).toBe(
      "'59s' is not between 1 min and 1 h"
    );
    expect(schema.safeParse('1h').data).toBe(3600);
    expect(schema.safeParse(-1).success).toBe(false);
  });

  test.each([
    [0, '0 s'],
    [59.4, '59 s'],
    [60, '1 min'],
    [5400, '1 h 30 min'],
    [90061, '1 d 1 h'],
    [3601, '1 h']
  ])('%d seconds are shown as %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });
});
