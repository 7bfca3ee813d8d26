/** The library as its users get it: packed, installed into an empty project, its example run. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const ROOT = process.cwd();

describe('the packed library in an empty project', () => {
  let folder = '';
  let project = '';

  const run = (program: string, ...args: string[]) =>
    spawnSync(program, args, {
      cwd: project,
      encoding: 'utf8',
      timeout: 120_000
    });

  const node = (program: string) =>
    run('node', '--input-type=module', '-e', program);

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'muster-library-'));
    const packed = execFileSync('script/library', [folder], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    });
    const tarball = packed.trim().split('\n').at(-1) ?? '';
    project = join(folder, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{"private":true}\n');
    const installed = run(
      'npm',
      'install',
      '--no-audit',
      '--no-fund',
      '--prefer-offline',
      tarball
    );
    if (installed.status !== 0) {
      throw new Error(installed.stderr);
    }
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const inside = (path: string): string =>
    readFileSync(
      join(project, 'node_modules', 'jupyterlab-muster', path),
      'utf8'
    );

  it('has nothing of the bridge or the panel, and only the dependencies it uses', () => {
    const { dependencies, exports } = JSON.parse(inside('package.json')) as {
      dependencies: Record<string, string>;
      exports: Record<string, unknown>;
    };
    expect(Object.keys(dependencies).sort()).toEqual(['execa', 'yaml', 'zod']);
    expect(Object.keys(exports)).toContain('./backends');
    const { stdout } = run(
      'find',
      'node_modules/jupyterlab-muster',
      '-type',
      'f'
    );
    expect(stdout).not.toMatch(/bridge|frontend|\.map$|\.spec\./m);
    expect(stdout).toMatch(/lib\/backends\/index\.d\.ts/);
  });

  it('runs the worked example: header, parallel command, submit, allocation', () => {
    writeFileSync(
      join(project, 'workflow.mjs'),
      inside('examples/workflow.mjs')
    );
    const { stdout, stderr, status } = run('node', 'workflow.mjs');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('#SBATCH -n 8\n');
    expect(stdout).toContain(
      "srun -N 2 -n 8 --ntasks-per-node=4 -c 8 --cpu-bind=cores -K0 ./relax --input 'my molecule.xyz'"
    );
    expect(stdout).toContain('#PBS -l select=2:ncpus=32:mpiprocs=4');
    expect(stdout).toContain(
      "mpirun -n 8 --map-by ppr:4:node:PE=8 --bind-to core --stdin none ./relax --input 'my molecule.xyz'"
    );
    expect(stdout).toContain('sbatch --parsable relax.sh\nOK 4711\n');
    expect(stdout).toContain('n1: 32 cpus, n2: 32 cpus');
    expect(stdout).toContain("text: 'n1:4\\nn2:4\\n'");
  });

  it('its scripts are what a shell runs', () => {
    const { stdout } = node(`
      import { launchers, shellLine, systems } from 'jupyterlab-muster/backends';
      const system = systems.slurm;
      const launch = launchers.none.launchCommand({ tasks: 2, env: { WORD: "it's $HOME" } }, ['sh', '-c', 'echo "$MUSTER_RANK $WORD"']);
      process.stdout.write(system.renderScript(system.job({ tasks: 2 }), shellLine(launch)));
    `);
    const ran = spawnSync('bash', [], { input: stdout, encoding: 'utf8' });
    expect(ran.stdout.trim().split('\n').sort()).toEqual([
      "0 it's $HOME",
      "1 it's $HOME"
    ]);
  });

  it('does nothing at import: no process, no handle, no global, nothing printed', () => {
    const { stdout, stderr, status } = node(`
      const before = Object.getOwnPropertyNames(globalThis);
      const handlers = process.eventNames().length;
      const env = JSON.stringify(process.env);
      await import('jupyterlab-muster/backends');
      const after = Object.getOwnPropertyNames(globalThis);
      // The loader itself may leave a message port behind; what keeps a process alive is looked for.
      console.log(JSON.stringify({
        // zod keeps its registry there.
        globals: after.filter(name => !before.includes(name) && !name.startsWith('__zod_')),
        handlers: process.eventNames().length - handlers,
        env: env === JSON.stringify(process.env),
        resources: process.getActiveResourcesInfo().filter(one => !/Pipe|TTY|FSReq|CloseReq|Immediate/.test(one))
      }));
    `);
    expect([status, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({
      globals: [],
      handlers: 0,
      env: true,
      resources: []
    });
  });

  it('runs commands where it is asked to', () => {
    const { stdout, stderr } = node(`
      import { localRunner } from 'jupyterlab-muster/backends';
      const runner = await localRunner({ environment: { PATH: process.env.PATH } });
      const { rc, stdout } = await runner.run({ argv: ['sh', '-c', 'echo "$LC_ALL"; exit 3'], timeoutMs: 10000 });
      await runner.close();
      console.log(rc, stdout);
    `);
    expect([stderr, stdout.trim()]).toEqual(['', '3 C']);
  });

  it('its types fit a strict project of Node', () => {
    writeFileSync(
      join(project, 'use.mts'),
      `import { allocation, launchers, shellLine, systems, SpecError, type Launch, type AllocationAnswer } from 'jupyterlab-muster/backends';
const spec = systems.oar.job({ tasks: 2 });
const lines: string[] = systems.oar.resourceHeader(spec).lines;
const launch: Launch = launchers['flux-run'].launchCommand({ nodes: 2 }, ['a']);
const answer: AllocationAnswer = allocation.readAllocation({}, () => null);
const known: 'none' | 'inconsistent' | 'incomplete' | 'allocation' = answer.state;
// @ts-expect-error a launcher that does not exist
launchers.nosuch;
// @ts-expect-error not a number of nodes
launchers.srun.launchCommand({ nodes: 'two' }, ['a']);
export const out = [lines, shellLine(launch), known, SpecError];
`
    );
    const checked = spawnSync(
      'node',
      [
        join(ROOT, 'node_modules/typescript/bin/tsc'),
        '--noEmit',
        '--strict',
        '--exactOptionalPropertyTypes',
        '--target',
        'es2024',
        '--lib',
        'es2024',
        '--module',
        'nodenext',
        // As in any project of Node; ours are used, so that nothing more is fetched.
        '--typeRoots',
        join(ROOT, 'node_modules/@types'),
        '--types',
        'node',
        'use.mts'
      ],
      { cwd: project, encoding: 'utf8', timeout: 120_000 }
    );
    expect([checked.status, checked.stdout]).toEqual([0, '']);
  });
});
