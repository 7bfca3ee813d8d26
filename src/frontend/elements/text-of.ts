/** What a value of unknown make is as text: itself where it is one, else as JSON; nothing: empty. */
export function textOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'boolean':
      return String(value);
    default:
      return value === undefined || value === null ? '' : JSON.stringify(value);
  }
}
