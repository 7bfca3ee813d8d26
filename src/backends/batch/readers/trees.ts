/** Answers that are trees: JSON, YAML, XML. Each gives flat records; a bad text gives null. */
import { parseDocument } from 'yaml';
import { flatten, type TextRecord } from './record.js';

/**
 * Records of a JSON text. Integers too long for a double (Flux job ids) keep their digits. Several
 * documents may follow each other (HTCondor and OAR print such).
 */
export function readJson(
  text: string,
  at: readonly string[],
  keyAs: string | undefined
): TextRecord[] | null {
  if (text.trim() === '') {
    return [];
  }
  const tree = parsedBehindBanner(text);
  return tree === undefined ? null : records(tree, at, keyAs);
}

/**
 * Sites greet on stdout, and tools warn there: the document may begin on a later line, but always
 * runs to the end of the text. undefined: there is none.
 */
function parsedBehindBanner(text: string): unknown {
  let tries = 0;
  for (const begin of text.matchAll(/^[ \t]*[{[]/gm)) {
    try {
      return JSON.parse(text.slice(begin.index), keepDigits) as unknown;
    } catch {
      tries += 1;
      if (tries === 20) {
        break;
      }
    }
  }
  return undefined;
}

function keepDigits(
  this: unknown,
  _key: string,
  value: unknown,
  context?: { source?: string }
): unknown {
  return typeof value === 'number' &&
    !Number.isSafeInteger(value) &&
    context?.source !== undefined &&
    /^-?\d+$/.test(context.source)
    ? context.source
    : value;
}

export function readYaml(
  text: string,
  at: readonly string[],
  keyAs: string | undefined
): TextRecord[] | null {
  try {
    const document = parseDocument(text, { strict: false, logLevel: 'silent' });
    return document.errors.length > 0
      ? null
      : records(document.toJS() as unknown, at, keyAs);
  } catch {
    return null;
  }
}

function records(
  tree: unknown,
  at: readonly string[],
  keyAs: string | undefined
): TextRecord[] | null {
  let node: unknown = tree;
  for (const [depth, key] of at.entries()) {
    if (node === null || typeof node !== 'object') {
      return null;
    }
    if (!Object.hasOwn(node, key)) {
      // One job alone is the bare object (flux jobs --json ID); a listing without the key has none.
      return depth === 0 && Object.hasOwn(node, 'id') ? [flatten(node)] : [];
    }
    node = (node as Record<string, unknown>)[key];
  }
  if (Array.isArray(node)) {
    return node.every(isObject) ? node.map(one => flatten(one)) : null;
  }
  if (!isObject(node)) {
    return null;
  }
  if (keyAs === undefined) {
    return [flatten(node)];
  }
  return Object.entries(node).map(([key, one]) =>
    isObject(one)
      ? { ...flatten(one), [keyAs]: key }
      : { [keyAs]: key, value: String(one) }
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

type Element = {
  name: string;
  attributes: Record<string, string>;
  children: Element[];
  text: string;
};

/**
 * Elements of these names as records: children by dotted name, attributes as `@name`. Reads what
 * batch systems write (no namespaces, no processing of entities beyond the five and numbers).
 */
export function readXml(
  text: string,
  names: readonly string[]
): TextRecord[] | null {
  const root = parseXml(text);
  if (root === null) {
    return null;
  }
  const found: TextRecord[] = [];
  const walk = (element: Element, parent: string): void => {
    if (
      names.includes(element.name) ||
      names.includes(`${parent}/${element.name}`)
    ) {
      found.push(record(element));
    } else {
      element.children.forEach(child => {
        walk(child, element.name);
      });
    }
  };
  walk(root, '');
  return found;
}

function record(element: Element): TextRecord {
  const into: Record<string, string> = {};
  const put = (key: string, value: string): void => {
    if (!Object.hasOwn(into, key)) {
      into[key] = value;
    }
  };
  const walk = (one: Element, prefix: string): void => {
    for (const [name, value] of Object.entries(one.attributes)) {
      put(`${prefix}@${name}`, value);
    }
    for (const child of one.children) {
      // `<item key="state">`, `<a n="JobStatus"><i>2</i></a>`: the attribute is the name.
      const { key: named, n } = child.attributes;
      const key = `${prefix}${named ?? n ?? child.name}`;
      const [only] = child.children;
      if (child.children.length === 0) {
        put(key, child.text);
      } else if (n !== undefined && only?.children.length === 0) {
        put(key, only.text);
      }
      walk(child, `${key}.`);
    }
  };
  walk(element, '');
  return into;
}

function parseXml(text: string): Element | null {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open: Element[] = [root];
  const token =
    /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<\?[\s\S]*?\?>|<![^>]*>|<\/([^\s>]+)\s*>|<([^\s/>!?]+)((?:\s+[^\s=>/]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>|([^<]+)/gy;
  let at = 0;
  while (at < text.length) {
    token.lastIndex = at;
    const match = token.exec(text);
    const top = open[open.length - 1];
    if (match === null || top === undefined) {
      return null;
    }
    at = token.lastIndex;
    const [, cdata, close, name, attributes = '', alone, words] = match;
    if (cdata !== undefined) {
      top.text += cdata;
    } else if (words !== undefined) {
      top.text += entities(words);
    } else if (close !== undefined) {
      if (open.length < 2 || top.name !== close) {
        return null;
      }
      open.pop();
    } else if (name !== undefined) {
      const element: Element = {
        name,
        attributes: readAttributes(attributes),
        children: [],
        text: ''
      };
      top.children.push(element);
      if (alone !== '/') {
        open.push(element);
      }
    }
  }
  return open.length === 1 && root.children.length > 0 ? root : null;
}

function readAttributes(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(
      ([, name = '', double, single]) => [
        name,
        entities(double ?? single ?? '')
      ]
    )
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'"
};

function entities(text: string): string {
  return text.replace(/&(#x?[0-9a-fA-F]+|\w+);/g, (whole, name: string) => {
    if (name.startsWith('#')) {
      const code = name.startsWith('#x')
        ? Number.parseInt(name.slice(2), 16)
        : Number.parseInt(name.slice(1), 10);
      return Number.isInteger(code) && code > 0 && code <= 0x10ffff
        ? String.fromCodePoint(code)
        : whole;
    }
    return ENTITIES[name] ?? whole;
  });
}
