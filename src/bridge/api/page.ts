/** Cutting a list into pages that stay right while the list changes. Pure. */
import { MusterError } from '../../protocol/index.js';
import type { Page } from '../../protocol/index.js';

export const DEFAULT_LIMIT = 1000;
export const MAXIMUM_LIMIT = 10_000;

export type PageQuery = { cursor?: string | undefined; limit: number };

/**
 * The items after the cursor, in the order of their keys. The cursor is the last key given out, not
 * a position: what comes or goes meanwhile neither repeats nor hides others.
 * @throws MusterError `spec-invalid` for a cursor that is none of ours.
 */
export function pageOf<T>(
  items: readonly T[],
  key: (item: T) => string,
  query: PageQuery
): Page<T> {
  const after = query.cursor === undefined ? null : readCursor(query.cursor);
  const keyed = items
    .map(item => ({ item, key: key(item) }))
    .filter(entry => after === null || entry.key > after)
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const cut = keyed.slice(0, query.limit);
  const last = cut.at(-1);
  return {
    items: cut.map(entry => entry.item),
    next:
      keyed.length > cut.length && last !== undefined
        ? Buffer.from(last.key, 'utf8').toString('base64url')
        : null
  };
}

function readCursor(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url');
  if (cursor === '' || key.toString('base64url') !== cursor) {
    throw new MusterError({
      code: 'spec-invalid',
      message: 'cursor: is not one this API gave out',
      path: 'cursor',
      hint: 'take it from `next` of the page before'
    });
  }
  return key.toString('utf8');
}
