import { describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from './index.js';

async function muster(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {}
): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const code = await runCli(args, {
    out: text => {
      out += text;
    },
    err: text => {
      err += text;
    },
    environment,
    outIsTerminal: false,
    errIsTerminal: false,
    readStdin: () => Promise.resolve(''),
    program: null
  });
  return { code, out, err };
}

const words = (text: string) => text.split(' ');

describe('muster header', () => {
  test('prints the exact lines a batch system reads, without it being installed', async () => {
    const { code, out, err } = await muster([
      ...words('header --backend slurm --nodes 2 --tasks-per-node 4'),
      ...words('--cpus-per-task 8 --walltime 2:30:00 --queue main'),
      '--memory',
      '2 GiB',
      '--memory-per',
      'cpu',
      '--native=--licenses=a',
      '--native=--nice=5'
    ]);
    expect([code, err]).toEqual([0, '']);
    const lines = out.trimEnd().split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        '#SBATCH -N 2',
        '#SBATCH -n 8',
        '#SBATCH -c 8',
        '#SBATCH --mem-per-cpu=2048M',
        '#SBATCH -t 0-02:30:00',
        '#SBATCH -p main',
        '#SBATCH --licenses=a',
        '#SBATCH --nice=5'
      ])
    );
    expect(lines.every(line => line.startsWith('#SBATCH '))).toBe(true);
  });

  test('with a command it prints the whole script', async () => {
    const { out } = await muster([
      ...words('header --backend pbs --tasks 2 --array 0-4:2 --'),
      './program',
      '--json',
      "it's"
    ]);
    expect(out).toMatch(/^#!\/bin\/bash\n#PBS /);
    expect(out).toContain("./program --json 'it'\\''s'");
    expect(out).toContain('#PBS -J 0-4:2');
  });

  test('--json is the same for programs, with what is not carried out', async () => {
    const { out, err } = await muster(
      words('header --backend torque --tasks 2 --json --walltime 1h')
    );
    expect(JSON.parse(out)).toMatchObject({
      backend: 'torque',
      lines: expect.arrayContaining(['#PBS -l walltime=1:00:00']),
      notHonoured: [],
      warnings: []
    });
    expect(err).toBe('');
  });

  test('a wrong option is named, with the accepted values', async () => {
    const wrong = async (line: string) => {
      const { code, err } = await muster(words(`header ${line}`));
      expect(code).toBe(2);
      return err;
    };
    expect(await wrong('--backend nosuch')).toContain(
      "--backend: 'nosuch' is not one of slurm, pbs, torque, sge, lsf, htcondor, oar, flux"
    );
    expect(await wrong('--backend slurm --nodes two')).toContain(
      "--nodes: 'two' is not a whole number"
    );
    expect(
      await wrong('--backend slurm --nodes 2 --tasks 9 --tasks-per-node 4')
    ).toContain('--tasks: 2 nodes × 4 tasks per node is not 9 tasks');
    expect(await wrong('--backend slurm --walltime 90')).toContain(
      '--walltime:'
    );
    expect(
      await wrong('--backend slurm --memory 4 --memory-per core')
    ).toContain("--memory-per: 'core' is not one of job, node, cpu, task, gpu");
    expect(await wrong('--backend slurm --placement round')).toContain(
      'Allowed choices are pack, scatter, any'
    );
    expect(await wrong('--backend slurm --array 5-1')).toContain('--array:');
    expect(await wrong('--tasks 1')).toContain('--backend');
    expect(await wrong('--backend slurm --site smp')).toContain('--site:');
  });

  test('data of the site goes in, and its own batch system can be described', async () => {
    const { code, out } = await muster(
      words('header --backend sge --tasks 4 --site parallelEnvironment=smp')
    );
    expect([code, out.includes('#$ -pe smp 4')]).toEqual([0, true]);
    const cobalt = await muster(
      words(
        'header --backend cobalt --system docs/batch-systems/cobalt.yaml --nodes 2 --walltime 10m'
      )
    );
    expect([cobalt.code, cobalt.err]).toEqual([0, expect.any(String)]);
    expect(cobalt.out).toContain('COBALT');
    const missing = await muster(words('header --backend x --system /nowhere'));
    expect([missing.code, missing.err]).toEqual([
      2,
      expect.stringContaining('--system:')
    ]);
  });
});

describe('muster launch-line', () => {
  test('prints the line of a launcher, quoted for a shell', async () => {
    const { code, out, err } = await muster([
      ...words('launch-line --launcher srun --nodes 2 --tasks-per-node 4'),
      ...words('--cpus-per-task 8 --extra=--exclusive --'),
      './relax',
      'my molecule.xyz'
    ]);
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe(
      "srun -N 2 -n 8 --ntasks-per-node=4 -c 8 --cpu-bind=cores -K0 --exclusive ./relax 'my molecule.xyz'\n"
    );
  });

  test('says which file of hosts must be there', async () => {
    const line = words(
      'launch-line --launcher open-mpi --dialect 4 --hosts n1:3,n2:1 --host-file F -- a'
    );
    const people = await muster(line);
    expect(people.out).toBe(
      'mpirun -np 4 --map-by slot:PE=1 --bind-to core --hostfile F a\n'
    );
    expect(people.err).toBe('note: F must hold:\n  n1 slots=3\n  n2 slots=1\n');
    const programs = await muster(['--json', ...line]);
    expect(JSON.parse(programs.out)).toMatchObject({
      launcher: 'open-mpi',
      argv: expect.arrayContaining(['--hostfile', 'F']),
      hostFile: { path: 'F', text: 'n1 slots=3\nn2 slots=1\n' }
    });
  });

  test('the usual launcher of the batch system where none is named', async () => {
    const { out } = await muster(
      words('launch-line --scheduler flux --nodes 2 -- a')
    );
    expect(out).toMatch(/^flux run -N 2 -n 2 /);
    const oar = await muster(
      words('launch-line --scheduler oar --launcher mpich --nodes 2 -- a')
    );
    expect(oar.out).toContain('-f "$OAR_NODEFILE"');
  });

  test('a pair that cannot work and a wrong option are refused by name', async () => {
    const wrong = async (line: string) => {
      const { code, err } = await muster(words(`launch-line ${line}`));
      expect(code).toBe(2);
      return err;
    };
    expect(await wrong('--launcher srun --scheduler pbs -- a')).toContain(
      '--launcher: srun starts programs in allocations of Slurm only; this is one of PBS'
    );
    expect(await wrong('--launcher mpirun -- a')).toContain(
      "--launcher: 'mpirun' is not one of srun, open-mpi,"
    );
    expect(await wrong('--launcher open-mpi --dialect 3 -- a')).toContain(
      "--dialect: '3' is not one of 5, 4"
    );
    expect(await wrong('--scheduler nosuch -- a')).toContain('--scheduler:');
    expect(await wrong('--launcher jsrun --hosts n1 -- a')).toContain(
      '--hosts:'
    );
    expect(await wrong('--launcher srun --tasks 3 --nodes 2 -- a')).toContain(
      '--tasks:'
    );
    expect(await wrong('--launcher srun')).toContain('command');
  });

  test('inside an allocation the hosts are its own', async () => {
    const environment = {
      SLURM_JOB_ID: '7',
      SLURM_JOB_NODELIST: 'n[1-2]',
      SLURM_JOB_CPUS_PER_NODE: '8(x2)',
      SLURM_TASKS_PER_NODE: '2(x2)',
      PATH: '/nowhere'
    };
    const { out } = await muster(
      words('launch-line --inside --cpus-per-task 4 -- a'),
      environment
    );
    expect(out).toBe(
      'srun -N 2 -n 4 --ntasks-per-node=2 -c 4 --cpu-bind=cores -K0 a\n'
    );
    const large = await muster(
      words('launch-line --inside --cpus-per-task 9 -- a'),
      environment
    );
    expect([large.code, large.err]).toEqual([
      2,
      expect.stringContaining('--cpus-per-task: 2 tasks × 9 cpus')
    ]);
    const outside = await muster(words('launch-line --inside -- a'));
    expect([outside.code, outside.err]).toEqual([
      1,
      expect.stringContaining('not inside an allocation')
    ]);
  });
});

describe('muster allocation', () => {
  test('shows what the job has and what time is left', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-allocation-'));
    try {
      const squeue = join(folder, 'squeue');
      await writeFile(squeue, "#!/bin/sh\necho 'RUNNING|1:00:00'\n", {
        mode: 0o755
      });
      const environment = {
        SLURM_JOB_ID: '7',
        SLURM_JOB_NODELIST: 'n[1-2]',
        SLURM_JOB_CPUS_PER_NODE: '8(x2)',
        SLURM_TASKS_PER_NODE: '2(x2)',
        SLURM_MEM_PER_NODE: '1024',
        PATH: folder
      };
      const people = await muster(['allocation'], environment);
      expect([people.code, people.err]).toEqual([0, '']);
      expect(people.out).toMatch(/job +slurm 7\n/);
      expect(people.out).toMatch(/time left +1 h/);
      expect(people.out).toMatch(/HOST +TASKS +CPUS +MEMORY +GPUS\n/);
      expect(people.out).toMatch(/n2 +2 +8 +1(\.00)? GiB +\?/);
      const programs = await muster(['allocation', '--json'], environment);
      expect(JSON.parse(programs.out)).toMatchObject({
        state: 'allocation',
        allocation: { kind: 'slurm', nodes: [{ host: 'n1' }, { host: 'n2' }] },
        timeLeft: { seconds: 3600, certainty: 'likely' }
      });
      const unasked = await muster(
        ['allocation', '--json', '--no-ask'],
        environment
      );
      expect(JSON.parse(unasked.out)).not.toHaveProperty('timeLeft');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('outside of any it says so; what contradicts itself is a failure with the reason', async () => {
    expect(await muster(['allocation'])).toEqual({
      code: 0,
      out: 'not inside an allocation\n',
      err: ''
    });
    const bad = await muster(['--json', 'allocation'], {
      SLURM_JOB_ID: '7',
      SLURM_JOB_NODELIST: 'n[2-1]',
      PATH: '/nowhere'
    });
    expect(bad.code).toBe(1);
    expect(bad.err).toContain("slurm job 7: 'n[2-1]' is not a host list");
    expect(JSON.parse(bad.out)).toMatchObject({
      state: 'inconsistent',
      timeLeft: { seconds: 'unknown' }
    });
  });
});
