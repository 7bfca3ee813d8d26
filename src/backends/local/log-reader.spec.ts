import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastLines, readLog } from './log-reader.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-log-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe('reading a log', () => {
  it('gives the same text in pieces of any size', async () => {
    const path = join(folder, 'pieces');
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary' }),
        fc.integer({ min: 1, max: 9 }),
        async (text, limit) => {
          await writeFile(path, text);
          let read = '';
          let offset = 0;
          for (;;) {
            const chunk = await readLog(path, offset, limit);
            if (chunk.text === '') {
              break;
            }
            read += chunk.text;
            offset = chunk.nextOffset;
          }
          expect(read).toBe(Buffer.from(text).toString());
        }
      ),
      { numRuns: 200 }
    );
  });

  it('reads from the end without a broken character at either side', async () => {
    const path = join(folder, 'tail');
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 1, max: 40 }),
        async (text, bytes) => {
          await writeFile(path, text);
          const tail = await readLog(path, -bytes, 1000);
          expect(text.endsWith(tail.text)).toBe(true);
          expect(Buffer.byteLength(tail.text)).toBeGreaterThan(
            Math.min(bytes, Buffer.byteLength(text)) - 4
          );
          expect(tail.nextOffset).toBe(Buffer.byteLength(text));
        }
      ),
      { numRuns: 200 }
    );
  });

  it('goes on past bytes that are no text', async () => {
    const path = join(folder, 'binary');
    await writeFile(path, Buffer.from([0x61, 0xff, 0xfe, 0x62, 0xc3, 0x28]));
    const { text, nextOffset } = await readLog(path, 0, 100);
    expect(text).toBe('a\ufffd\ufffdb\ufffd(');
    expect(nextOffset).toBe(6);
  });

  it('waits for the rest of a character that is being written', async () => {
    const path = join(folder, 'half');
    await writeFile(path, Buffer.from([0x61, 0xf0, 0x9f]));
    expect(await readLog(path, 0, 100)).toEqual({ text: 'a', nextOffset: 1 });
    await writeFile(path, 'a🐍');
    expect(await readLog(path, 1, 100)).toEqual({ text: '🐍', nextOffset: 5 });
  });

  it('takes a log that is not there yet for an empty one', async () => {
    expect(await readLog(join(folder, 'none'), 0, 100)).toEqual({
      text: '',
      nextOffset: 0
    });
  });

  it('does not follow a link', async () => {
    await symlink('/etc/passwd', join(folder, 'link'));
    await expect(readLog(join(folder, 'link'), 0, 100)).rejects.toThrow(
      'ELOOP'
    );
  });

  it('cuts the last lines', () => {
    expect(lastLines('a\nb\nc\n', 2)).toBe('b\nc');
    expect(lastLines('', 2)).toBe('');
  });
});
