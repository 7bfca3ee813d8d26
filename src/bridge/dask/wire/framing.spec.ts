import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { recordedMessages, VERSIONS } from '../fixtures/recorded.js';
import { LinkError } from './errors.js';
import { encodeFrames, FrameReader } from './framing.js';

const recorded = recordedMessages();

function prelude(...words: (number | bigint)[]): Buffer {
  const bytes = Buffer.alloc(words.length * 8);
  words.forEach((word, index) => {
    bytes.writeBigUInt64LE(BigInt(word), index * 8);
  });
  return bytes;
}

function failure(run: () => unknown): LinkError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(LinkError);
    return error as LinkError;
  }
  throw new Error('nothing was thrown');
}

describe('recorded messages', () => {
  it('are there of every version, and one has a first word shorter than the message', () => {
    for (const version of VERSIONS) {
      expect(
        recorded.filter(message => message.version === version).length
      ).toBeGreaterThan(50);
    }
    expect(
      recorded.some(
        ({ word0, bytes, lens }) => lens.length > 1 && word0 < bytes - 8
      )
    ).toBe(true);
  });

  it.each(
    recorded.map(
      message =>
        [
          `${message.case} ${message.version} ${message.transport} ${message.direction}`,
          message
        ] as const
    )
  )(
    '%s is cut by its frame lengths, whole and one byte at a time',
    (_, message) => {
      const whole = new FrameReader().push(message.raw);
      expect(whole).toHaveLength(1);
      expect(whole[0]?.map(frame => frame.length)).toEqual(message.lens);

      const reader = new FrameReader();
      const cut: Buffer[][] = [];
      let early = false;
      for (let index = 0; index < message.raw.length; index++) {
        early ||= cut.length > 0;
        cut.push(...reader.push(message.raw.subarray(index, index + 1)));
      }
      expect(early).toBe(false);
      expect(cut).toHaveLength(1);
      expect(
        cut[0]?.every((frame, index) =>
          frame.equals(whole[0]?.[index] as Buffer)
        )
      ).toBe(true);
      expect(reader.pending).toBe(0);
    }
  );

  it('of single frames are written back byte for byte', () => {
    for (const message of recorded) {
      const frames = new FrameReader().push(message.raw)[0] as Buffer[];
      const written = encodeFrames(frames);
      expect(written.subarray(8).equals(message.raw.subarray(8))).toBe(true);
      expect(written.readBigUInt64LE(0)).toBe(BigInt(message.bytes - 8));
    }
  });
});

describe('any messages', () => {
  const messages = fc.array(
    fc.array(fc.uint8Array({ maxLength: 64 }), { minLength: 1, maxLength: 5 }),
    { minLength: 1, maxLength: 6 }
  );

  it('survive any split of the stream', () => {
    fc.assert(
      fc.property(
        messages,
        fc.array(fc.nat({ max: 4000 }), { maxLength: 40 }),
        (sent, cuts) => {
          const stream = Buffer.concat(sent.map(encodeFrames));
          const places = [
            ...new Set([
              0,
              ...cuts.map(cut => cut % (stream.length + 1)),
              stream.length
            ])
          ].sort((a, b) => a - b);
          const reader = new FrameReader();
          const got = places
            .slice(1)
            .flatMap((end, index) =>
              reader.push(stream.subarray(places[index], end))
            );
          expect(got.map(frames => frames.map(frame => [...frame]))).toEqual(
            sent.map(frames => frames.map(frame => [...frame]))
          );
          expect(reader.pending).toBe(0);
        }
      ),
      { numRuns: 500 }
    );
  });

  it('are read whatever the first word says', () => {
    fc.assert(
      fc.property(
        messages,
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        (sent, word0) => {
          const reader = new FrameReader();
          for (const frames of sent) {
            const bytes = encodeFrames(frames);
            bytes.writeBigUInt64LE(word0, 0);
            expect(reader.push(bytes)).toHaveLength(1);
          }
        }
      )
    );
  });
});

describe('limits', () => {
  it.each([
    ['no frames', prelude(8, 0)],
    ['too many frames', prelude(8, 65_537)],
    ['a length beyond what numbers hold', prelude(16, 1, 2n ** 53n)],
    ['a length of 10^15', prelude(16, 1, 10n ** 15n)],
    [
      'lengths that are too much together',
      prelude(24, 2, 200 * 2 ** 20, 100 * 2 ** 20)
    ],
    ['another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    [
      'a TLS alert',
      Buffer.from('15030300020228150303000202281503030002022815', 'hex')
    ]
  ])(
    'refuse %s before the body is waited for, and end the stream',
    (_, bytes) => {
      const reader = new FrameReader();
      expect(failure(() => reader.push(bytes)).kind).toBe('protocol');
      expect(failure(() => reader.push(prelude(17, 1, 1))).kind).toBe(
        'protocol'
      );
    }
  );

  it('are kept by a message that just fits', () => {
    const reader = new FrameReader({ maxFrames: 2, maxBytes: 10 });
    const fits = encodeFrames([Buffer.alloc(4), Buffer.alloc(6)]);
    expect(reader.push(fits)).toHaveLength(1);
    expect(
      failure(() => reader.push(encodeFrames([Buffer.alloc(11)]))).message
    ).toContain('11 bytes');
  });

  it('forbid sending a message without frames', () => {
    expect(failure(() => encodeFrames([])).kind).toBe('protocol');
  });
});

it('a megabyte in small pieces is read in time proportional to it', () => {
  const bytes = encodeFrames([Buffer.alloc(1_000_000, 7)]);
  const reader = new FrameReader();
  let messages = 0;
  for (let index = 0; index < bytes.length; index += 7) {
    messages += reader.push(bytes.subarray(index, index + 7)).length;
  }
  expect(messages).toBe(1);
});
