import { describe, expect, test } from '@jest/globals';
import {
  adaptiveScale,
  amount,
  duration,
  fixedScale,
  size,
  typedOptions,
  whole
} from './amounts.js';
import { printable, printableLines } from './printable.js';
import { facts, table } from './table.js';

describe('amounts on a command line', () => {
  test.each([
    ['4', { workers: 4 }],
    ['64cores', { cores: 64 }],
    ['64 cores', { cores: 64 }],
    ['1core', { cores: 1 }],
    ['1TB', { memory: 1e12 }],
    ['1.5 GiB', { memory: 1.5 * 1024 ** 3 }]
  ])('%s', (text, expected) => {
    expect(amount(text, 'x')).toEqual(expected);
  });

  test.each([
    ['0..4', { workers: 0 }, { workers: 4 }],
    ['0..1TB', { workers: 0 }, { memory: 1e12 }],
    ['2..64cores', { workers: 2 }, { cores: 64 }],
    ['..8', { workers: 0 }, { workers: 8 }],
    ['1.5GB..2.5GB', { memory: 1.5e9 }, { memory: 2.5e9 }]
  ])('the range %s', (text, minimum, maximum) => {
    expect(adaptiveScale(text, 'x')).toEqual({
      type: 'adaptive',
      minimum,
      maximum
    });
  });

  test.each(['4', '4..', 'a..b', '1...4', '-1..4', '', '..', '1..lots'])(
    '%j is not a range',
    text => {
      expect(() => adaptiveScale(text, '--adapt')).toThrow(/^--adapt: /);
    }
  );

  test.each(['-1', '1.5', '', 'lots', '1e3', '99999999999'])(
    '%j is not a number of workers',
    text => {
      expect(() => whole(text, '--workers')).toThrow(
        `--workers: '${text}' is not a whole number`
      );
    }
  );

  test('a size or duration that is none is a matter of usage', () => {
    expect(() => size('lots', '--memory')).toThrow(
      expect.objectContaining({ exitCode: 2 })
    );
    expect(() => size('-1GB', '--memory')).toThrow(
      expect.objectContaining({ exitCode: 2 })
    );
    expect(() => duration('soon', '--timeout')).toThrow(
      expect.objectContaining({ exitCode: 2 })
    );
    expect(duration('2m', '--timeout')).toBe(120);
  });

  test('only one size may be said', () => {
    expect(() => fixedScale({ workers: '1', memory: '1GB' })).toThrow(
      expect.objectContaining({ exitCode: 2 })
    );
    expect(fixedScale({})).toBeNull();
    expect(fixedScale({ cores: '8' })).toEqual({ type: 'fixed', cores: 8 });
  });
});

describe('-o key=value', () => {
  const schema = {
    properties: {
      account: { type: 'string' },
      nodes: { type: 'integer' },
      exclusive: { type: 'boolean' },
      hosts: { type: 'array', items: { type: 'string' } },
      walltime: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      reservation: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      tolerations: { type: 'array' }
    }
  };

  test('is typed as the backend wants it', () => {
    expect(
      typedOptions(
        [
          'account=0042',
          'nodes=2',
          'exclusive=true',
          'hosts=a,b',
          'walltime=2h',
          'reservation=null',
          'tolerations=[{"key":"x"}]',
          'unknown=3',
          'other=x=y'
        ],
        schema
      )
    ).toEqual({
      account: '0042',
      nodes: 2,
      exclusive: true,
      hosts: ['a', 'b'],
      walltime: '2h',
      reservation: null,
      tolerations: [{ key: 'x' }],
      unknown: 3,
      other: 'x=y'
    });
  });

  test('without a schema it is read as JSON would read it', () => {
    expect(typedOptions(['a=1', 'b=true', 'c=x', 'd='], null)).toEqual({
      a: 1,
      b: true,
      c: 'x',
      d: ''
    });
  });

  test.each(['walltime', '=x', ''])('%j is not key=value', pair => {
    expect(() => typedOptions([pair], null)).toThrow(
      expect.objectContaining({ exitCode: 2 })
    );
  });
});

describe('what is printed', () => {
  test('S19: nothing of others can speak to the terminal', () => {
    const hostile = [
      '\u001b[31mred\u001b[0m',
      '\u001b]0;title\u0007',
      '\u001b]8;;javascript:alert(1)\u001b\\link\u001b]8;;\u001b\\',
      '\u009b31mC1',
      'a\rb',
      'a\bb',
      '\u202eevil',
      '\u2066x',
      'a\u0000b',
      '\u061c',
      '\u2028'
    ];
    for (const text of hostile) {
      const unsafe =
        // eslint-disable-next-line no-control-regex -- they must not come through
        /[\u0000-\u001f\u007f-\u009f\u061c\u2028-\u202e\u2066-\u2069]/;
      expect(printable(text)).not.toMatch(unsafe);
      expect(printableLines(text).replaceAll('\n', '')).not.toMatch(unsafe);
      expect(table(['A'], [[text]], false).replaceAll('\n', '')).not.toMatch(
        unsafe
      );
    }
    expect(printable('a\nb\tc\u001b')).toBe('a\\nb\\tc\\x1b');
    expect(printableLines('a\r\nb\tc\rd\u202e')).toBe('a\nb\tc\\rd\\u202e');
    expect(printable('grün 日本 😀')).toBe('grün 日本 😀');
  });

  test('columns line up, numbers to the right, absence is a dash', () => {
    expect(
      table(
        ['NAME', 'N', 'X'],
        [
          ['a', 5, null],
          ['long name', 12, { text: 'y', tone: 'good' }]
        ],
        false
      )
    ).toBe('NAME        N  X\na           5  -\nlong name  12  y\n');
  });

  test('colours do not move columns', () => {
    const plain = table(['A', 'B'], [[{ text: 'x', tone: 'bad' }, 'y']], false);
    const coloured = table(
      ['A', 'B'],
      [[{ text: 'x', tone: 'bad' }, 'y']],
      true
    );
    expect(coloured).toContain('\u001b[31mx\u001b[0m');
    // eslint-disable-next-line no-control-regex -- strips what was put in
    expect(coloured.replace(/\u001b\[\d+m/g, '')).toBe(plain);
    expect(
      facts(
        [
          ['a', 1],
          ['long', null]
        ],
        false
      )
    ).toBe('a     1\nlong  -\n');
  });
});
