/** What a reader makes of one job's entry: text by name, nested names joined by dots. */
export type TextRecord = Readonly<Record<string, string>>;

/** A tree (of JSON, YAML) as one level of texts; lists of plain values are joined by commas. */
export function flatten(
  value: unknown,
  prefix = '',
  into: Record<string, string> = {}
): Record<string, string> {
  if (Array.isArray(value)) {
    if (value.every(one => one === null || typeof one !== 'object')) {
      into[prefix] = value.map(text).join(',');
    } else {
      value.forEach((one, at) => flatten(one, `${prefix}.${at}`, into));
    }
  } else if (isOptionalNumber(value)) {
    // Slurm 23 and later: a number nobody set stands there as 0, one without a bound too.
    if (value.infinite || value.set) {
      into[prefix] = value.infinite ? 'infinite' : text(value.number);
      into[`${prefix}.number`] = into[prefix];
    }
  } else if (value !== null && typeof value === 'object') {
    for (const [key, one] of Object.entries(value)) {
      flatten(one, prefix === '' ? key : `${prefix}.${key}`, into);
    }
  } else if (value !== null && value !== undefined && prefix !== '') {
    into[prefix] = text(value);
  }
  return into;
}

type OptionalNumber = { set: boolean; infinite: boolean; number: unknown };

function isOptionalNumber(value: unknown): value is OptionalNumber {
  return (
    value !== null &&
    typeof value === 'object' &&
    'number' in value &&
    'set' in value &&
    typeof value.set === 'boolean' &&
    'infinite' in value &&
    typeof value.infinite === 'boolean'
  );
}

function text(value: unknown): string {
  return typeof value === 'string'
    ? value
    : value === null || value === undefined
      ? ''
      : typeof value === 'object'
        ? JSON.stringify(value)
        : `${value as number | boolean | bigint}`;
}
