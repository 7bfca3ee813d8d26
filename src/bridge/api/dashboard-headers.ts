/**
 * What a dashboard may say and hear: headers of the relay, both ways, and redirects. Pure. The
 * dashboard is untrusted (it shows what tasks were named): nothing of Jupyter's reaches it, and it
 * sets nothing on Jupyter's origin.
 */
import type { IncomingHttpHeaders } from 'node:http';

const REQUEST_HEADERS = [
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'content-length',
  'content-type',
  'if-modified-since',
  'if-none-match',
  'range',
  'user-agent'
] as const;

const UPGRADE_HEADERS = [
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version'
] as const;

const RESPONSE_HEADERS = [
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'etag',
  'expires',
  'last-modified',
  'vary'
] as const;

const UPGRADE_RESPONSE_HEADERS = [
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-protocol'
] as const;

/**
 * `sandboxed`: the page gets an opaque origin and reaches nothing of Jupyter; possible only below a
 * ticket, because such a page has no cookies. `confined`: the page shares Jupyter's origin and may
 * connect to it alone.
 */
export type Confinement = 'sandboxed' | 'confined';

const SOURCES = "'self' 'unsafe-inline' 'unsafe-eval' data: blob:";
const CONFINED = [
  `default-src ${SOURCES}`,
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'self'"
].join('; ');

export function policyHeaders(
  confinement: Confinement
): Record<string, string> {
  return {
    'content-security-policy':
      confinement === 'sandboxed'
        ? `sandbox allow-scripts allow-downloads allow-popups; ${CONFINED}`
        : CONFINED,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin'
  };
}

function pick(
  headers: IncomingHttpHeaders,
  names: readonly string[]
): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string') {
      picked[name] = value;
    }
  }
  return picked;
}

/** Towards the dashboard. Host and Origin are its own. */
export function requestHeaders(
  headers: IncomingHttpHeaders,
  authority: string
): Record<string, string> {
  return { ...pick(headers, REQUEST_HEADERS), host: authority };
}

export function upgradeHeaders(
  headers: IncomingHttpHeaders,
  authority: string
): Record<string, string> {
  return {
    ...pick(headers, UPGRADE_HEADERS),
    host: authority,
    origin: `http://${authority}`,
    connection: 'Upgrade',
    upgrade: 'websocket'
  };
}

/** Towards the browser. */
export function responseHeaders(
  headers: IncomingHttpHeaders,
  confinement: Confinement
): Record<string, string> {
  return { ...pick(headers, RESPONSE_HEADERS), ...policyHeaders(confinement) };
}

export function upgradeResponseHeaders(
  headers: IncomingHttpHeaders
): Record<string, string> {
  return {
    connection: 'Upgrade',
    upgrade: 'websocket',
    ...pick(headers, UPGRADE_RESPONSE_HEADERS)
  };
}

/** `/a/b` as seen from the page `/c/d/e`: `../../a/b`. Prefixes before them do not matter. */
export function relativePath(from: string, to: string): string {
  const depth = from.split('/').length - 2;
  return `${depth === 0 ? './' : '../'.repeat(depth)}${to.replace(/^\/+/, '')}`;
}

/**
 * A redirect of the dashboard as one that is right below any prefix, or null where it leads to
 * somebody else.
 * @param path the dashboard's own path that answered with it.
 */
export function relativeLocation(
  location: string,
  path: string,
  authority: string
): string | null {
  const base = `http://${authority}`;
  if (!URL.canParse(location, `${base}${path}`)) {
    return null;
  }
  const url = new URL(location, `${base}${path}`);
  if (
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.host !== new URL(base).host
  ) {
    return null;
  }
  return `${relativePath(path, url.pathname)}${url.search}${url.hash}`;
}
