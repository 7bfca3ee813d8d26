/**
 * Values as one word of a dialect. Each function's result, read by its reader's rules, is the value
 * again: the rules beside each function are those of the program that reads it.
 */

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** For POSIX sh and bash. */
export function shellWord(value: string): string {
  return PLAIN.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}

export function shellWords(argv: readonly string[]): string {
  return argv.map(shellWord).join(' ');
}

/** How the directives of a system quote. */
export const QUOTINGS = [
  'backslash',
  'quotes',
  'sge',
  'double',
  'shell',
  'raw',
  'htcondor'
] as const;
export type Quoting = (typeof QUOTINGS)[number];

/**
 * One value for a directive line.
 * @returns null where the dialect cannot say this value at all.
 */
export function directiveWord(quoting: Quoting, value: string): string | null {
  if (/[\n\r\0]/.test(value)) {
    return null;
  }
  switch (quoting) {
    case 'backslash':
      // Slurm: quotes group, a backslash takes the next character anywhere, also inside quotes;
      // `#` outside quotes begins a comment (sbatch's get_argument).
      return PLAIN.test(value)
        ? value
        : `"${value.replace(/[\\"]/g, character => `\\${character}`)}"`;
    case 'quotes':
      // PBS and Torque: either quote groups up to the same quote, nothing is special inside; a
      // backslash outside takes the next character (qsub's make_argv).
      return PLAIN.test(value) ? value : `'${value.replaceAll("'", `'"'"'`)}'`;
    case 'sge': {
      // Grid Engine: a word may be quoted as a whole by one kind of quote; there is no escape.
      if (PLAIN.test(value)) {
        return value;
      }
      const quote = ['"', "'"].find(one => !value.includes(one));
      return quote === undefined ? null : `${quote}${value}${quote}`;
    }
    case 'double':
      // LSF: double quotes as in a shell, without escapes inside.
      return PLAIN.test(value)
        ? value
        : value.includes('"')
          ? null
          : `"${value}"`;
    case 'shell':
      return shellWord(value);
    case 'raw':
      // OAR: everything to the end of the line is the value, blanks at its ends are lost.
      return value.trim() === value && value !== '' ? value : null;
    case 'htcondor':
      return condorValue(value);
  }
}

/**
 * The value of a plain HTCondor command, to the end of the line: `$(` is expanded at submit, a
 * backslash at the end joins lines, blanks at the ends are cut.
 */
export function condorValue(value: string): string | null {
  return value === '' || value.trim() !== value || value.endsWith('\\')
    ? null
    : condorLiteral(value);
}

function condorLiteral(value: string): string {
  return value.replaceAll('$', '$(DOLLAR)');
}

/** A string attribute of a ClassAd: `+Attr = "…"`. */
export function condorString(value: string): string | null {
  return /[\n\r\0]/.test(value) || value.endsWith('\\')
    ? null
    : `"${condorLiteral(value.replaceAll('\\', '\\\\').replaceAll('"', '\\"'))}"`;
}

/** The double-quoted list form of `arguments` and `environment`: `""` is `"`, `''` is `'`. */
export function condorList(words: readonly string[]): string {
  const quoted = words.map(word => {
    const doubled = word.replaceAll('"', '""');
    return /^[^\s']+$/.test(doubled)
      ? doubled
      : `'${doubled.replaceAll("'", "''")}'`;
  });
  return `"${condorLiteral(quoted.join(' '))}"`;
}
