/** From a backend's JSON Schema to the fields of a form. Pure. */
import { textOf } from '../../elements/text-of.js';

export type OptionField = {
  name: string;
  title: string;
  description: string;
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'lines' | 'json';
  choices: { value: unknown; label: string }[];
  isRequired: boolean;
  /** Shown at once; the rest is folded under "More". */
  isCommon: boolean;
  placeholder: string;
};

type Schema = Record<string, unknown>;

/** What nearly everybody sets, under whatever backend; a schema may say `x-common` itself. */
const COMMON = new Set([
  'queue',
  'partition',
  'account',
  'project',
  'walltime',
  'hosts',
  'namespace',
  'image',
  'context'
]);

/** `$ref`s into the document's own `$defs`, and `anyOf [x, null]`, as what they mean. */
function resolved(schema: Schema, root: Schema): Schema {
  const reference = schema['$ref'];
  if (typeof reference === 'string' && reference.startsWith('#/')) {
    let at: unknown = root;
    for (const part of reference.slice(2).split('/')) {
      at = (at as Schema | undefined)?.[part];
    }
    return at === undefined ? schema : resolved(at as Schema, root);
  }
  const options = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined;
  if (options !== undefined) {
    const real = options.filter(one => one['type'] !== 'null');
    const only = real[0];
    if (real.length === 1 && only !== undefined) {
      return {
        ...schema,
        ...resolved(only, root),
        anyOf: undefined,
        oneOf: undefined
      };
    }
  }
  return schema;
}

function choicesOf(schema: Schema): OptionField['choices'] {
  const values = schema['enum'] as unknown[] | undefined;
  if (values !== undefined) {
    return values
      .filter(value => value !== null)
      .map(value => ({ value, label: textOf(value) }));
  }
  const options = (schema['oneOf'] ?? schema['anyOf']) as Schema[] | undefined;
  if (options?.every(one => 'const' in one) === true) {
    return options.map(one => ({
      value: one['const'],
      label: textOf(one['title'] ?? one['const'])
    }));
  }
  return [];
}

function kindOf(schema: Schema): OptionField['kind'] {
  if (choicesOf(schema).length > 0) {
    return 'choice';
  }
  const types = Array.isArray(schema['type'])
    ? (schema['type'] as string[]).filter(type => type !== 'null')
    : [schema['type']];
  if (types.length === 1) {
    switch (types[0]) {
      case 'string':
        return 'text';
      case 'integer':
      case 'number':
        return 'number';
      case 'boolean':
        return 'boolean';
      case 'array': {
        const items = schema['items'] as Schema | undefined;
        return items?.['type'] === 'string' ? 'lines' : 'json';
      }
      case 'object':
        return 'json';
    }
  }
  const options = schema['anyOf'] as Schema[] | undefined;
  // A size or a duration: text or number. As text it can say both.
  const isText = (options ?? types.map(type => ({ type }))).some(
    one => one['type'] === 'string'
  );
  return isText ? 'text' : 'json';
}

/** `nativeLines` → `Native lines`. */
function humanised(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function optionFields(
  specSchema: Record<string, unknown>
): OptionField[] {
  const properties = (specSchema['properties'] ?? {}) as Record<string, Schema>;
  const required = new Set((specSchema['required'] ?? []) as string[]);
  const fields = Object.entries(properties).map(([name, raw]): OptionField => {
    const schema = resolved(raw, specSchema);
    const fallback = schema['default'];
    const example = (schema['examples'] as unknown[] | undefined)?.[0];
    return {
      name,
      title: textOf(schema['title'] ?? humanised(name)),
      description: textOf(schema['description']),
      kind: kindOf(schema),
      choices: choicesOf(schema),
      isRequired: required.has(name) && fallback === undefined,
      isCommon: schema['x-common'] === true || COMMON.has(name),
      placeholder:
        fallback !== undefined &&
        fallback !== null &&
        typeof fallback !== 'object'
          ? textOf(fallback)
          : example !== undefined && typeof example !== 'object'
            ? textOf(example)
            : ''
    };
  });
  const rank = (field: OptionField): number =>
    field.isRequired ? 0 : field.isCommon ? 1 : 2;
  return fields
    .map((field, index) => ({ field, index }))
    .sort((a, b) => rank(a.field) - rank(b.field) || a.index - b.index)
    .map(({ field }) => field);
}
