import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { schedulingFor } from '../../backends/index.js';
import { ConfigurationFiles } from './configuration-files.js';

let root: string;
let opened: ConfigurationFiles | null;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'muster-systems-'));
  opened = null;
});

afterEach(async () => {
  opened?.close();
  await rm(root, { recursive: true, force: true });
});

async function put(folder: string, text: string): Promise<string> {
  await mkdir(join(root, folder), { recursive: true });
  const file = join(root, folder, 'muster.yaml');
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

async function open(): Promise<ConfigurationFiles> {
  opened = await ConfigurationFiles.open({
    paths: ['user', 'site'].map(name => join(root, name)),
    source: folder => (folder.endsWith('user') ? 'user' : 'site'),
    lookEvery: 60_000
  });
  return opened;
}

const CHANGED = `
batchSystems:
  - name: slurm
    basedOn: slurm
    title: Slurm with our wrapper
    submit: { argv: [[our-sbatch], ['{file}']] }
`;

describe('batchSystems in muster.yaml', () => {
  test('without any there are the built-in ones', async () => {
    const systems = await (await open()).batchSystems();
    expect([...systems.keys()]).toEqual(
      'slurm pbs torque sge lsf htcondor oar flux'.split(' ')
    );
  });

  test('a site describes a system of its own, and it renders jobs', async () => {
    const cobalt = await readFile('docs/batch-systems/cobalt.yaml', 'utf8');
    const indented = cobalt
      .split('\n')
      .map(line => `    ${line}`)
      .join('\n');
    await put('site', `batchSystems:\n  -\n${indented}\n`);
    const configuration = await open();
    expect(configuration.problems).toEqual([]);
    const facts = (await configuration.batchSystems()).get('cobalt');
    if (facts === undefined) {
      throw new Error('cobalt is not known');
    }
    const system = schedulingFor(facts);
    expect(
      system.resourceHeader(system.job({ nodes: 2, walltimeSeconds: 600 }))
        .lines
    ).toContain('#COBALT -n 2');
  });

  test('a built-in one is changed, and the user’s word is above the site’s', async () => {
    await put('site', CHANGED);
    await put(
      'user',
      'batchSystems: [{ name: slurm, basedOn: slurm, title: Mine }]'
    );
    const slurm = (await (await open()).batchSystems()).get('slurm');
    expect(slurm?.title).toBe('Mine');
    // What only the site says holds below it, what nobody says is the built-in's.
    expect(slurm?.submit.argv).toEqual([['our-sbatch'], ['{file}']]);
    expect(slurm?.script.prefix).toBe('#SBATCH');
  });

  test('a broken one is a problem of its file and field, and takes no other down', async () => {
    const file = await put(
      'site',
      `
limits: { maximumWorkers: 5 }
batchSystems:
  - { name: broken, basedOn: slurm, submit: { ids: ['('] } }
  - { name: lost, basedOn: nowhere }
  - { name: local, basedOn: slurm }
  - not a description
  - { name: good, basedOn: pbs, title: Good }
  - { name: good, basedOn: pbs, title: Twice }
`
    );
    const configuration = await open();
    expect(
      configuration.problems.map(one => [one.file, one.field, one.message])
    ).toEqual([
      [file, 'batchSystems[0].submit.ids[0]', expect.any(String)],
      [file, 'batchSystems[1].basedOn', 'there is no batch system "nowhere"'],
      [
        file,
        'batchSystems[2].name',
        "'local' is a backend of its own, not a batch system"
      ],
      [file, 'batchSystems[3]', 'is not an object'],
      [file, 'batchSystems[5].name', "'good' is described twice in this file"]
    ]);
    const systems = await configuration.batchSystems();
    expect(systems.get('good')?.title).toBe('Good');
    expect(systems.has('broken')).toBe(false);
    expect(systems.has('slurm')).toBe(true);
    expect(configuration.limits().maximumWorkers).toBe(5);
  });

  test('one broken by a change counts on as it was, until it is mended or gone', async () => {
    await put('site', CHANGED);
    const configuration = await open();
    const title = async () =>
      (await configuration.batchSystems()).get('slurm')?.title;
    await put('site', CHANGED.replace('title:', 'titel:'));
    await configuration.refresh();
    expect(configuration.problems).toMatchObject([
      { message: expect.stringContaining('titel') }
    ]);
    expect(await title()).toBe('Slurm with our wrapper');
    await put('site', CHANGED.replace('with our wrapper', 'again'));
    await configuration.refresh();
    expect(configuration.problems).toEqual([]);
    expect(await title()).toBe('Slurm again');
    await put('site', 'batchSystems: []');
    await configuration.refresh();
    expect(await title()).toBe('Slurm');
  });

  test('what is no list at all is a problem of the whole file', async () => {
    await put('site', 'batchSystems: { slurm: {} }');
    expect((await open()).problems).toMatchObject([
      { field: 'batchSystems', message: 'must be a list of descriptions' }
    ]);
  });
});
