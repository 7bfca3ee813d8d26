/**
 * Hostile values through every dialect and back. The readers below follow the rules of the programs
 * that read the lines (sbatch, qsub, bsub, oarsub, condor_submit), written apart from the quoting.
 */
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  condorList,
  condorString,
  directiveWord,
  shellWord,
  type Quoting
} from './quoting.js';

/** Text a user can type, with what shells and schedulers take for their own. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...Array.from('\'"\\$`#%*?~!&|;<>()[]{}= \t-,:@/'),
        '$(x)',
        '${HOME}',
        '`id`',
        '%j',
        '$(Cluster)',
        '\\\\',
        'ƒ',
        'ü',
        '💥',
        '--',
        '\u00a0'
      ),
      fc.string({ minLength: 1, maxLength: 4, unit: 'grapheme-ascii' })
    ),
    { minLength: 1, maxLength: 12 }
  )
  .map(parts => parts.join(''));

const RUNS = { numRuns: 400 };

/** sbatch's get_argument: the first word of a line, null where there is none. */
function readSbatch(line: string): string | null {
  let quote = '';
  let word = '';
  let any = false;
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (character === '\\' && at + 1 < line.length) {
      word += line.charAt((at += 1));
      any = true;
    } else if (quote !== '' && character === quote) {
      quote = '';
    } else if (quote !== '') {
      word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      any = true;
    } else if (character === '#') {
      return any ? word : null;
    } else if (/\s/.test(character)) {
      return any ? word : null;
    } else {
      word += character;
      any = true;
    }
  }
  return quote === '' && any ? word : null;
}

/** make_argv of PBS and Torque: nothing is special inside of quotes. */
function readPbs(line: string): string | null {
  let word = '';
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (quote !== '') {
      if (character === quote) {
        quote = '';
      } else {
        word += character;
      }
    } else if (character === '"' || character === "'") {
      quote = character;
    } else if (character === '\\') {
      word += line.charAt((at += 1));
    } else if (/[ \t]/.test(character)) {
      return word;
    } else {
      word += character;
    }
  }
  return quote === '' ? word : null;
}

/** Grid Engine and LSF: one pair of quotes around the whole word. */
function readWhole(line: string): string | null {
  const first = line.charAt(0);
  if (first === '"' || first === "'") {
    const end = line.indexOf(first, 1);
    return end === line.length - 1 ? line.slice(1, -1) : null;
  }
  return /[\s"']/.test(line) ? null : line;
}

/** condor_submit: `$(DOLLAR)` is the only macro that may be left. */
function readCondor(line: string): string | null {
  const trimmed = line.trim();
  const rest = trimmed.replaceAll('$(DOLLAR)', '');
  return rest.includes('$') || trimmed.endsWith('\\')
    ? null
    : trimmed.replaceAll('$(DOLLAR)', '$');
}

const READERS: Record<
  Exclude<Quoting, 'shell'>,
  (line: string) => string | null
> = {
  backslash: readSbatch,
  quotes: readPbs,
  sge: readWhole,
  double: readWhole,
  raw: line => line.trim(),
  htcondor: readCondor
};

describe('hostile values', () => {
  it.each(Object.entries(READERS))(
    'a value in a %s line is read back as it was, or refused',
    (name, read) => {
      fc.assert(
        fc.property(hostile, value => {
          const word = directiveWord(name as Quoting, value);
          expect(word === null ? value : read(word)).toBe(value);
        }),
        RUNS
      );
    }
  );

  it.each(['backslash', 'quotes'] as const)(
    'a %s line can say everything but line ends',
    name => {
      fc.assert(
        fc.property(hostile, value => {
          expect(directiveWord(name, value)).not.toBeNull();
        }),
        RUNS
      );
      for (const end of ['\n', '\r', '\0']) {
        expect(directiveWord(name, `a${end}b`)).toBeNull();
      }
    }
  );

  it('the words of a shell command arrive as they were in sh and bash', () => {
    const values = fc.sample(
      fc.oneof(hostile, fc.constantFrom('', '\n', "'", 'a\nb', '-n', '\\')),
      { numRuns: 500, seed: 20261130 }
    );
    for (const shell of ['sh', 'bash']) {
      const script = `printf '%s\\0' ${values.map(shellWord).join(' ')}`;
      const run = spawnSync(shell, ['-c', script], {
        encoding: 'utf8',
        maxBuffer: 1 << 24
      });
      expect(run.stderr).toBe('');
      expect(run.stdout.split('\0').slice(0, -1)).toEqual(
        values.map(value => value)
      );
    }
  });

  it('a string attribute of HTCondor is read back, or refused', () => {
    fc.assert(
      fc.property(hostile, value => {
        const text = condorString(value);
        if (text !== null) {
          const inside = text
            .slice(1, -1)
            .replaceAll('$(DOLLAR)', '$')
            .replace(/\\(.)/gsu, '$1');
          expect(inside).toBe(value);
        }
      }),
      RUNS
    );
  });

  it('a list of words of HTCondor is read back word by word', () => {
    const read = (text: string): string[] => {
      const inside = text
        .slice(1, -1)
        .replaceAll('$(DOLLAR)', '$')
        .replaceAll('""', '\u0001');
      const words: string[] = [];
      const pattern = /((?:[^\s']|'(?:[^']|'')*')+)/g;
      for (const [word] of inside.matchAll(pattern)) {
        words.push(
          word
            .replace(/'((?:[^']|'')*)'/g, (_, part: string) =>
              part.replaceAll("''", "'")
            )
            .replaceAll('\u0001', '"')
        );
      }
      return words;
    };
    fc.assert(
      fc.property(
        fc.array(
          hostile.filter(
            one => !one.includes('\u00a0') && !one.includes('\u0001')
          ),
          {
            minLength: 1,
            maxLength: 5
          }
        ),
        words => {
          expect(read(condorList(words))).toEqual(words);
        }
      ),
      RUNS
    );
  });
});
