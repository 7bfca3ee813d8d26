import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createServer, request } from 'node:http';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorBodySchema } from '../../protocol/index.js';
import type { ClusterId } from '../../protocol/index.js';
import { relativeLocation, relativePath } from './dashboard-headers.js';
import { DashboardTickets, TICKET_LIFE } from './dashboard-tickets.js';
import { apiFixture, HEADERS } from './fixtures/api-fixture.js';
import type { ApiFixture } from './fixtures/api-fixture.js';
import { CLUSTER, clusterView } from './fixtures/fake-cluster-service.js';

let api: ApiFixture;
let socketPath: string;
let dashboard: Server;
let handle: RequestListener;
let seen: IncomingMessage[];

beforeEach(async () => {
  seen = [];
  handle = (_, response) => {
    response.end('plot');
  };
  dashboard = createServer((incoming, response) => {
    seen.push(incoming);
    handle(incoming, response);
  });
  await new Promise<void>(resolve => dashboard.listen(0, '127.0.0.1', resolve));
  api = await apiFixture();
  api.service.target = { host: '127.0.0.1', port: port() };
  socketPath = await api.listen();
});

afterEach(async () => {
  await api.close();
  dashboard.closeAllConnections();
  await new Promise(resolve => dashboard.close(resolve));
});

const port = () => (dashboard.address() as AddressInfo).port;

type Answer = {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
};

function ask(
  path: string,
  options: {
    method?: string;
    headers?: Record<string, string>;
    body?: string;
  } = {}
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        socketPath,
        path,
        method: options.method ?? 'GET',
        headers: { ...HEADERS, ...options.headers }
      },
      answer => {
        let body = '';
        answer.on('data', (part: Buffer) => (body += part.toString()));
        answer.on('end', () => {
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            body
          });
        });
      }
    );
    sent.on('upgrade', (answer, socket) => {
      socket.destroy();
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        body: ''
      });
    });
    sent.on('error', reject);
    sent.end(options.body);
  });
}

const codeOf = (answer: Answer) =>
  errorBodySchema.parse(JSON.parse(answer.body)).error.code;
const page = (rest: string) => `/dashboards/${CLUSTER}${rest}`;

async function ticketFor(ref: string = CLUSTER): Promise<string> {
  const answer = await ask(`/dashboards/${ref}/status`, {
    headers: { 'x-muster-tickets': 'yes' }
  });
  return /~([0-9a-z]+)\//.exec(answer.headers.location ?? '')?.[1] ?? '';
}

describe('towards the dashboard', () => {
  test('neither cookies nor credentials nor our secret are passed on (W28)', async () => {
    await ask(page('/status?token=x&a=%20b'), {
      headers: {
        cookie: 'session=1',
        'x-xsrftoken': '1',
        'x-forwarded-for': '1.2.3.4',
        referer: 'https://hub/user/x/lab?token=abc',
        accept: 'text/html',
        'if-none-match': '"tag"'
      }
    });
    expect(seen[0]?.url).toBe('/status?token=x&a=%20b');
    expect(seen[0]?.headers).toEqual({
      accept: 'text/html',
      'if-none-match': '"tag"',
      host: `127.0.0.1:${port()}`,
      connection: 'close'
    });
  });

  test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    '%s and its body arrive',
    async method => {
      let body = '';
      handle = (incoming, response) => {
        incoming.on('data', (part: Buffer) => (body += part.toString()));
        incoming.on('end', () => response.end());
      };
      const withBody = ['POST', 'PUT', 'PATCH'].includes(method);
      const answer = await ask(page('/x'), {
        method,
        ...(withBody
          ? {
              body: 'not { json',
              headers: { 'content-type': 'application/json' }
            }
          : {})
      });
      expect([answer.status, seen[0]?.method, body]).toEqual([
        200,
        method,
        withBody ? 'not { json' : ''
      ]);
    }
  );

  test('a body larger than the API takes streams through', async () => {
    let bytes = 0;
    handle = (incoming, response) => {
      incoming.on('data', (part: Buffer) => (bytes += part.length));
      incoming.on('end', () => response.end());
    };
    const answer = await ask(page('/x'), {
      method: 'POST',
      body: 'y'.repeat(3_000_000)
    });
    expect([answer.status, bytes]).toEqual([200, 3_000_000]);
  });

  test('the target is the cluster’s, whatever the path says', async () => {
    for (const path of [
      '//evil.example/x',
      '/http://evil.example/',
      '/@evil.example',
      '/%2f%2fevil.example'
    ]) {
      const answer = await ask(page(path));
      expect(answer.status).toBe(200);
    }
    expect(seen.map(incoming => incoming.headers.host)).toEqual(
      Array(4).fill(`127.0.0.1:${port()}`)
    );
  });

  test.each([
    '/../api/v1/health',
    '/a/../../x',
    '/%2e%2e/x',
    '/a/%2E%2e%2fx',
    '/..%5cx',
    '/./x',
    '/a\\..\\x'
  ])('the path %s goes nowhere', async path => {
    const answer = await ask(page(path));
    expect(answer.status).toBe(404);
    expect(seen).toEqual([]);
  });

  test('long paths, queries and session tokens pass', async () => {
    const path = `/${'a'.repeat(3000)}/${'b'.repeat(300)}?${'c'.repeat(5000)}`;
    const answer = await ask(page(path), {
      headers: { accept: 'x'.repeat(6_000) }
    });
    expect([answer.status, seen[0]?.url]).toEqual([200, path]);
  });

  test('service workers are not let in', async () => {
    const answer = await ask(page('/sw.js'), {
      headers: { 'service-worker': 'script' }
    });
    expect([answer.status, codeOf(answer), seen]).toEqual([
      403,
      'forbidden',
      []
    ]);
  });
});

describe('towards the browser', () => {
  test('no cookie, no policy of the dashboard’s own comes back, and ours does', async () => {
    handle = (_, response) => {
      response
        .writeHead(200, {
          'set-cookie': 'a=b; Path=/',
          'content-type': 'text/html',
          'content-security-policy': 'default-src *',
          'access-control-allow-origin': '*',
          'service-worker-allowed': '/',
          'clear-site-data': '"*"',
          etag: '"1"'
        })
        .end('plot');
    };
    const answer = await ask(page('/status'));
    expect(answer.body).toBe('plot');
    expect(
      Object.keys(answer.headers).filter(name =>
        /cookie|access-control|service-worker|clear/.test(name)
      )
    ).toEqual([]);
    expect(answer.headers).toMatchObject({
      etag: '"1"',
      'content-type': 'text/html',
      'x-content-type-options': 'nosniff'
    });
    expect(answer.headers['content-security-policy']).toContain(
      "connect-src 'self'"
    );
    expect(answer.headers['content-security-policy']).not.toContain(
      'default-src *'
    );
  });

  test('an answer is passed on as it comes, not when it is complete', async () => {
    let finish: () => void = () => undefined;
    handle = (_, response) => {
      response.write('first');
      finish = () => response.end('second');
    };
    const parts: string[] = [];
    await new Promise<void>(resolve => {
      request({ socketPath, path: page('/x'), headers: HEADERS }, answer => {
        answer.on('data', (part: Buffer) => {
          parts.push(part.toString());
          finish();
        });
        answer.on('end', resolve);
      }).end();
    });
    expect(parts).toEqual(['first', 'second']);
  });

  test('a browser that goes away ends the request to the dashboard', async () => {
    const gone = new Promise<void>(resolve => {
      handle = (incoming, response) => {
        response.write('x');
        incoming.on('close', resolve);
      };
    });
    const sent = request(
      { socketPath, path: page('/x'), headers: HEADERS },
      answer => {
        answer.on('error', () => undefined);
        sent.destroy();
      }
    );
    sent.on('error', () => undefined);
    sent.end();
    await gone;
  });

  test.each([
    ['/status', '/', 302, './status'],
    ['/status?token=x', '/a/b/', 301, '../../status?token=x'],
    ['other#top', '/a/b', 308, '../a/other#top'],
    ['HERE/x', '/a', 307, './x']
  ])(
    'a redirect to %s from %s is right below any prefix',
    async (location, from, status, expected) => {
      handle = (_, response) => {
        response
          .writeHead(status, {
            location: location.replace('HERE', `http://127.0.0.1:${port()}`)
          })
          .end();
      };
      const answer = await ask(page(from));
      expect(answer.headers.location).toBe(expected);
      expect([302, 307]).toContain(answer.status);
    }
  );

  test.each([
    'http://evil.example/',
    '//evil.example/x',
    'https://127.0.0.1:1/',
    'javascript:alert(1)',
    'http://127.0.0.1:PORT@evil.example/'
  ])('a redirect to %s is not followed', async location => {
    handle = (_, response) => {
      response
        .writeHead(302, { location: location.replace('PORT', String(port())) })
        .end();
    };
    const answer = await ask(page('/x'));
    expect([answer.status, answer.headers.location]).toEqual([403, undefined]);
  });

  test('the address of a cluster alone leads to its first page, with its query (W16, W17)', async () => {
    const answer = await ask(`/dashboards/${CLUSTER}?token=status`);
    expect([answer.status, answer.headers.location]).toEqual([
      307,
      `${CLUSTER}/?token=status`
    ]);
  });

  test('a dashboard that is not there is an error that says what was tried', async () => {
    api.service.target = { host: '127.0.0.1', port: 1 };
    const answer = await ask(page('/status'));
    expect([answer.status, codeOf(answer)]).toEqual([
      503,
      'backend-unavailable'
    ]);
    expect(answer.body).toContain('127.0.0.1:1');
    const upgrade = await ask(page('/status/ws'), {
      headers: { connection: 'Upgrade', upgrade: 'websocket' }
    });
    expect([upgrade.status, codeOf(upgrade)]).toEqual([
      503,
      'backend-unavailable'
    ]);
  });

  test('a dashboard that hangs up without a word is an error too', async () => {
    handle = incoming => {
      incoming.socket.destroy();
    };
    const answer = await ask(page('/status'));
    expect([answer.status, codeOf(answer)]).toEqual([
      503,
      'backend-unavailable'
    ]);
  });

  test('a cluster without a dashboard, and no cluster at all, are told apart', async () => {
    api.service.target = null;
    const none = await ask(page('/status'));
    expect([none.status, codeOf(none)]).toEqual([503, 'backend-unavailable']);
    const unknown = await ask('/dashboards/nosuch/status');
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'not-found']);
    const upgrade = await ask('/dashboards/nosuch/ws', {
      headers: { connection: 'Upgrade', upgrade: 'websocket' }
    });
    expect([upgrade.status, codeOf(upgrade)]).toEqual([404, 'not-found']);
  });

  test('a WebSocket the dashboard does not have is 404, before the browser is answered', async () => {
    handle = (_, response) => {
      response.writeHead(404).end();
    };
    const answer = await ask(page('/nope/ws'), {
      headers: { connection: 'Upgrade', upgrade: 'websocket' }
    });
    expect([answer.status, codeOf(answer)]).toEqual([404, 'not-found']);
  });

  test('an open stream ends on both sides when either goes, and when the bridge goes', async () => {
    const streams: Duplex[] = [];
    dashboard.on('upgrade', (incoming, socket) => {
      streams.push(socket);
      socket.on('error', () => undefined);
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nset-cookie: a=b\r\n\r\nhello'
      );
      socket.on('data', data => socket.write(data));
      socket.on('end', () => socket.end());
      expect(incoming.headers.cookie).toBeUndefined();
      expect(incoming.headers.origin).toBe(`http://127.0.0.1:${port()}`);
    });
    const openStream = () =>
      new Promise<{ socket: Socket; headers: IncomingMessage['headers'] }>(
        resolve => {
          request({
            socketPath,
            path: page('/x/ws'),
            headers: {
              ...HEADERS,
              cookie: 'c=d',
              connection: 'Upgrade',
              upgrade: 'websocket',
              'sec-websocket-key': 'a'
            }
          })
            .on('upgrade', (answer, socket, head) => {
              socket.on('error', () => undefined);
              socket.unshift(head);
              resolve({ socket, headers: answer.headers });
            })
            .end();
        }
      );
    const closed = (socket: Duplex) =>
      new Promise<void>(resolve =>
        socket.once('close', () => {
          resolve();
        })
      );

    const first = await openStream();
    expect(first.headers['set-cookie']).toBeUndefined();
    let text = '';
    first.socket.on('data', (data: Buffer) => (text += data.toString()));
    first.socket.write(' again');
    while (text !== 'hello again') {
      await new Promise(resolve => setTimeout(resolve, 5));
    }
    expect(api.server.clients).toBe(1);
    const far = closed(streams[0]!);
    first.socket.destroy();
    await far;

    const second = await openStream();
    second.socket.resume();
    const near = closed(second.socket);
    streams[1]?.destroy();
    await near;

    const third = await openStream();
    third.socket.resume();
    const cut = closed(third.socket);
    await api.server.close();
    await cut;
    expect(api.server.clients).toBe(0);
  });
});

describe('tickets (S5)', () => {
  test('a relay that serves them is sent below one, and its pages get an origin of their own', async () => {
    const answer = await ask(page('/a/status?x=1'), {
      headers: { 'x-muster-tickets': 'yes' }
    });
    expect(answer.status).toBe(307);
    expect(answer.headers.location).toMatch(
      /^\.\.\/~[0-9a-z]{32}\/a\/status\?x=1$/
    );
    expect(answer.headers['cache-control']).toBe('no-store');
    const ticketed = await ask(page(`/~${await ticketFor()}/status`));
    expect(ticketed.body).toBe('plot');
    expect(ticketed.headers['content-security-policy']).toMatch(
      /^sandbox allow-scripts /
    );
    expect(ticketed.headers['content-security-policy']).not.toContain(
      'allow-same-origin'
    );
    expect(seen.at(-1)?.url).toBe('/status');
  });

  test('one lets look, not change', async () => {
    const ticket = await ticketFor();
    const answer = await ask(page(`/~${ticket}/api/v1/retire_workers`), {
      method: 'POST',
      body: '{}'
    });
    expect([answer.status, codeOf(answer), seen]).toEqual([
      403,
      'forbidden',
      []
    ]);
  });

  test('one of another cluster, or made up, is refused, also for streams', async () => {
    const other = 'zzzzzzzzzzzzzzzz' as ClusterId;
    api.service.clusters.push(clusterView({ id: other, name: 'other' }));
    const ticket = await ticketFor('other');
    for (const wrong of [ticket, '0'.repeat(32)]) {
      for (const headers of [
        {},
        { connection: 'Upgrade', upgrade: 'websocket' }
      ] as Record<string, string>[]) {
        const answer = await ask(page(`/~${wrong}/status`), { headers });
        expect([answer.status, codeOf(answer)]).toEqual([401, 'unauthorized']);
      }
    }
    expect(seen).toEqual([]);
  });

  test('one lives for minutes after its last use, and there are never too many', () => {
    let now = 0;
    const tickets = new DashboardTickets(() => now);
    const ticket = tickets.issue(CLUSTER);
    now += TICKET_LIFE - 1;
    expect(tickets.admits(ticket, CLUSTER)).toBe(true);
    now += TICKET_LIFE - 1;
    expect(tickets.admits(ticket, CLUSTER)).toBe(true);
    now += TICKET_LIFE + 1;
    expect(tickets.admits(ticket, CLUSTER)).toBe(false);
    const held = tickets.issue(CLUSTER);
    const release = tickets.hold(held);
    now += 10 * TICKET_LIFE;
    expect(tickets.admits(held, CLUSTER)).toBe(true);
    release();
    now += TICKET_LIFE + 1;
    expect(tickets.admits(held, CLUSTER)).toBe(false);
    const first = tickets.issue(CLUSTER);
    const all = Array.from({ length: 1000 }, () => tickets.issue(CLUSTER));
    expect(tickets.admits(first, CLUSTER)).toBe(false);
    expect(all.every(one => tickets.admits(one, CLUSTER))).toBe(true);
  });
});

test('relative paths lead from any page to any other', () => {
  for (const from of ['/', '/a', '/a/', '/a/b/c']) {
    for (const to of ['/', '/x', '/x/y', '/a/b']) {
      const base = 'http://h/prefix/one';
      expect(new URL(relativePath(from, to), `${base}${from}`).href).toBe(
        `${base}${to}`
      );
    }
  }
  expect(relativeLocation('http://[', '/', 'h:1')).toBeNull();
});
