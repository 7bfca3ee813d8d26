import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  writeFile
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PreviewView } from '../../protocol/index.js';
import { runCli } from './index.js';

let folder: string;
let environment: NodeJS.ProcessEnv;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-preview-'));
  environment = {
    // No bridge is here, and none can be started.
    MUSTER_RUNTIME_DIR: join(folder, 'nowhere'),
    MUSTER_STATE_ROOT: join(folder, 'state'),
    MUSTER_CONFIG_PATHS: join(folder, 'config'),
    MUSTER_CLI_PYTHON: '/own/python'
  };
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function configured(text: string): Promise<string> {
  await mkdir(join(folder, 'config'), { recursive: true });
  const file = join(folder, 'config', 'muster.yaml');
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

async function muster(
  args: readonly string[],
  stdin = ''
): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const code = await runCli(args, {
    out: text => (out += text),
    err: text => (err += text),
    environment,
    outIsTerminal: false,
    errIsTerminal: false,
    readStdin: () => Promise.resolve(stdin),
    program: null
  });
  return { code, out, err };
}

async function previewed(line: string, stdin = ''): Promise<PreviewView> {
  const { code, out, err } = await muster(
    ['--json', 'preview', ...line.split(' ')],
    stdin
  );
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as PreviewView;
}

function only(view: PreviewView): PreviewView['jobs'][number] & {
  script: string;
} {
  const [job] = view.jobs;
  if (job?.script == null || view.jobs.length !== 1) {
    throw new Error(`${view.jobs.length} jobs, or one without a script`);
  }
  return { ...job, script: job.script };
}

const headerOf = (script: string) =>
  script.split('\n').filter(line => line.startsWith('#'));

const SIZE =
  '--workers 4 --workers-per-job 2 --worker-cores 4 --worker-memory 2GiB';

describe('muster preview of a batch system', () => {
  test('prints the whole script and the submit command, without bridge or batch system', async () => {
    const { code, out, err } = await muster(
      `preview --backend slurm ${SIZE} -o queue=main -o walltime=2h -o account=0042`.split(
        ' '
      )
    );
    expect([code, err]).toEqual([0, '']);
    const lines = out.split('\n');
    expect(lines[0]).toBe(
      '4 workers (4 cores each) on Slurm; stops after 1 d without work'
    );
    expect(lines[2]).toBe('# 2 × default');
    expect(lines[3]).toMatch(/^sbatch --parsable \/.*\/jobs\/[0-9a-z]{16}$/);
    expect(lines).toEqual(
      expect.arrayContaining([
        '#!/bin/bash',
        '#SBATCH -p main',
        '#SBATCH -A 0042',
        '#SBATCH -N 1',
        '#SBATCH -n 1',
        '#SBATCH -c 8',
        '#SBATCH --mem=4096M',
        '#SBATCH -t 0-02:00:00'
      ])
    );
    const workers = lines.filter(line =>
      line.startsWith('/own/python -m distributed.cli.dask_worker ')
    );
    expect(workers).toHaveLength(2);
    for (const worker of workers) {
      expect(worker).toContain("'tls://<scheduler>'");
      expect(worker).toContain('--nthreads 4 --memory-limit 2147483648 ');
      // Below the walltime, so that what it holds can be handed over.
      expect(worker).toContain("--lifetime '6900 seconds'");
    }
  });

  test('--json is the shape the API has', async () => {
    const job = only(await previewed(`--backend pbs ${SIZE}`));
    expect(job).toEqual({
      group: 'default',
      count: 2,
      workers: 2,
      argv: ['qsub', expect.stringMatching(/^\//)],
      script: expect.stringContaining('#PBS -l select=1:ncpus=8:'),
      environment: {},
      notHonoured: [],
      warnings: expect.any(Array)
    });
  });

  test.each([
    ['slurm', '#SBATCH -p main', ''],
    ['pbs', '#PBS -q main', ''],
    ['torque', '#PBS -q main', ''],
    ['sge', '#$ -q main', ' -o parallelEnvironment=smp -o memoryKey=h_vmem'],
    ['lsf', '#BSUB -q main', ''],
    ['htcondor', 'request_cpus = 8', ''],
    ['oar', '#OAR -q main', ''],
    ['flux', '#flux: --queue=main', '']
  ])('the job of %s is one a shell takes', async (name, line, more) => {
    const { script, argv } = only(
      await previewed(
        `--backend ${name} ${SIZE} -o queue=main -o walltime=1h${more}`
      )
    );
    expect(script.split('\n')).toContain(line);
    expect(argv[0]).not.toBe('');
    const shell = script.slice(script.indexOf('#!/bin/bash'));
    expect(
      spawnSync('bash', ['-n'], { input: shell, encoding: 'utf8' })
    ).toMatchObject({ status: 0, stderr: '' });
  });

  test('the script starts every worker, waits for all, and ends with the code of one that failed', async () => {
    const python = join(folder, 'python');
    await writeFile(
      python,
      '#!/bin/sh\nline=$(printf "%s|" "$GREETING" "$@")\nprintf "%s\\n" "$line" >> "$RECORD"\ncase "$*" in *-1\\ --nworkers*) exit 7;; esac\n'
    );
    await chmod(python, 0o755);
    const record = join(folder, 'record');
    const { script } = only(
      await previewed(
        '--backend slurm -f -',
        JSON.stringify({
          groups: [
            {
              worker: { cores: 2, memory: null, resources: { LARGE: 1 } },
              workersPerJob: 2,
              scale: { type: 'fixed', workers: 2 }
            }
          ],
          environment: {
            python,
            variables: { GREETING: "it's $HOME", RECORD: record },
            prologue: ['echo before >> "$RECORD"'],
            epilogue: ['echo after >> "$RECORD"']
          }
        })
      )
    );
    const { status, stderr } = spawnSync('bash', [], {
      input: script,
      encoding: 'utf8'
    });
    expect([status, stderr]).toEqual([7, '']);
    const lines = (await readFile(record, 'utf8')).trimEnd().split('\n');
    expect([lines[0], lines.at(-1)]).toEqual(['before', 'after']);
    const started = lines.slice(1, -1).sort();
    expect(started).toHaveLength(2);
    const host = spawnSync('uname', ['-n'], { encoding: 'utf8' }).stdout.trim();
    started.forEach((line, index) => {
      expect(line).toMatch(
        /^it's \$HOME\|-m\|distributed\.cli\.dask_worker\|tls:\/\/<scheduler>\|/
      );
      expect(line).toMatch(new RegExp(`\\|--name\\|[0-9a-z]{16}-${index}\\|`));
      expect(line).toContain('|--resources|LARGE=1|');
      expect(line).toContain(`|--host|${host}|`);
      expect(line).toContain('|--memory-limit|0|');
    });
    // No memory wanted is no memory asked for.
    expect(script).not.toContain('#SBATCH --mem');
  });

  test('a named interface is what workers listen on', async () => {
    const { script } = only(
      await previewed('--backend slurm -o interface=ib0')
    );
    expect(script).toContain(' --interface ib0 ');
    expect(script).not.toContain(' --host ');
  });

  test('each group of a file is a job of its own', async () => {
    const view = await previewed(
      '--backend torque -f -',
      `
name: survey
groups:
  - { name: small, worker: { cores: 1, memory: 1 GiB }, options: { walltime: 1h } }
  - name: large
    worker: { cores: 8, memory: 16 GiB }
    scale: { type: adaptive, minimum: { workers: 2 }, maximum: { workers: 9 } }
    options: { queue: fat, walltime: 1-00:00:00 }
`
    );
    expect(view.summary).toContain('2 to 9 workers (8 cores each)');
    expect(view.jobs.map(job => [job.group, job.count])).toEqual([
      ['small', 1],
      ['large', 2]
    ]);
    expect(headerOf(view.jobs[1]?.script ?? '')).toEqual(
      expect.arrayContaining(['#PBS -q fat', '#PBS -l walltime=24:00:00'])
    );
    expect(view.jobs[0]?.script).not.toContain('fat');
  });

  test('what the system does not carry out, and how it takes the script, is said', async () => {
    const oar = await muster(
      'preview --backend oar --worker-memory 2GiB'.split(' ')
    );
    expect(oar.out).toContain('# not honoured: memory\n');
    const lsf = await muster('preview --backend lsf'.split(' '));
    expect(lsf.out).toContain(
      '# warning: bsub reads the script from its standard input\n'
    );
  });

  test('a wrong option is named, with the accepted values', async () => {
    const wrong = async (line: string, stdin?: string) => {
      const { code, out, err } = await muster(
        `preview ${line}`.split(' '),
        stdin
      );
      expect([code, out]).toEqual([2, '']);
      return err;
    };
    expect(await wrong('--backend slrum')).toContain(
      "--backend: 'slrum' is not one of local, slurm, pbs, torque, sge, lsf, htcondor, oar, flux"
    );
    expect(await wrong('--backend slurm -o quue=main')).toMatch(
      /-o quue: is not an option of Slurm\nfix: one of: queue, account, .*walltime.*cpusAsTasks/
    );
    expect(await wrong('--backend slurm -o walltime=soon')).toContain(
      "-o walltime: 'soon' is not a duration such as"
    );
    expect(await wrong('--backend pbs -o placement=round')).toContain(
      '-o placement: must be one of pack, scatter, any'
    );
    expect(await wrong('--backend pbs -o exclusive=perhaps')).toContain(
      '-o exclusive: must be true or false'
    );
    expect(await wrong('--backend slurm --worker-memory lots')).toContain(
      "--worker-memory: 'lots' is not a size"
    );
    expect(await wrong('--backend slurm --worker-cores two')).toContain(
      "--worker-cores: 'two' is not a whole number"
    );
    expect(await wrong('--backend slurm --kernelspec k')).toContain(
      '--kernelspec: only a bridge knows'
    );
    const sge = await wrong('--backend sge --worker-cores 2');
    expect(sge).toContain('-o parallelEnvironment: is needed for this job');
    expect(sge).toContain('-o memoryKey: is needed for this job');
    expect(
      await wrong(
        '--backend slurm -f -',
        'groups: [{ name: a }, { name: b, options: { quue: x } }]'
      )
    ).toContain('groups[1].options.quue: is not an option of Slurm');
    expect(
      await wrong('--backend slurm -f -', 'scheduler: { placement: job }')
    ).toContain("scheduler.placement: 'job' is not possible on Slurm");
  });

  test('local is asked of a bridge as before', async () => {
    for (const line of ['preview', 'preview --backend local']) {
      const { code, err } = await muster([...line.split(' '), '--no-start']);
      expect(code).toBe(3);
      expect(err).toContain('no bridge is running');
    }
  });
});

const SITE = `
batchSystems:
  - name: slurm
    basedOn: slurm
    title: Slurm with our wrapper
    submit: { argv: [[our-sbatch], ['{file}']] }
  - { name: grid, basedOn: sge, title: The old cluster }
  - { name: broken, basedOn: pbs, titel: Oops }
backends:
  slurm:
    options: { queue: site, account: physics }
    commands: { our-sbatch: /opt/site/our-sbatch }
  grid:
    options: { parallelEnvironment: smp, memoryKey: h_vmem }
    settings: { native: ['-l arch=lx-amd64'] }
profiles:
  night: { spec: { backend: slurm, groups: [{ worker: { cores: 3 } }] } }
`;

describe('batch systems of muster.yaml', () => {
  test('preview writes the jobs of a system the site changed, with its defaults', async () => {
    const file = await configured(SITE);
    const { code, out, err } = await muster(
      '--json preview --backend slurm -o queue=mine'.split(' ')
    );
    expect(code).toBe(0);
    expect(err).toBe(
      `note: ${file}: batchSystems[2]: Unrecognized key: "titel"\n`
    );
    const view = JSON.parse(out) as PreviewView;
    expect(view.summary).toContain('on Slurm with our wrapper;');
    const { argv, script } = only(view);
    expect(argv).toEqual(['/opt/site/our-sbatch', expect.any(String)]);
    expect(headerOf(script)).toEqual(
      expect.arrayContaining(['#SBATCH -p mine', '#SBATCH -A physics'])
    );
  });

  test('a system of the site’s own has its data from the file', async () => {
    await configured(SITE.replace(/^.*broken.*\n/mu, ''));
    const { script } = only(
      await previewed('--backend grid --worker-cores 2 --worker-memory 2GiB')
    );
    expect(headerOf(script)).toEqual(
      expect.arrayContaining([
        '#$ -pe smp 2',
        '#$ -l h_vmem=1G',
        '#$ -l arch=lx-amd64'
      ])
    );
  });

  test('a profile of a batch system needs no bridge either', async () => {
    await configured(SITE.replace(/^.*broken.*\n/mu, ''));
    expect(only(await previewed('--profile night')).script).toContain(
      '\n#SBATCH -c 3\n'
    );
  });

  test('header knows them too, with what the site says of them', async () => {
    await configured(SITE.replace(/^.*broken.*\n/mu, ''));
    const { code, out, err } = await muster(
      'header --backend grid --tasks 4'.split(' ')
    );
    expect([code, err]).toEqual([0, '']);
    expect(out.split('\n')).toEqual(
      expect.arrayContaining(['#$ -pe smp 4', '#$ -l arch=lx-amd64'])
    );
    const said = await muster(
      'header --backend grid --tasks 4 --site parallelEnvironment=mpi'.split(
        ' '
      )
    );
    expect(said.out).toContain('#$ -pe mpi 4\n');
    const unknown = await muster('header --backend gird'.split(' '));
    expect(unknown.err).toContain('oar, flux, grid');
  });

  test('settings that are no batch profile are refused by their place', async () => {
    await configured('backends: { slurm: { settings: { shell: sh } } }');
    const { code, err } = await muster('header --backend slurm'.split(' '));
    expect(code).toBe(2);
    expect(err).toContain('muster.yaml: backends.slurm.settings.shell: ');
  });

  test('limits of the site count for the look as for the cluster', async () => {
    await configured('limits: { maximumCores: 4 }');
    const { code, err } = await muster(
      'preview --backend slurm --worker-cores 8'.split(' ')
    );
    expect(code).toBe(1);
    expect(err).toContain('8 of cores asked for in all, 4 allowed here');
  });
});
