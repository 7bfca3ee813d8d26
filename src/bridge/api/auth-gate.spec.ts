import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import { errorBodySchema } from '../../protocol/index.js';
import { API_PREFIX } from './app.js';
import { sameSecret } from './auth-gate.js';
import { DASHBOARD_METHODS } from './dashboard-routes.js';
import { apiFixture, SECRET } from './fixtures/api-fixture.js';
import type { ApiFixture } from './fixtures/api-fixture.js';
import { ROUTES } from './routes.js';

/** Everything that may be asked of the bridge; the last test holds it against what fastify has. */
const MATRIX = [
  ...ROUTES.map(route => ({
    method: route.method,
    url: `${API_PREFIX}${route.path}`
  })),
  ...DASHBOARD_METHODS.map(method => ({
    method: method,
    url: '/dashboards/*'
  }))
];

const UPGRADES = [
  `${API_PREFIX}events`,
  '/dashboards/k3v9qx7m2d8tn4ra/status/ws',
  '/anything'
];

const TOKENS = [
  ['no token', {}],
  ['an empty token', { authorization: 'Bearer ' }],
  ['a wrong token', { authorization: `Bearer ${'00'.repeat(32)}` }],
  [
    'the token of an earlier start',
    { authorization: `Bearer ${SECRET.slice(0, -1)}f` }
  ],
  ['the right token in the wrong scheme', { authorization: `Basic ${SECRET}` }],
  ['the token as a cookie', { cookie: `token=${SECRET}` }],
  ['a cut token', { authorization: `Bearer ${SECRET.slice(0, 32)}` }]
] as [string, Record<string, string>][];

const right = { authorization: `Bearer ${SECRET}` };

const FOREIGN = [
  ['an address as Host', { ...right, host: '0.0.0.0' }],
  ['the Host of a rebound name', { ...right, host: 'evil.example' }],
  [
    'a Host that only begins like ours',
    { ...right, host: 'localhost.evil.example' }
  ],
  ['a Host with a user part', { ...right, host: 'bridge@evil.example' }],
  [
    'a foreign Origin',
    { ...right, host: 'bridge', origin: 'https://evil.example' }
  ],
  [
    'the Origin of a sandboxed page',
    { ...right, host: 'bridge', origin: 'null' }
  ],
  [
    'an Origin on another port',
    { ...right, host: 'localhost:80', origin: 'http://localhost:81' }
  ],
  [
    'a cross-site fetch',
    { ...right, host: 'bridge', 'sec-fetch-site': 'cross-site' }
  ],
  [
    'a same-site fetch',
    { ...right, host: 'bridge', 'sec-fetch-site': 'same-site' }
  ]
] as [string, Record<string, string>][];

let api: ApiFixture;
let socketPath: string;

beforeAll(async () => {
  api = await apiFixture();
  socketPath = await api.listen();
});

afterAll(async () => {
  await api.close();
});

type Answer = { status: number; body: string };

function ask(options: {
  method: string;
  path: string;
  headers: Record<string, string>;
}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        socketPath,
        ...options,
        headers: { host: 'bridge', ...options.headers }
      },
      answer => {
        let body = '';
        answer.on('data', (part: Buffer) => (body += part.toString()));
        answer.on('end', () => {
          resolve({ status: answer.statusCode ?? 0, body });
        });
      }
    );
    sent.on('upgrade', (answer, socket) => {
      socket.destroy();
      resolve({ status: answer.statusCode ?? 0, body: '' });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** The bucket refills 100 a second; the matrix asks more than its burst. */
async function askGently(options: Parameters<typeof ask>[0]): Promise<Answer> {
  for (;;) {
    const answer = await ask(options);
    if (answer.status !== 429) {
      return answer;
    }
    await new Promise(resolve => setTimeout(resolve, 300));
  }
}

const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ=='
};

describe('the gate (S4, S6, S7)', () => {
  describe.each(TOKENS)('with %s', (_, headers) => {
    test.each(MATRIX)('$method $url is 401', async ({ method, url }) => {
      const answer = await askGently({ method, path: url, headers });
      expect(answer.status).toBe(401);
      if (method !== 'HEAD') {
        expect(errorBodySchema.parse(JSON.parse(answer.body)).error.code).toBe(
          'unauthorized'
        );
        expect(answer.body).not.toContain(SECRET);
      }
    });

    test.each(UPGRADES)('no WebSocket opens at %s', async path => {
      const answer = await askGently({
        method: 'GET',
        path,
        headers: { ...upgrade, ...headers }
      });
      expect(answer.status).toBe(401);
      expect(errorBodySchema.parse(JSON.parse(answer.body)).error.code).toBe(
        'unauthorized'
      );
    });
  });

  describe.each(FOREIGN)('with the right token but %s', (_, headers) => {
    test.each(MATRIX)('$method $url is 403', async ({ method, url }) => {
      const answer = await askGently({ method, path: url, headers });
      expect(answer.status).toBe(403);
    });

    test.each(UPGRADES)('no WebSocket opens at %s', async path => {
      const answer = await askGently({
        method: 'GET',
        path,
        headers: { ...upgrade, ...headers }
      });
      expect(answer.status).toBe(403);
    });
  });

  test.each([
    ['bridge', undefined],
    ['localhost', undefined],
    ['LOCALHOST:8080', 'http://localhost:8080'],
    ['[::1]:80', 'http://[::1]:80'],
    ['127.0.0.1', undefined]
  ])(
    'our own Host %s with Origin %s and the token passes',
    async (host, origin) => {
      const answer = await askGently({
        method: 'GET',
        path: '/api/v1/health',
        headers: {
          ...right,
          host,
          'sec-fetch-site': 'same-origin',
          ...(origin === undefined ? {} : { origin })
        }
      });
      expect(answer.status).toBe(200);
    }
  );

  test('nothing a stranger asked reached the clusters', () => {
    expect(api.service.calls.filter(call => call.method !== 'list')).toEqual(
      []
    );
  });

  test('a WebSocket opens only where there is one, also with the token', async () => {
    const answer = await askGently({
      method: 'GET',
      path: '/api/v1/clusters',
      headers: { ...upgrade, ...right }
    });
    expect(answer.status).toBe(404);
    const open = await askGently({
      method: 'GET',
      path: '/api/v1/events',
      headers: { ...upgrade, ...right }
    });
    expect(open.status).toBe(101);
  });

  test('every route that fastify really has is in this matrix and in the document', async () => {
    const answer = await askGently({
      method: 'GET',
      path: '/api/v1/openapi.json',
      headers: right
    });
    const { paths } = JSON.parse(answer.body) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        method =>
          `${method.toUpperCase()} ${path.replace(/\{([a-z]+)\}/g, ':$1')}`
      )
    );
    const served = servedRoutes();
    expect(served.length).toBeGreaterThan(30);
    for (const route of served) {
      const [method = '', url = ''] = route.split(' ');
      expect(api.server.app.hasRoute({ method: method, url })).toBe(true);
    }
    expect(served).toEqual(
      MATRIX.map(entry => `${entry.method} ${entry.url}`).sort()
    );
    expect(served.filter(route => !route.includes('/dashboards/*'))).toEqual(
      documented.sort()
    );
  });
});

/** From fastify's own tree, not from our table. */
function servedRoutes(): string[] {
  const tree = api.server.app.printRoutes({ commonPrefix: false });
  const routes: string[] = [];
  const prefixes: string[] = [];
  for (const line of tree.split('\n')) {
    const match = /^([│ ]*)[├└]── (.+?)(?: \(([A-Z, ]+)\))?$/.exec(line);
    if (match === null) {
      continue;
    }
    const depth = (match[1] ?? '').length / 4;
    prefixes[depth] =
      (depth === 0 ? '' : (prefixes[depth - 1] ?? '')) + (match[2] ?? '');
    for (const method of (match[3] ?? '')
      .split(', ')
      .filter(name => name !== '')) {
      // The tree shows a wildcard without what is before it.
      const url =
        prefixes[depth] === '*' ? '/dashboards/*' : (prefixes[depth] ?? '');
      routes.push(`${method} ${url}`);
    }
  }
  return routes.sort();
}

test('secrets of different lengths and contents are told apart', () => {
  expect(sameSecret(SECRET, SECRET)).toBe(true);
  expect(sameSecret('', SECRET)).toBe(false);
  expect(sameSecret(`${SECRET}0`, SECRET)).toBe(false);
  expect(sameSecret(SECRET.toUpperCase(), SECRET)).toBe(false);
});
