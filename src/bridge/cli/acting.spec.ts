import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterId } from '../../protocol/index.js';
import type { ApiFixture } from '../api/fixtures/api-fixture.js';
import {
  CLUSTER,
  clusterEvent,
  clusterView,
  WORKER,
  workerView
} from '../api/fixtures/fake-cluster-service.js';
import { musterFixture } from './fixtures/muster-fixture.js';
import type { MusterFixture } from './fixtures/muster-fixture.js';

let fixture: MusterFixture;
let api: ApiFixture;
let folder: string;
let alive: MusterFixture['alive'];
let muster: MusterFixture['muster'];
let created: MusterFixture['created'];

beforeEach(async () => {
  fixture = await musterFixture();
  ({ api, folder, alive, muster, created } = fixture);
});

afterEach(async () => {
  await fixture.close();
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
    for (const text of ['- a', 'a: [', '3', '', 'name: &a [*a]']) {
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

  test('resume does what the hint of a failing group says', async () => {
    await alive();
    const result = await muster(['resume', 'analysis']);
    expect(result.code).toBe(0);
    expect(api.service.calls.map(call => call.method)).toContain('resume');
    expect(result.out).toMatch(/^analysis: running/);
    expect((await muster(['resume', 'nobody'])).code).toBe(1);
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
