/**
 * The small template language of the specifications: `{variable}`, `{?optional part}` (left out
 * when a variable inside is unset), `\{` and `\}` for braces.
 */
import type { ArgvTemplate } from './specification.js';

export type Variables = Readonly<Record<string, string | undefined>>;

type Piece =
  | { type: 'text'; text: string }
  | { type: 'variable'; name: string }
  | { type: 'optional'; pieces: Piece[] };

/** @throws SyntaxError where braces do not match: a mistake in the specification. */
function parse(template: string): Piece[] {
  let at = 0;
  const read = (inside: boolean): Piece[] => {
    const pieces: Piece[] = [];
    let text = '';
    const flush = (): void => {
      if (text !== '') {
        pieces.push({ type: 'text', text });
        text = '';
      }
    };
    while (at < template.length) {
      const character = template.charAt(at);
      if (character === '\\' && /[{}]/.test(template.charAt(at + 1))) {
        text += template.charAt(at + 1);
        at += 2;
      } else if (character === '}' && inside) {
        at += 1;
        flush();
        return pieces;
      } else if (template.startsWith('{?', at)) {
        at += 2;
        flush();
        pieces.push({ type: 'optional', pieces: read(true) });
      } else if (character === '{') {
        const end = template.indexOf('}', at);
        if (end < 0) {
          throw new SyntaxError(`a { is not closed in '${template}'`);
        }
        flush();
        pieces.push({ type: 'variable', name: template.slice(at + 1, end) });
        at = end + 1;
      } else {
        text += character;
        at += 1;
      }
    }
    if (inside) {
      throw new SyntaxError(`a {? is not closed in '${template}'`);
    }
    flush();
    return pieces;
  };
  return read(false);
}

export type Filled = {
  /** null: a variable outside of an optional part is unset. */
  text: string | null;
  /** Variables whose value stands in the text. */
  used: string[];
};

export function fill(template: string, variables: Variables): Filled {
  return join(parse(template), variables);
}

function join(pieces: readonly Piece[], variables: Variables): Filled {
  let text: string | null = '';
  const used: string[] = [];
  for (const piece of pieces) {
    switch (piece.type) {
      case 'text':
        text = text === null ? null : text + piece.text;
        break;
      case 'variable': {
        const value = variables[piece.name];
        text = value === undefined || text === null ? null : text + value;
        used.push(piece.name);
        break;
      }
      case 'optional': {
        const inner = join(piece.pieces, variables);
        if (inner.text !== null) {
          text = text === null ? null : text + inner.text;
          used.push(...inner.used);
        }
        break;
      }
    }
  }
  return { text, used };
}

/** `name`, `!name`, `name=value`: does every one hold? */
export function holds(tests: readonly string[], variables: Variables): boolean {
  return tests.every(test => {
    const [, not = '', name = '', , value] =
      /^(!?)([^=]+)(=(.*))?$/.exec(test) ?? [];
    const known = variables[name];
    const yes = value === undefined ? known !== undefined : known === value;
    return not === '!' ? !yes : yes;
  });
}

/**
 * A command's words. A word that is exactly `{…}` naming a list becomes that list's words; a list
 * inside the template is left out whole when a variable in it is unset.
 * @throws SyntaxError where a plain word needs an unset variable.
 */
export function fillArgv(
  template: ArgvTemplate,
  variables: Variables,
  lists: Readonly<Record<string, readonly string[]>> = {}
): string[] {
  return template.flatMap(word => {
    if (Array.isArray(word)) {
      const filled = word.map(one => fill(one, variables).text);
      return filled.every(one => one !== null) ? filled : [];
    }
    const list = /^\{([A-Za-z]+)\}$/.exec(word)?.[1];
    const words = list === undefined ? undefined : lists[list];
    if (words !== undefined) {
      return [...words];
    }
    const { text } = fill(word, variables);
    if (text === null) {
      throw new SyntaxError(`'${word}' needs a value that is not there`);
    }
    return [text];
  });
}
