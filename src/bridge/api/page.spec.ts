import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pageOf } from './page.js';

const self = (text: string) => text;

test('pages of any size, read one after the other, are the whole list once', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      (items, limit) => {
        const read: string[] = [];
        let cursor: string | undefined;
        for (;;) {
          const page = pageOf(items, self, { limit, cursor });
          read.push(...page.items);
          if (page.next === null) {
            break;
          }
          cursor = page.next;
        }
        expect(read).toEqual([...items].sort());
      }
    )
  );
});

test('what goes between two pages hides nothing, and what comes is not repeated', () => {
  const first = pageOf(['b', 'd', 'f'], self, { limit: 2 });
  expect(first.items).toEqual(['b', 'd']);
  const second = pageOf(['a', 'c', 'f', 'g'], self, {
    limit: 2,
    cursor: first.next ?? ''
  });
  expect(second).toEqual({ items: ['f', 'g'], next: null });
});

test('an empty list is one empty page', () => {
  expect(pageOf([], self, { limit: 10 })).toEqual({ items: [], next: null });
});

test.each(['', 'a b', '====', 'YQ==', '!'])(
  'the cursor %j is none of ours',
  cursor => {
    expect(() => pageOf(['a'], self, { limit: 1, cursor })).toThrow(
      expect.objectContaining({ code: 'spec-invalid', path: 'cursor' })
    );
  }
);
