/** The same Idempotency-Key within 24 h is the same cluster (R2); with another body it is a conflict. */
import { createHash } from 'node:crypto';
import type { ClusterId } from '../../protocol/index.js';
import { MusterError } from '../../protocol/index.js';
import type { StoreOperation } from '../store/store.js';

export const IDEMPOTENCY_MS = 24 * 3_600_000;

export type RememberedKey = {
  key: string;
  bodyHash: string;
  cluster: ClusterId;
  createdAt: string;
};

export class IdempotencyKeys<Answer> {
  load(entries: readonly RememberedKey[]): void {
    for (const entry of entries) {
      this._known.set(entry.key, entry);
    }
  }

  /**
   * The answer for this key: of the cluster made before, of the creation under way, or of a new one.
   * @param remember called by `make` with the operation that writes the key down beside the cluster.
   */
  async once(
    key: string,
    body: unknown,
    known: (cluster: ClusterId) => Answer,
    make: (
      remember: (cluster: ClusterId, createdAt: string) => StoreOperation
    ) => Promise<Answer>
  ): Promise<Answer> {
    const bodyHash = hashOf(body);
    const entry = this._known.get(key);
    if (
      entry !== undefined &&
      Date.now() - Date.parse(entry.createdAt) < IDEMPOTENCY_MS
    ) {
      sameBody(entry.bodyHash, bodyHash);
      return known(entry.cluster);
    }
    const flight = this._flights.get(key);
    if (flight !== undefined) {
      sameBody(flight.bodyHash, bodyHash);
      return flight.answer;
    }
    let made: RememberedKey | null = null;
    const answer = make((cluster, createdAt) => {
      made = { key, bodyHash, cluster, createdAt };
      return { type: 'put-idempotency', ...made };
    })
      .then(result => {
        if (made !== null) {
          this._known.set(key, made);
        }
        return result;
      })
      .finally(() => this._flights.delete(key));
    this._flights.set(key, { bodyHash, answer });
    return answer;
  }

  /** Forget keys of yesterday; returns the operation that does so in the store. */
  sweep(): StoreOperation {
    const time = new Date(Date.now() - IDEMPOTENCY_MS).toISOString();
    for (const [key, entry] of this._known) {
      if (entry.createdAt < time) {
        this._known.delete(key);
      }
    }
    return { type: 'delete-idempotency-before', time };
  }

  /** The cluster is forgotten, and its keys with it. */
  drop(cluster: ClusterId): void {
    for (const [key, entry] of this._known) {
      if (entry.cluster === cluster) {
        this._known.delete(key);
      }
    }
  }

  private readonly _known = new Map<string, RememberedKey>();
  private readonly _flights = new Map<
    string,
    { bodyHash: string; answer: Promise<Answer> }
  >();
}

function sameBody(one: string, other: string): void {
  if (one !== other) {
    throw new MusterError({
      code: 'conflict',
      message: 'this Idempotency-Key was used for another request',
      hint: 'use a new key for a new cluster'
    });
  }
}

/** The same for the same JSON, whatever the order of its keys. */
function hashOf(body: unknown): string {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) {
      return value.map(sorted);
    }
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value).sort(([a], [b]) =>
        a < b ? -1 : 1
      );
      return Object.fromEntries(
        entries.map(([key, inner]) => [key, sorted(inner)])
      );
    }
    return value;
  };
  return createHash('sha256')
    .update(JSON.stringify(sorted(body ?? null)))
    .digest('hex');
}
