/**
 * Messages inside frames (distributed/protocol/core.py, serialize.py): frame 0 is msgpack, further
 * frames hold payloads of wrapped objects, which stay opaque: nothing is ever unpickled, and no map
 * that would make Python unpickle is ever sent (H4, S24).
 */
import { decode, encode } from '@msgpack/msgpack';
import { LinkError } from './errors.js';

/** A wrapped Python object in a message, kept closed. */
export class OpaqueObject {
  /** @param frame index of its sub-header frame, which is dropped unread. */
  constructor(readonly frame: number) {}
}

const MARKERS = [
  '__Set__',
  '__Enum__',
  '__Serialized__',
  '__Pickled__',
  '__ToPickle__'
] as const;

export type PlainMap = Record<string, unknown>;

/** A map of a message; not an array, Set, byte string or opaque object. */
export function isMap(value: unknown): value is PlainMap {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype
  );
}

/**
 * One message as its frames.
 * @throws LinkError `protocol` for a map that carries a marker of Dask's serializer.
 */
export function encodeMessage(message: unknown): Uint8Array[] {
  refuseMarkers(message);
  return [encode(message, { ignoreUndefined: true })];
}

/**
 * The value of frame 0: sets become `Set`, enums their name, wrapped objects `OpaqueObject`; map
 * keys that are no text or number (tuples) become their JSON text.
 * @throws LinkError `protocol` for anything that is no msgpack.
 */
export function decodeMessage(frames: readonly Uint8Array[]): unknown {
  const frame = frames[0];
  if (frame === undefined) {
    throw new LinkError({
      kind: 'protocol',
      message: 'The scheduler sent a message without frames'
    });
  }
  try {
    return openMarkers(
      decode(frame, {
        mapKeyConverter,
        // Every element takes at least one byte: a larger claim is a lie that would cost memory.
        maxArrayLength: frame.byteLength,
        maxMapLength: frame.byteLength
      })
    );
  } catch (error) {
    throw new LinkError({
      kind: 'protocol',
      message: `The scheduler sent a message that cannot be read: ${textOf(error)}`,
      cause: error
    });
  }
}

/** `identity` has maps with array keys; the library would throw the whole reply away (H3). */
function mapKeyConverter(key: unknown): string | number {
  return typeof key === 'string' || typeof key === 'number'
    ? key
    : JSON.stringify(key, (_, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value
      );
}

function openMarkers(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(openMarkers);
  }
  if (!isMap(value)) {
    return value;
  }
  if (value['__Set__'] === true && Array.isArray(value['as-list'])) {
    return new Set(value['as-list'].map(openMarkers));
  }
  if (value['__Enum__'] === true && typeof value['name'] === 'string') {
    return value['name'];
  }
  const frame = value['__Serialized__'] ?? value['__Pickled__'];
  if (typeof frame === 'number') {
    return new OpaqueObject(frame);
  }
  for (const key of Object.keys(value)) {
    value[key] = openMarkers(value[key]);
  }
  return value;
}

function refuseMarkers(value: unknown): void {
  if (Array.isArray(value)) {
    value.forEach(refuseMarkers);
  } else if (
    typeof value === 'object' &&
    value !== null &&
    !ArrayBuffer.isView(value)
  ) {
    for (const marker of MARKERS) {
      if (Object.hasOwn(value, marker)) {
        throw new LinkError({
          kind: 'protocol',
          message: `A value with the key ${marker} is not sent: the scheduler would unpickle it`
        });
      }
    }
    Object.values(value).forEach(refuseMarkers);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
