import { describe, expect, it } from '@jest/globals';
import { launcher, line, refusal, render } from './fixtures/lines.js';
import { type LaunchSpecInput } from './index.js';

const SHAPES: readonly (readonly [string, LaunchSpecInput])[] = [
  ['1 node 1 task', { nodes: 1, tasks: 1 }],
  ['1 node 4 tasks', { nodes: 1, tasksPerNode: 4, cpusPerTask: 2 }],
  ['2 × 3 tasks', { nodes: 2, tasksPerNode: 3, cpusPerTask: 8 }],
  ['GPU', { nodes: 2, tasksPerNode: 2, cpusPerTask: 4, gpusPerTask: 1 }]
];

const HOSTS = { hosts: ['n1', 'n2'] };

describe('the line of each launcher', () => {
  const golden: Record<string, readonly [string, string, string, string]> = {
    srun: [
      'srun -N 1 -n 1 --ntasks-per-node=1 -c 1 --cpu-bind=cores -K0 CMD',
      'srun -N 1 -n 4 --ntasks-per-node=4 -c 2 --cpu-bind=cores -K0 CMD',
      'srun -N 2 -n 6 --ntasks-per-node=3 -c 8 --cpu-bind=cores -K0 CMD',
      'srun -N 2 -n 4 --ntasks-per-node=2 -c 4 --gpus-per-task=1 --gpu-bind=closest --cpu-bind=cores -K0 CMD'
    ],
    jsrun: [
      'jsrun -n 1 -r 1 -a 1 -c 1 -g 0 -b packed:1 -d packed CMD',
      'jsrun -n 4 -r 4 -a 1 -c 2 -g 0 -b packed:2 -d packed CMD',
      'jsrun -n 6 -r 3 -a 1 -c 8 -g 0 -b packed:8 -d packed CMD',
      'jsrun -n 4 -r 2 -a 1 -c 4 -g 1 -b packed:4 -d packed CMD'
    ],
    lrun: [
      'lrun -N1 -T1 CMD',
      'lrun -N1 -T4 CMD',
      'lrun -N2 -T3 CMD',
      'lrun -N2 -T2 CMD'
    ],
    'flux-run': [
      'flux run -N 1 -n 1 -c 1 -o cpu-affinity=per-task CMD',
      'flux run -N 1 -n 4 -c 2 -o cpu-affinity=per-task CMD',
      'flux run -N 2 -n 6 -c 8 -o cpu-affinity=per-task CMD',
      'flux run -N 2 -n 4 -c 4 -g 1 -o cpu-affinity=per-task -o gpu-affinity=per-task CMD'
    ],
    aprun: [
      'aprun -n 1 -N 1 -d 1 -cc depth CMD',
      'aprun -n 4 -N 4 -d 2 -cc depth CMD',
      'aprun -n 6 -N 3 -d 8 -cc depth CMD',
      'aprun -n 4 -N 2 -d 4 -cc depth CMD'
    ],
    ibrun: [
      'ibrun -n 1 -o 0 CMD',
      'ibrun -n 4 -o 0 CMD',
      'ibrun -n 6 -o 0 CMD',
      'ibrun -n 4 -o 0 CMD'
    ],
    pals: [
      'mpiexec -n 1 --ppn 1 --depth 1 --cpu-bind depth CMD',
      'mpiexec -n 4 --ppn 4 --depth 2 --cpu-bind depth CMD',
      'mpiexec -n 6 --ppn 3 --depth 8 --cpu-bind depth CMD',
      'mpiexec -n 4 --ppn 2 --depth 4 --cpu-bind depth CMD'
    ]
  };

  it.each(
    Object.entries(golden).flatMap(([name, lines]) =>
      SHAPES.map(([shape, spec], at) => [name, shape, spec, lines[at]] as const)
    )
  )('%s, %s', (name, _shape, spec, expected) => {
    expect(line(name, spec)).toBe(expected);
  });

  it('Open MPI 5 has one --map-by and no input', () => {
    expect(line('open-mpi', { tasks: 4, cpusPerTask: 2 })).toBe(
      'mpirun -n 4 --map-by ppr:4:node:PE=2 --bind-to core --stdin none CMD'
    );
    expect(
      line('open-mpi', {
        ...HOSTS,
        tasksPerNode: 3,
        label: true,
        workdir: '/w',
        env: { A: 'b c' }
      })
    ).toBe(
      'mpirun -n 6 --map-by ppr:3:node:PE=1 --bind-to core --hostfile F -x A --wdir /w --output tag --stdin none CMD'
    );
    expect(line('open-mpi', { tasks: 3, oversubscribe: true })).toBe(
      'mpirun -n 3 --map-by ppr:3:node:OVERSUBSCRIBE --bind-to none --stdin none CMD'
    );
  });

  it('Open MPI 4 has its own spellings', () => {
    expect(
      line(
        'open-mpi',
        { ...HOSTS, tasksPerNode: 3, label: true, oversubscribe: true },
        { dialect: '4' }
      )
    ).toBe(
      'mpirun -np 6 --map-by ppr:3:node --bind-to none --hostfile F --oversubscribe --tag-output CMD'
    );
  });

  it('MPICH and Intel MPI read files of different forms', () => {
    const mpich = render('mpich', {
      ...HOSTS,
      tasksPerNode: 2,
      cpusPerTask: 4
    });
    expect(mpich.argv.join(' ')).toBe(
      'mpiexec -n 4 -ppn 2 -f F -bind-to core:4 CMD'
    );
    expect(mpich.hostFile?.text).toBe('n1:2\nn2:2\n');
    const intel = render('intel-mpi', {
      ...HOSTS,
      tasksPerNode: 2,
      cpusPerTask: 4
    });
    expect(intel.argv.join(' ')).toBe('mpiexec.hydra -n 4 -ppn 2 -f F CMD');
    expect(intel.hostFile?.text).toBe('n1\nn2\n');
    expect(intel.env).toEqual({ I_MPI_PIN_DOMAIN: '4' });
    expect(render('open-mpi', HOSTS).hostFile?.text).toBe(
      'n1 slots=1\nn2 slots=1\n'
    );
  });

  it('different numbers of tasks on different hosts go by files, not by one number', () => {
    const uneven = {
      hosts: [
        { host: 'n1', slots: 3 },
        { host: 'n2', slots: 1 }
      ]
    };
    expect(line('open-mpi', uneven)).toBe(
      'mpirun -n 4 --map-by slot:PE=1 --bind-to core --hostfile F --stdin none CMD'
    );
    expect(line('mpich', uneven)).toBe('mpiexec -n 4 -f F -bind-to core:1 CMD');
    const intel = render('intel-mpi', uneven);
    expect(intel.argv.join(' ')).toBe('mpiexec.hydra -n 4 -machinefile F CMD');
    expect(intel.hostFile?.text).toBe('n1:3\nn2:1\n');
    const slurm = render('srun', uneven, { scheduler: 'slurm' });
    expect(slurm.argv.join(' ')).toBe(
      'srun -N 2 -n 4 --distribution=arbitrary -c 1 --cpu-bind=cores -K0 CMD'
    );
    expect(slurm.env).toEqual({ SLURM_HOSTFILE: 'F' });
    expect(slurm.hostFile?.text).toBe('n1\nn1\nn1\nn2\n');
    expect(refusal(() => render('flux-run', uneven))).toContain(
      'different numbers of tasks'
    );
  });

  it('without a launcher one program is itself, several are started and waited for', () => {
    expect(line('none', {})).toBe('CMD');
    expect(render('none', { tasks: 3 }).argv.slice(-3)).toEqual([
      'muster-start',
      '3',
      'CMD'
    ]);
    expect(refusal(() => render('none', { nodes: 2 }))).toContain(
      'this host only'
    );
  });

  it('several programs have their own counts', () => {
    const argv = launcher('open-mpi').launchCommand(
      { tasks: 3, mpmd: [{ tasks: 2, command: ['b', 'x y'] }] },
      ['a', '-v'],
      { dialect: '5' }
    ).argv;
    expect(argv).toEqual([
      ...'mpirun -n 1 --map-by slot:PE=1 --bind-to core --stdin none a -v : -n 2 b'.split(
        ' '
      ),
      'x y'
    ]);
    expect(
      refusal(() =>
        render('srun', { tasks: 2, mpmd: [{ tasks: 1, command: ['b'] }] })
      )
    ).toContain('mpmd: srun cannot');
  });

  it('E1: srun always says the cpus of a task', () => {
    const argv = render('srun', { tasks: 1, cpusPerTask: 8 }).argv;
    expect(argv.slice(argv.indexOf('-c'), argv.indexOf('-c') + 2)).toEqual([
      '-c',
      '8'
    ]);
    expect(render('srun', {}).argv).toContain('-c');
  });

  it('E2: a task that fails does not end its neighbours under srun', () => {
    expect(render('srun', { tasks: 8 }).argv).toContain('-K0');
  });

  it('extra arguments go after ours and before the program', () => {
    expect(line('srun', { extraArgs: ['--mpi=pmix', '--exclusive'] })).toMatch(
      /-K0 --mpi=pmix --exclusive CMD$/
    );
  });

  it('what a launcher does not honour is said', () => {
    expect(render('open-mpi', { gpusPerTask: 1 }).warnings.join()).toContain(
      'does not assign GPUs'
    );
    expect(
      render('lrun', { cpusPerTask: 4, label: true, workdir: '/w' }).warnings
    ).toHaveLength(3);
    expect(
      launcher('open-mpi').launchCommand({}, ['a']).warnings.join()
    ).toContain('version of Open MPI is not known');
  });
});
