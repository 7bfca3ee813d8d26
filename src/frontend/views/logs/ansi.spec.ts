/** Foreign text: colours yes, steering no. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AnsiReader } from './ansi.js';

const text = (chunk: string): string =>
  new AnsiReader()
    .read(chunk)
    .map(line => line.map(span => span.text).join(''))
    .join('\n');

describe('a log', () => {
  it('keeps its colours, over line ends too', () => {
    const lines = new AnsiReader().read(
      '\u001b[31;1mred\nstill\u001b[0m plain'
    );
    expect(lines).toEqual([
      [{ text: 'red', className: 'ansi-red-fg ansi-bold' }],
      [
        { text: 'still', className: 'ansi-red-fg ansi-bold' },
        { text: ' plain', className: '' }
      ]
    ]);
  });

  it('keeps its colours over chunks', () => {
    const reader = new AnsiReader();
    reader.read('\u001b[32mgreen\n');
    expect(reader.read('more')).toEqual([
      [{ text: 'more', className: 'ansi-green-fg' }]
    ]);
  });

  it.each([
    ['\u001b[38;5;196mx', { color: 'rgb(255, 0, 0)' }],
    ['\u001b[38;5;232mx', { color: 'rgb(8, 8, 8)' }],
    ['\u001b[48;2;1;2;3mx', { background: 'rgb(1, 2, 3)' }],
    ['\u001b[38;5;9mx', { className: 'ansi-red-intense-fg' }],
    ['\u001b[97;44mx', { className: 'ansi-white-intense-fg ansi-blue-bg' }],
    [
      '\u001b[7mx',
      { className: 'ansi-default-inverse-fg ansi-default-inverse-bg' }
    ]
  ])('%j is drawn so', (chunk, expected) => {
    expect(new AnsiReader().read(chunk)[0]?.[0]).toMatchObject(expected);
  });

  it.each([
    ['a window title', 'a\u001b]0;owned\u0007b', 'ab'],
    ['a hyperlink', 'a\u001b]8;;http://evil\u001b\\b\u001b]8;;\u001b\\', 'ab'],
    ['clearing the screen', 'a\u001b[2J\u001b[Hb', 'ab'],
    ['a device report', 'a\u001b[6nb', 'ab'],
    ['a bell and a backspace', 'a\u0007\bb', 'ab'],
    ['turned-round text (CVE-2021-42574)', 'a\u202e\u2066b', 'ab'],
    ['an eight-bit control sequence', 'a\u009b31mb', 'ab'],
    ['an unfinished sequence', 'ab\u001b[', 'ab']
  ])('loses %s', (_, chunk, expected) => {
    expect(text(chunk)).toBe(expected);
  });

  it('shows of a progress bar what it showed last', () => {
    expect(text('10%\r50%\r100%\r\ndone')).toBe('100%\ndone');
  });

  it('never lets a control character through, whatever is written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), chunk => {
        expect(text(`\u001b${chunk}`)).not.toMatch(
          // eslint-disable-next-line no-control-regex -- exactly these must not be there
          /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/
        );
      })
    );
  });
});
