/**
 * Dask's framing over tcp and tls, as pure bytes (distributed/comm/tcp.py, protocol/utils.py):
 *
 *     word0 | nframes | len[0] .. len[nframes-1] | frame0 | frame1 | ...
 *
 * All integers are unsigned 64-bit little-endian. `word0` is ignored when reading, because its
 * meaning changed in 2023.11.0 (distributed#8308), and is the exact number of bytes that follow it
 * when writing, because the peer does use ours.
 */
import { LinkError } from './errors.js';

/** Of one message. */
export type FrameLimits = { maxFrames: number; maxBytes: number };

export const FRAME_LIMITS: FrameLimits = {
  maxFrames: 65_536,
  maxBytes: 256 * 1024 * 1024
};

const WORD = 8;

/** One message on the wire. Empty frames are legal, a message without frames is not. */
export function encodeFrames(frames: readonly Uint8Array[]): Buffer {
  if (frames.length === 0) {
    throw new LinkError({
      kind: 'protocol',
      message: 'A message needs at least one frame'
    });
  }
  const body = frames.reduce((sum, frame) => sum + frame.byteLength, 0);
  const prelude = Buffer.alloc((2 + frames.length) * WORD);
  prelude.writeBigUInt64LE(BigInt(prelude.length - WORD + body), 0);
  prelude.writeBigUInt64LE(BigInt(frames.length), WORD);
  frames.forEach((frame, index) => {
    prelude.writeBigUInt64LE(BigInt(frame.byteLength), (2 + index) * WORD);
  });
  return Buffer.concat([prelude, ...frames], prelude.length + body);
}

type Phase =
  | { name: 'head' }
  | { name: 'lengths'; count: number }
  | { name: 'body'; lengths: number[] };

/**
 * Cuts a byte stream into messages; any split of the stream, also inside an integer, gives the
 * same messages. After a violated limit the reader is dead: the stream cannot be aligned again.
 */
export class FrameReader {
  constructor(limits: FrameLimits = FRAME_LIMITS) {
    this._limits = limits;
  }

  /**
   * Takes the next bytes, returns the messages completed by them.
   * @throws LinkError `protocol` on a violated limit.
   */
  push(chunk: Uint8Array): Buffer[][] {
    if (this._dead) {
      throw this._violation('the stream was given up before');
    }
    if (chunk.byteLength > 0) {
      this._chunks.push(
        Buffer.isBuffer(chunk)
          ? chunk
          : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      );
      this._available += chunk.byteLength;
    }
    const messages: Buffer[][] = [];
    while (this._available >= this._needed) {
      const message = this._advance(this._take(this._needed));
      if (message !== null) {
        messages.push(message);
      }
    }
    return messages;
  }

  /** Bytes of an unfinished message that are waiting. */
  get pending(): number {
    return this._available + (this._phase.name === 'head' ? 0 : 1);
  }

  private _advance(bytes: Buffer): Buffer[] | null {
    switch (this._phase.name) {
      case 'head': {
        const count = this._readWord(bytes, WORD);
        if (count === 0) {
          throw this._violation('a message without frames');
        }
        if (count > this._limits.maxFrames) {
          throw this._violation(
            `${count} frames, more than ${this._limits.maxFrames}`
          );
        }
        this._phase = { name: 'lengths', count };
        this._needed = count * WORD;
        return null;
      }
      case 'lengths': {
        const lengths: number[] = [];
        let total = 0;
        for (let index = 0; index < this._phase.count; index++) {
          const length = this._readWord(bytes, index * WORD);
          total += length;
          if (total > this._limits.maxBytes) {
            throw this._violation(
              `a message of at least ${total} bytes, more than ${this._limits.maxBytes}`
            );
          }
          lengths.push(length);
        }
        this._phase = { name: 'body', lengths };
        this._needed = total;
        return null;
      }
      case 'body': {
        let offset = 0;
        const frames = this._phase.lengths.map(length => {
          const frame = bytes.subarray(offset, offset + length);
          offset += length;
          return frame;
        });
        this._phase = { name: 'head' };
        this._needed = 2 * WORD;
        return frames;
      }
    }
  }

  private _readWord(bytes: Buffer, offset: number): number {
    const word = bytes.readBigUInt64LE(offset);
    if (word > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw this._violation(`a length of ${word}`);
    }
    return Number(word);
  }

  private _take(count: number): Buffer {
    this._available -= count;
    const taken: Buffer[] = [];
    let missing = count;
    while (missing > 0) {
      const first = this._chunks[this._head] as Buffer;
      if (first.length <= missing) {
        taken.push(first);
        missing -= first.length;
        this._head += 1;
      } else {
        taken.push(first.subarray(0, missing));
        this._chunks[this._head] = first.subarray(missing);
        missing = 0;
      }
    }
    // Chunks are dropped in bulk: shifting one by one costs a move of all the others each time.
    if (this._head === this._chunks.length) {
      this._chunks = [];
      this._head = 0;
    } else if (this._head > 1024) {
      this._chunks = this._chunks.slice(this._head);
      this._head = 0;
    }
    return taken.length === 1 ? (taken[0] as Buffer) : Buffer.concat(taken);
  }

  private _violation(what: string): LinkError {
    this._dead = true;
    this._chunks = [];
    return new LinkError({
      kind: 'protocol',
      message: `The peer sent ${what}: it does not speak Dask's protocol, or its scheme is another`
    });
  }

  private readonly _limits: FrameLimits;
  private _phase: Phase = { name: 'head' };
  private _needed = 2 * WORD;
  private _chunks: Buffer[] = [];
  private _head = 0;
  private _available = 0;
  private _dead = false;
}
