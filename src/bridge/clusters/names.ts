/** Readable names for clusters whose user gave none: `quiet-otter`. */
const FIRST = [
  'amber',
  'bold',
  'brisk',
  'calm',
  'clear',
  'cosy',
  'crisp',
  'deep',
  'eager',
  'early',
  'fair',
  'fleet',
  'fresh',
  'gentle',
  'glad',
  'golden',
  'green',
  'happy',
  'keen',
  'kind',
  'lively',
  'lucid',
  'mellow',
  'merry',
  'mild',
  'misty',
  'noble',
  'plain',
  'quick',
  'quiet',
  'rapid',
  'ready',
  'sharp',
  'silver',
  'sleek',
  'smart',
  'snug',
  'solid',
  'sunny',
  'swift',
  'tidy',
  'vivid',
  'warm',
  'wise'
] as const;
const SECOND = [
  'badger',
  'beaver',
  'bison',
  'crane',
  'curlew',
  'deer',
  'dolphin',
  'dove',
  'eagle',
  'egret',
  'falcon',
  'finch',
  'fox',
  'gannet',
  'goose',
  'hare',
  'heron',
  'ibex',
  'jay',
  'kestrel',
  'lark',
  'linnet',
  'lynx',
  'marten',
  'mole',
  'moose',
  'newt',
  'osprey',
  'otter',
  'owl',
  'plover',
  'puffin',
  'quail',
  'raven',
  'robin',
  'seal',
  'stoat',
  'stork',
  'swan',
  'tern',
  'thrush',
  'trout',
  'vole',
  'wren'
] as const;

/**
 * A name that is not taken.
 * @param random 0 … 1, uniformly; called as often as needed.
 */
export function freeName(
  taken: ReadonlySet<string>,
  random: () => number
): string {
  const pick = (words: readonly string[]): string =>
    words[Math.floor(random() * words.length)] ?? 'cluster';
  for (let round = 0; round < 20; round += 1) {
    const name = `${pick(FIRST)}-${pick(SECOND)}`;
    if (!taken.has(name)) {
      return name;
    }
  }
  const base = `${pick(FIRST)}-${pick(SECOND)}`;
  let number = 2;
  while (taken.has(`${base}-${number}`)) {
    number += 1;
  }
  return `${base}-${number}`;
}
