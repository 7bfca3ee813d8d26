/** Reads logs by byte offset without ever cutting a character in two. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { LogChunk } from '../resource-manager.js';

const SHORTEST_READ = 4;

/**
 * @param offset in bytes; negative: so many bytes before the end.
 * @param limit bytes at most. A missing file reads as empty: the process has not written yet.
 */
export async function readLog(
  path: string,
  offset: number,
  limit: number
): Promise<LogChunk> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return { text: '', nextOffset: 0 };
    }
    throw error;
  }
  try {
    const { size } = await file.stat();
    const start = Math.min(
      offset < 0 ? Math.max(0, size + offset) : offset,
      size
    );
    const bytes = Buffer.alloc(
      Math.min(Math.max(limit, SHORTEST_READ), size - start)
    );
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(
        bytes,
        filled,
        bytes.length - filled,
        start + filled
      );
      if (bytesRead === 0) {
        break;
      }
      filled += bytesRead;
    }
    const from = offset < 0 && start > 0 ? charactersFrom(bytes) : 0;
    const to = charactersTo(bytes.subarray(0, filled));
    return {
      text: bytes.subarray(from, Math.max(from, to)).toString('utf8'),
      nextOffset: start + Math.max(from, to)
    };
  } finally {
    await file.close();
  }
}

/** The last lines of a text. */
export function lastLines(text: string, count: number): string {
  const lines = text.replace(/\n$/, '').split('\n');
  return lines.slice(-count).join('\n');
}

/** Skip the tail of a character that began before the first byte. */
function charactersFrom(bytes: Buffer): number {
  let from = 0;
  while (from < 3 && from < bytes.length && isContinuation(bytes[from])) {
    from++;
  }
  return from;
}

/** Stop before a character whose last bytes are not here; invalid bytes stay and show as U+FFFD. */
function charactersTo(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) {
      continue;
    }
    return back < lengthOf(byte) ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function lengthOf(lead: number): number {
  if (lead >= 0xf0 && lead < 0xf8) {
    return 4;
  }
  if (lead >= 0xe0) {
    return lead < 0xf0 ? 3 : 1;
  }
  return lead >= 0xc0 ? 2 : 1;
}
