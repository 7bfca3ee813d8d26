import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig, sourceOf } from './config-file.js';
import { ConfigurationFiles } from './configuration-files.js';

let root: string;
let opened: ConfigurationFiles[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'muster-config-'));
  opened = [];
});

afterEach(async () => {
  opened.forEach(configuration => {
    configuration.close();
  });
  await rm(root, { recursive: true, force: true });
});

async function put(folder: string, text: string): Promise<string> {
  const path = join(root, folder);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, 'muster.yaml'), text, { mode: 0o600 });
  return path;
}

async function open(...names: string[]): Promise<ConfigurationFiles> {
  const configuration = await ConfigurationFiles.open({
    paths: names.map(name => join(root, name)),
    source: folder => (folder.endsWith('user') ? 'user' : 'site'),
    lookEvery: 60_000
  });
  opened.push(configuration);
  return configuration;
}

describe('muster.yaml', () => {
  test('without any file there is what the package brings', async () => {
    const configuration = await open('user', 'site');
    expect(configuration.current.profiles).toEqual([
      {
        name: 'this-host',
        source: 'package',
        title: expect.any(String),
        spec: { backend: 'local' }
      }
    ]);
    expect(configuration.problems).toEqual([]);
    expect(configuration.files.map(file => file.present)).toEqual([
      false,
      false
    ]);
  });

  test('the user’s word is above the site’s, field by field, but limits are the strictest', async () => {
    await put(
      'user',
      `
profiles:
  night: { spec: { backend: local } }
backends:
  slurm: { options: { queue: mine } }
lifetime: { idleTimeout: 1h }
limits: { maximumWorkers: 500, maximumCores: 10, allowedBackends: [local, slurm, ssh] }
`
    );
    await put(
      'site',
      `
profiles:
  night: { title: Night, spec: { backend: slurm } }
  day: { spec: { groups: [ { worker: { memory: 4 GiB } } ] } }
backends:
  slurm:
    options: { queue: site, account: physics }
    commands: { sbatch: /opt/slurm/bin/sbatch }
lifetime: { idleTimeout: 2h, maximumAge: 2 days }
limits: { maximumWorkers: 100, maximumMemory: 1TB, allowedBackends: [slurm, local, yarn] }
defaultProfile: day
bridgeIdleTimeout: 30 minutes
`
    );
    const files = await open('user', 'site');
    const { current, problems } = files;
    expect(files.limits()).toEqual({
      maximumWorkers: 100,
      maximumCores: 10,
      maximumMemory: 1e12,
      allowedBackends: ['local', 'slurm']
    });
    expect(files.backendDefaults('slurm')).toEqual({
      queue: 'mine',
      account: 'physics'
    });
    expect(files.backendDefaults('pbs')).toEqual({});
    expect(problems).toEqual([]);
    expect(current).toEqual({
      profiles: [
        { name: 'night', source: 'user', spec: { backend: 'local' } },
        {
          name: 'day',
          source: 'site',
          spec: { groups: [{ worker: { memory: '4 GiB' } }] }
        },
        expect.objectContaining({ name: 'this-host', source: 'package' })
      ],
      limits: {
        maximumWorkers: 100,
        maximumCores: 10,
        maximumMemory: 1e12,
        allowedBackends: ['local', 'slurm']
      },
      backends: {
        slurm: {
          options: { queue: 'mine', account: 'physics' },
          commands: { sbatch: '/opt/slurm/bin/sbatch' },
          settings: {}
        }
      },
      lifetime: { idleTimeout: 3600, maximumAge: 172800 },
      defaultProfile: 'day',
      bridgeIdleTimeout: 1800
    });
  });

  test.each([
    [
      'limits: { maximumWorkers: many }',
      'limits.maximumWorkers',
      'must be a whole number of workers'
    ],
    [
      'limits: { maximumMemory: lots }',
      'limits.maximumMemory',
      "'lots' is not a size"
    ],
    ['limits: { maximumTasks: 1 }', 'limits.maximumTasks', 'is not a field'],
    [
      'profiles: { a: { spec: { groups: [ { worker: { memory: lots } } ] } } }',
      'profiles.a.spec.groups[0].worker.memory',
      "'lots' is not a size"
    ],
    [
      'profiles: { a: { spec: { name: x } } }',
      'profiles.a.spec.name',
      'is not a field'
    ],
    ['profiles: { a: { spec: 3 } }', 'profiles.a.spec', 'must be an object'],
    [
      'profiles: { "a\\nb": { spec: {} } }',
      'profiles.a\nb',
      'is not the name of a profile'
    ],
    [
      'backends: { slurm: { commands: { sbatch: sbatch } } }',
      'backends.slurm.commands.sbatch',
      'must be an absolute path'
    ],
    [
      'lifetime: { idleTimeout: soon }',
      'lifetime.idleTimeout',
      "'soon' is not a duration"
    ],
    ['- a list', null, 'must be an object'],
    ['a: [1', null, 'is not YAML'],
    ['a: &a [x]\na: *a', null, 'is not YAML']
  ])('%j is a problem at %s', async (text, field, message) => {
    const result = await parseConfig('/etc/jupyter/muster.yaml', text);
    expect(result).toMatchObject({
      type: 'broken',
      problems: [
        {
          file: '/etc/jupyter/muster.yaml',
          field,
          message: expect.stringContaining(message)
        }
      ]
    });
  });

  test('aliases that would fill the memory are refused', async () => {
    const levels = Array.from({ length: 12 }, (_, index) =>
      index === 0
        ? 'a0: &a0 [x,x,x,x,x,x,x,x,x,x]'
        : `a${index}: &a${index} [${Array(10)
            .fill(`*a${index - 1}`)
            .join(',')}]`
    );
    expect(await parseConfig('f', levels.join('\n'))).toMatchObject({
      type: 'broken'
    });
  });

  test('a change is read without a restart, and said', async () => {
    await put('user', 'limits: { maximumWorkers: 1 }');
    const configuration = await open('user');
    let changes = 0;
    configuration.onChange(() => {
      changes += 1;
    });
    await configuration.refresh();
    expect(changes).toBe(0);
    await put('user', 'limits: { maximumWorkers: 22 }');
    await configuration.refresh();
    expect([changes, configuration.current.limits]).toEqual([
      1,
      { maximumWorkers: 22 }
    ]);
    await rm(join(root, 'user', 'muster.yaml'));
    await configuration.refresh();
    expect([changes, configuration.current.limits]).toEqual([2, {}]);
  });

  test('a file that breaks leaves what it said last, names the problem, and counts again once mended', async () => {
    await put('user', 'limits: { maximumWorkers: 1 }');
    await put('site', 'limits: { maximumCores: 5 }');
    const configuration = await open('user', 'site');
    await put('user', 'limits: { maximumWorkers: -');
    await configuration.refresh();
    expect(configuration.current.limits).toEqual({
      maximumWorkers: 1,
      maximumCores: 5
    });
    expect(configuration.problems).toEqual([
      {
        file: join(root, 'user', 'muster.yaml'),
        field: null,
        message: expect.stringContaining('is not YAML')
      }
    ]);
    await put('user', 'limits: { maximumWorkers: 333 }');
    await configuration.refresh();
    expect(configuration.problems).toEqual([]);
    expect(configuration.current.limits).toEqual({
      maximumWorkers: 333,
      maximumCores: 5
    });
  });

  test('a file others can write is not used', async () => {
    const folder = await put('user', 'limits: { maximumWorkers: 1 }');
    await chmod(join(folder, 'muster.yaml'), 0o666);
    const configuration = await open('user');
    expect(configuration.current.limits).toEqual({});
    expect(configuration.problems[0]?.message).toContain('chmod go-w');
  });

  test('a folder in its place is a problem, not a crash', async () => {
    await mkdir(join(root, 'user', 'muster.yaml'), { recursive: true });
    const configuration = await open('user');
    expect(configuration.problems).toHaveLength(1);
  });

  test.each([
    ['/home/ann/.jupyter', 'user'],
    ['/home/ann/.config/jupyter', 'user'],
    ['/home/ann/.jupyter-shared', 'site'],
    ['/home/ann/venv/etc/jupyter', 'site'],
    ['/etc/jupyter', 'site'],
    ['/home/ann/venv/lib/python3.12/site-packages/jupyterlab_muster', 'package']
  ])('%s is the %s’s', (folder, source) => {
    expect(sourceOf(folder, {}, '/home/ann')).toBe(source);
  });
});
