import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { recordedMessages } from '../fixtures/recorded.js';
import { LinkError } from './errors.js';
import { FrameReader } from './framing.js';
import { decodeMessage, encodeMessage, OpaqueObject } from './messages.js';
import { raiseRemote } from './rpc.js';

const recorded = recordedMessages();

function decodeRaw(raw: Buffer): unknown {
  return decodeMessage(new FrameReader().push(raw)[0] as Buffer[]);
}

describe('recorded messages', () => {
  it.each(
    recorded
      .filter(({ decoded }) => decoded !== undefined)
      .map(
        message =>
          [
            `${message.case} ${message.version} ${message.transport} ${message.direction}`,
            message
          ] as const
      )
  )('%s are read', (_, { raw, decoded }) => {
    expect(decodeRaw(raw)).toEqual(decoded);
  });

  it('with tuples as map keys keep the whole reply', () => {
    const identities = recorded.filter(
      ({ raw, decoded }) =>
        decoded !== undefined &&
        JSON.stringify(decoded).includes('digests_total_since_heartbeat') &&
        JSON.stringify(decodeRaw(raw)).includes('[\\"execute\\"')
    );
    expect(identities.length).toBeGreaterThan(0);
  });

  it('of an error become an error with its text; the pickles stay closed', () => {
    const errors = recorded.filter(
      ({ case: name, lens }) => name.startsWith('error-') && lens.length === 5
    );
    expect(errors.length).toBeGreaterThanOrEqual(6);
    for (const { raw } of errors) {
      const reply = decodeRaw(raw) as Record<string, unknown>;
      expect(reply['exception']).toEqual(new OpaqueObject(1));
      let raised: unknown;
      try {
        raiseRemote(reply);
      } catch (error) {
        raised = error;
      }
      expect(raised).toBeInstanceOf(LinkError);
      expect((raised as LinkError).kind).toBe('remote');
      expect((raised as LinkError).message).toMatch(
        /(Key|Type|Value|Attribute|OS)?Error\(/
      );
      expect((raised as LinkError).message).not.toContain('site-packages');
      expect(String((raised as LinkError).details?.['traceback'])).toContain(
        'File'
      );
    }
  });
});

describe('what we send', () => {
  it('comes back as it was', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string().filter(key => key !== '__proto__'),
          fc.oneof(
            fc.string(),
            fc.boolean(),
            fc.maxSafeInteger(),
            fc.constant(null),
            fc.array(fc.string())
          )
        ),
        value => {
          const plain = Object.fromEntries(Object.entries(value));
          expect(decodeMessage(encodeMessage(plain))).toEqual(plain);
        }
      )
    );
  });

  it('has no key for what is undefined: nil may be a wrong argument', () => {
    expect(
      decodeMessage(encodeMessage({ op: 'identity', n_workers: undefined }))
    ).toEqual({ op: 'identity' });
  });

  it.each([
    '__Set__',
    '__Enum__',
    '__Serialized__',
    '__Pickled__',
    '__ToPickle__'
  ])(
    'never has the key %s, at any depth, which Python might unpickle',
    marker => {
      for (const value of [
        { [marker]: true },
        { value: [{ deep: { [marker]: 1 } }] }
      ]) {
        expect(() => encodeMessage(value)).toThrow(LinkError);
      }
    }
  );
});

describe('a hostile message', () => {
  it.each([
    ['no msgpack', Buffer.from('c1', 'hex')],
    ['cut off', Buffer.from('93a161', 'hex')],
    ['with bytes behind it', Buffer.from('c0c0', 'hex')],
    [
      'with the key __proto__',
      Buffer.concat([Buffer.from([0x81]), encode('__proto__'), encode(1)])
    ],
    ['that claims four billion elements', Buffer.from('ddffffffff', 'hex')],
    ['that claims four billion pairs', Buffer.from('dfffffffff', 'hex')],
    ['that is empty', Buffer.alloc(0)]
  ])('%s is a protocol error', (_, frame) => {
    expect(() => decodeMessage([frame])).toThrow(LinkError);
  });

  it('nested without end is a protocol error, not a crash', () => {
    expect(() => decodeMessage([Buffer.alloc(200_000, 0x91)])).toThrow(
      LinkError
    );
    const deep = Buffer.concat([
      Buffer.alloc(100_000, 0x91),
      Buffer.from([0xc0])
    ]);
    expect(() => decodeMessage([deep])).toThrow(LinkError);
  });

  it('with a pickle in it is never evaluated', () => {
    const pickle = Buffer.from("cos\nsystem\n(S'touch /tmp/muster-pwned'\ntR.");
    expect(
      decodeMessage([
        encode({ result: { __Pickled__: 1 } }),
        encode({}),
        pickle
      ])
    ).toEqual({ result: new OpaqueObject(1) });
  });
});
