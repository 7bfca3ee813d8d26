import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MusterError } from '../../protocol/index.js';
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
import type { CliIo } from './index.js';

let fixture: MusterFixture;
let api: ApiFixture;
let folder: string;
let environment: NodeJS.ProcessEnv;
let alive: MusterFixture['alive'];
let muster: MusterFixture['muster'];

beforeEach(async () => {
  fixture = await musterFixture();
  ({ api, folder, environment, alive, muster } = fixture);
});

afterEach(async () => {
  await fixture.close();
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
    api.service.rows = Array.from({ length: 25_000 }, (_, index) =>
      workerView({ id: `w${String(index).padStart(5, '0')}` as typeof WORKER })
    );
    const result = await muster(['--json', 'workers', 'analysis']);
    expect((JSON.parse(result.out) as { items: unknown[] }).items).toHaveLength(
      25_000
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
    const { items } = JSON.parse(result.out) as {
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
