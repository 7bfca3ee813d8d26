/**
 * Text of others (names, log lines, error messages) made safe for a terminal: what could move the
 * cursor, change colours or titles, or reorder the line is shown as an escape instead (S19).
 */
const UNSAFE =
  // eslint-disable-next-line no-control-regex -- exactly these are what it keeps out
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  switch (character) {
    case '\n':
      return '\\n';
    case '\r':
      return '\\r';
    case '\t':
      return '\\t';
    default:
      return code < 256
        ? `\\x${code.toString(16).padStart(2, '0')}`
        : `\\u${code.toString(16).padStart(4, '0')}`;
  }
}

/** One line. */
export function printable(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** Text of several lines: line ends and tabs stay. */
export function printableLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(UNSAFE, character =>
      character === '\n' || character === '\t' ? character : escaped(character)
    );
}
