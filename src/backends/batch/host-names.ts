/**
 * Host lists of status listings: `n[1-3,7]`, `rack[0-1]_blade[0-1]`, `n1,n2`. Only to show where a
 * job is; a text that is not such a list is kept whole as one name.
 */
const MOST = 100_000;

export function expandHosts(text: string): string[] {
  return splitOutside(text).flatMap(part => expandOne(part) ?? [part]);
}

function splitOutside(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    depth += character === '[' ? 1 : character === ']' ? -1 : 0;
    if (character === ',' && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts.map(part => part.trim()).filter(part => part !== '');
}

function expandOne(text: string): string[] | null {
  const match = /^([^[\]]*)\[([^[\]]*)\](.*)$/.exec(text);
  if (match === null) {
    return /[[\]]/.test(text) ? null : [text];
  }
  const [, head = '', ranges = '', rest = ''] = match;
  const tails = rest === '' ? [''] : expandOne(rest);
  if (tails === null) {
    return null;
  }
  const names: string[] = [];
  for (const range of ranges.split(',')) {
    const bounds = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range.trim());
    if (bounds === null) {
      return null;
    }
    const [, first = '0', last = first] = bounds;
    if (Number(last) < Number(first) || Number(last) - Number(first) > MOST) {
      return null;
    }
    for (let value = Number(first); value <= Number(last); value += 1) {
      for (const tail of tails) {
        names.push(
          `${head}${String(value).padStart(first.length, '0')}${tail}`
        );
        if (names.length > MOST) {
          return null;
        }
      }
    }
  }
  return names;
}
