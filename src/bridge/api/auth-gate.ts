/**
 * The one gate for requests and WebSocket upgrades: deny by default (reliability-and-security.md
 * B2, S4, S6, S7). Pure: facts of a request in, a refusal or nothing out.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { MusterError } from '../../protocol/index.js';

export type GatePolicy = {
  /** The bearer secret of bridge.json. */
  secret: string;
  /**
   * Names a Host header may carry, without port. On the socket there is no name of ours; clients
   * write one of these. A foreign name there is a sign of DNS rebinding through some relay.
   */
  hosts: ReadonlySet<string>;
};

/** What HTTP clients write as Host when they speak over a unix socket. */
export const SOCKET_HOSTS: ReadonlySet<string> = new Set([
  'bridge',
  'muster',
  'localhost',
  '127.0.0.1',
  '[::1]'
]);

/** Comparison in constant time, also for different lengths. */
export function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function hostName(host: string): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host);
  return match?.[1]?.toLowerCase() ?? null;
}

/** `http://localhost:80` → `localhost:80`; null for `null` and anything that is not a web origin. */
function originHost(origin: string): string | null {
  const match = /^https?:\/\/([^/?#@\s]+)$/i.exec(origin);
  return match?.[1]?.toLowerCase() ?? null;
}

/**
 * Why this request is refused, or null. Order: where it comes from (403) before who it is (401), so
 * that a foreign page learns nothing about its guess of the secret.
 */
export function refusal(
  headers: IncomingHttpHeaders,
  policy: GatePolicy
): MusterError | null {
  const host = headers.host ?? '';
  const name = hostName(host);
  if (name === null || !policy.hosts.has(name)) {
    return new MusterError({
      code: 'forbidden',
      message: 'this Host name is not one of the bridge'
    });
  }
  const { origin } = headers;
  if (origin !== undefined && originHost(origin) !== host.toLowerCase()) {
    return new MusterError({
      code: 'forbidden',
      message: 'requests from other origins are refused'
    });
  }
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    return new MusterError({
      code: 'forbidden',
      message: 'requests from other sites are refused'
    });
  }
  const bearer = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(
    headers.authorization ?? ''
  )?.[1];
  if (bearer === undefined) {
    return new MusterError({
      code: 'unauthorized',
      message: 'a bearer token is needed: Authorization: Bearer <secret>',
      hint: 'the secret is in bridge.json of the runtime folder'
    });
  }
  if (!sameSecret(bearer, policy.secret)) {
    return new MusterError({
      code: 'unauthorized',
      message: 'this bearer token is not the one of the running bridge',
      hint: 'the bridge makes a new one at every start; read bridge.json again'
    });
  }
  return null;
}
