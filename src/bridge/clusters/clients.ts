/**
 * The Jupyter servers that say they are here. A lapse or goodbye matters only to clusters that
 * were made through that server and shall stop with it; a server that is back at the same base URL
 * within the grace time takes them over.
 */
import type { ClientRegistration, Kernelspec } from '../../protocol/index.js';

export const LAPSE_MS = 60_000;
export const GRACE_MS = 60_000;

type Client = {
  registration: ClientRegistration;
  seenAt: number;
  goneAt: number | null;
};

export class ClientRegistry {
  /** @param clock monotonic milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this._clock = clock;
    this._startedAt = clock();
  }

  put(id: string, registration: ClientRegistration): void {
    this._clients.set(id, {
      registration,
      seenAt: this._clock(),
      goneAt: null
    });
  }

  /** Goodbye: gone as of now. */
  delete(id: string): void {
    const client = this._clients.get(id);
    if (client !== undefined) {
      client.goneAt ??= this._clock();
    }
  }

  /** Clients that are here. */
  get present(): number {
    const now = this._clock();
    return [...this._clients.values()].filter(
      client => goneSince(client, now) === null
    ).length;
  }

  baseUrlOf(id: string): string | null {
    return this._clients.get(id)?.registration.baseUrl ?? null;
  }

  /** Of all clients here, newest registration first; for resolving names. */
  get kernelspecs(): Kernelspec[] {
    const seen = new Map<string, Kernelspec>();
    for (const client of [...this._clients.values()].sort(
      (a, b) => b.seenAt - a.seenAt
    )) {
      for (const spec of client.registration.kernelspecs) {
        if (!seen.has(spec.name)) {
          seen.set(spec.name, spec);
        }
      }
    }
    return [...seen.values()];
  }

  /** Variables that go stale in a daemon, from the client seen last. */
  get environment(): Record<string, string> {
    const newest = [...this._clients.values()].sort(
      (a, b) => b.seenAt - a.seenAt
    )[0];
    return newest?.registration.environment ?? {};
  }

  /**
   * How long ago the server that made a cluster went away, in milliseconds; null: it is here, or a
   * server at the same base URL took its place (then `heir` names it). A server not heard of since
   * the bridge started counts as here until the lapse time is over.
   */
  absence(owner: { id: string; baseUrl: string }): {
    goneForMs: number | null;
    heir: string | null;
  } {
    const now = this._clock();
    const client = this._clients.get(owner.id);
    const gone =
      client === undefined
        ? this._startedAt + LAPSE_MS
        : goneSince(client, now);
    if (gone === null || gone > now) {
      return { goneForMs: null, heir: null };
    }
    for (const [id, other] of this._clients) {
      if (
        id !== owner.id &&
        other.registration.baseUrl === owner.baseUrl &&
        goneSince(other, now) === null
      ) {
        return { goneForMs: null, heir: id };
      }
    }
    return { goneForMs: now - gone, heir: null };
  }

  /** Forget clients gone for long. */
  sweep(): void {
    const now = this._clock();
    for (const [id, client] of this._clients) {
      const gone = goneSince(client, now);
      if (gone !== null && now - gone > 10 * GRACE_MS) {
        this._clients.delete(id);
      }
    }
  }

  private readonly _clock: () => number;
  private readonly _startedAt: number;
  private readonly _clients = new Map<string, Client>();
}

function goneSince(client: Client, now: number): number | null {
  if (client.goneAt !== null) {
    return client.goneAt;
  }
  return now - client.seenAt > LAPSE_MS ? client.seenAt + LAPSE_MS : null;
}
