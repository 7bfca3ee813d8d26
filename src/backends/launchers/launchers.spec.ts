import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  ALLOCATION_KINDS,
  readAllocation,
  type Allocation,
  type AllocationKind
} from '../allocation/index.js';
import { environmentCases, filesOf } from '../allocation/fixtures/cases.js';
import { SpecError } from '../batch/errors.js';
import {
  chooseLauncher,
  identify,
  judgeRanks,
  launchers,
  readRank,
  shellLine,
  type Launch,
  type LaunchContext,
  type Launcher,
  type LaunchSpecInput
} from './index.js';

function launcher(name: string): Launcher {
  const found = launchers.get(name);
  if (found === undefined) {
    throw new Error(`no launcher ${name}`);
  }
  return found;
}

function render(
  name: string,
  spec: LaunchSpecInput,
  context: LaunchContext = {}
): Launch {
  const { dialects } = launcher(name).describe();
  return launcher(name).launchCommand(spec, ['CMD'], {
    dialect: dialects[0],
    hostFile: 'F',
    ...context
  });
}

function line(
  name: string,
  spec: LaunchSpecInput,
  context: LaunchContext = {}
): string {
  return render(name, spec, context).argv.join(' ');
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof SpecError) {
      return error.message;
    }
    throw error;
  }
  throw new Error('nothing was refused');
}

/** One case of the allocation fixtures as an allocation. */
function inside(name: string): Allocation {
  const one = environmentCases.find(found => found.name === name);
  const answer = readAllocation(one?.env ?? {}, filesOf(one?.files), {
    answers: one?.answers ?? {}
  });
  if (answer.state !== 'allocation') {
    throw new Error(`${name}: ${JSON.stringify(answer)}`);
  }
  return answer.allocation;
}

/** Two nodes of 8 cpus and 2 GPUs, 2 tasks on each, in the words of each batch system. */
function two(kind: AllocationKind): Allocation {
  const nodes = ['n1', 'n2'].map(host => ({
    host,
    tasks: 2,
    cpus: 8,
    memBytes: null,
    gpus: ['0', '1']
  }));
  const some = kind === 'htcondor' ? nodes.slice(0, 1) : nodes;
  return {
    kind,
    id: '7',
    incarnation: null,
    array: null,
    nodes: some,
    groups: [{ id: '7', nodes: some }],
    nodeFile: null,
    launchNode: null,
    source: ['test'],
    warnings: []
  };
}

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

describe('a launch that is not possible', () => {
  it('names the three numbers that do not fit', () => {
    expect(
      refusal(() => render('srun', { nodes: 2, tasks: 9, tasksPerNode: 4 }))
    ).toBe('tasks: 2 nodes × 4 tasks per node is not 9 tasks');
    expect(refusal(() => render('srun', { nodes: 2, tasks: 3 }))).toContain(
      '3 tasks cannot be put evenly on 2 nodes'
    );
    expect(
      refusal(() => render('srun', { tasks: 9, tasksPerNode: 4 }))
    ).toContain('9 tasks cannot be put 4 on each node');
  });

  it('solves the number that is missing', () => {
    expect(line('srun', { tasks: 8, tasksPerNode: 4 })).toContain('-N 2 -n 8');
    expect(line('srun', { nodes: 3, tasks: 6 })).toContain(
      '-N 3 -n 6 --ntasks-per-node=2'
    );
  });

  it('says every problem at once, by field', () => {
    const problems = launcher('srun').validate(
      { nodes: 3, gpusPerTask: 4, cpusPerTask: 9 },
      { allocation: two('pbs') }
    );
    expect(problems.map(one => one.field)).toEqual(['launcher', 'nodes']);
    const more = launcher('srun').validate(
      { nodes: 2, gpusPerTask: 4, cpusPerTask: 9 },
      { allocation: two('slurm') }
    );
    expect(more.map(one => one.field)).toEqual([
      'cpusPerTask',
      'gpusPerTask',
      'cpusPerTask',
      'gpusPerTask'
    ]);
    expect(more[0]?.message).toBe('1 tasks × 9 cpus are more than the 8 of n1');
  });

  it('more tasks than cores are refused unless it is asked for', () => {
    const context = { allocation: two('slurm') };
    const spec = { nodes: 2, tasksPerNode: 9 };
    expect(launcher('srun').validate(spec, context)[0]?.message).toContain(
      '9 tasks × 1 cpus are more than the 8 of n1'
    );
    expect(line('srun', { ...spec, oversubscribe: true }, context)).toContain(
      '--overcommit'
    );
  });

  it('memory counts like cpus, and what is not known is not judged', () => {
    const allocation = inside('three Slurm nodes with two tasks each');
    const check = (memoryPerTask: string) =>
      launcher('srun').validate(
        { tasksPerNode: 2, memoryPerTask },
        { allocation }
      );
    expect(check('100 MiB')).toEqual([]);
    expect(check('101 MiB')[0]?.field).toBe('memoryPerTask');
    expect(
      launcher('srun').validate(
        { memoryPerTask: '1 TB' },
        { allocation: two('slurm') }
      )
    ).toEqual([]);
  });

  it('Open MPI takes its slots from the tasks of a job, not from its cpus', () => {
    const allocation = two('slurm');
    const problems = launcher('open-mpi').validate(
      { nodes: 2, tasksPerNode: 8 },
      { allocation, dialect: '5' }
    );
    expect(problems[0]?.message).toContain('n1 has 2, 8 are asked for');
    expect(
      launcher('open-mpi').validate(
        { nodes: 2, tasksPerNode: 8, oversubscribe: true },
        { allocation, dialect: '5' }
      )
    ).toEqual([]);
    expect(
      launcher('srun').validate({ nodes: 2, tasksPerNode: 8 }, { allocation })
    ).toEqual([]);
  });

  it('a host that is not in the allocation is refused; a part of it is named', () => {
    const allocation = two('slurm');
    expect(
      launcher('srun').validate({ hosts: ['n9'] }, { allocation })[0]?.message
    ).toBe('n9 is not in the allocation');
    expect(line('srun', { hosts: ['n2'] }, { allocation })).toContain(
      '--nodelist=n2'
    );
    expect(line('srun', { nodes: 1 }, { allocation })).toContain(
      '--nodelist=n1'
    );
    expect(line('srun', { nodes: 2 }, { allocation })).not.toContain(
      'nodelist'
    );
  });

  it('nodes too small are passed over where others can carry the task', () => {
    const allocation = two('slurm');
    const [first] = allocation.nodes;
    if (first !== undefined) {
      first.cpus = 1;
    }
    expect(
      line('srun', { nodes: 1, cpusPerTask: 4 }, { allocation })
    ).toContain('--nodelist=n2');
  });

  it('one launch does not span the groups of a heterogeneous job', () => {
    const allocation = inside(
      'a heterogeneous Slurm job is the sum of its groups, not the first one'
    );
    expect(
      launcher('srun').validate({ nodes: 2 }, { allocation })[0]?.message
    ).toContain('does not span groups');
    expect(line('srun', { group: 1 }, { allocation })).toContain(
      '-N 1 -n 2 --ntasks-per-node=2 -c 1 --cpu-bind=cores -K0 --het-group=1'
    );
    expect(
      launcher('srun').validate({ group: 2 }, { allocation })
    ).toHaveLength(1);
  });

  it('a program that would be read as an option, a variable or another program is refused', () => {
    const why = (command: string[], name = 'open-mpi') =>
      refusal(() => launcher(name).launchCommand({}, command));
    expect(why(['-x'])).toContain("write './-x'");
    expect(why([])).toContain('names no program');
    expect(why([''])).toContain('names no program');
    expect(why(['A=b'])).toContain('give variables in env');
    expect(why(['echo', 'a', ':', 'b'])).toContain("the word ':'");
    expect(launcher('srun').launchCommand({}, ['echo', ':']).argv.at(-1)).toBe(
      ':'
    );
  });

  it('a host file needs a place', () => {
    expect(
      refusal(() =>
        launcher('mpich').launchCommand(HOSTS, ['a'], { dialect: 'hydra' })
      )
    ).toContain('hostFile: this launch needs a file of hosts');
    expect(launcher('mpich').validate(HOSTS)).toEqual([]);
  });
});

describe('each launcher inside the allocation of each batch system', () => {
  /** `x`: cannot work. Otherwise how hosts are told: by itself, by a file, by option. */
  const TABLE: Record<string, Partial<Record<AllocationKind, string>>> = {
    srun: { slurm: 'itself' },
    'flux-run': { flux: 'itself' },
    jsrun: { lsf: 'itself' },
    lrun: { lsf: 'itself' },
    aprun: {
      pbs: 'itself',
      torque: 'itself',
      slurm: 'itself',
      cobalt: 'itself'
    },
    ibrun: { slurm: 'itself', sge: 'itself' },
    pals: { pbs: 'itself' },
    'open-mpi': {
      slurm: 'itself',
      pbs: 'itself',
      torque: 'itself',
      sge: 'file',
      lsf: 'file',
      oar: 'file',
      flux: 'file',
      cobalt: 'file',
      htcondor: 'file'
    },
    mpich: Object.fromEntries(ALLOCATION_KINDS.map(kind => [kind, 'file'])),
    'intel-mpi': Object.fromEntries(
      ALLOCATION_KINDS.map(kind => [kind, 'file'])
    ),
    none: { htcondor: 'itself' }
  };

  const pairs = [...launchers.keys()].flatMap(name =>
    ALLOCATION_KINDS.map(kind => [name, kind] as const)
  );

  it.each(pairs)('%s in %s', (name, kind) => {
    const context: LaunchContext = {
      allocation: two(kind),
      dialect: launcher(name).describe().dialects[0],
      hostFile: 'F'
    };
    const spec = { cpusPerTask: 4, tasksPerNode: kind === 'htcondor' ? 1 : 2 };
    const expected = TABLE[name]?.[kind];
    if (expected === undefined) {
      const problems = launcher(name).validate(spec, context);
      expect(problems.map(one => one.message).join()).toMatch(
        name === 'none' ? /this host only/ : /only; this is one of/
      );
      expect(() => render(name, spec, context)).toThrow(SpecError);
      return;
    }
    const launch = render(name, spec, context);
    expect(launcher(name).validate(spec, context)).toEqual([]);
    expect(launch.argv.at(-1)).toBe('CMD');
    const tasks = kind === 'htcondor' ? 1 : 4;
    if (name !== 'none' && name !== 'lrun') {
      expect(launch.argv).toContain(String(tasks));
    }
    if (expected === 'file') {
      expect(launch.argv).toContain('F');
      const hosts = launch.hostFile?.text?.match(/^n\d/gm);
      expect(hosts).toEqual(kind === 'htcondor' ? ['n1'] : ['n1', 'n2']);
    } else {
      expect(launch.hostFile).toBeNull();
    }
  });

  it('all nodes and the tasks on each are those of the allocation where nothing is asked for', () => {
    const uneven = inside('two named Torque nodes of two and one slots');
    expect(render('mpich', {}, { allocation: uneven })).toMatchObject({
      argv: ['mpiexec', '-n', '3', '-f', 'F', '-bind-to', 'core:1', 'CMD'],
      hostFile: { text: 'head:2\nc1:1\n' }
    });
    expect(
      line(
        'srun',
        {},
        { allocation: inside('three Slurm nodes with two tasks each') }
      )
    ).toContain('-N 3 -n 6 --ntasks-per-node=2');
  });

  it('Intel MPI is told how to start programs where its own way is missing', () => {
    expect(line('intel-mpi', {}, { allocation: two('pbs') })).toBe(
      'mpiexec.hydra -n 4 -ppn 2 -f F -bootstrap ssh CMD'
    );
    expect(line('intel-mpi', {}, { allocation: two('lsf') })).toContain(
      '-bootstrap lsf'
    );
    expect(
      render('intel-mpi', {}, { allocation: two('slurm') }).env
    ).toMatchObject({ I_MPI_JOB_RESPECT_PROCESS_PLACEMENT: '0' });
  });

  it('before the job exists the host file of the batch system stands in the line by its variable', () => {
    const launch = render('open-mpi', { nodes: 2 }, { scheduler: 'oar' });
    expect(launch.hostFile).toEqual({
      path: '$OAR_NODEFILE',
      text: null,
      variable: 'OAR_NODEFILE'
    });
    expect(shellLine(launch)).toContain('--hostfile "$OAR_NODEFILE" ');
    expect(
      shellLine(render('mpich', { nodes: 2 }, { scheduler: 'oar' }))
    ).toContain('-f "$OAR_NODEFILE" -launcher ssh');
    expect(
      shellLine(render('intel-mpi', { nodes: 2 }, { scheduler: 'oar' }))
    ).toContain('-machinefile "$OAR_NODEFILE"');
    expect(
      render('intel-mpi', { nodes: 2 }, { scheduler: 'pbs' }).hostFile
    ).toBeNull();
    expect(
      refusal(() => render('open-mpi', { nodes: 2 }, { scheduler: 'flux' }))
    ).toContain('render inside the allocation');
    expect(refusal(() => render('mpich', { nodes: 2 }))).toContain(
      'outside of a batch system'
    );
  });
});

describe('versions', () => {
  type Recorded = {
    case: string;
    argv: string[];
    stdout: string;
    stderr: string;
    expect: { launcher: string; dialect: string; version: string } | null;
  };
  const recorded = JSON.parse(
    readFileSync(new URL('./fixtures/versions.json', import.meta.url), 'utf8')
  ) as Recorded[];

  it.each(recorded.map(one => [one.case, one] as const))('%s', (_name, one) => {
    const answer = identify(`${one.stdout}\n${one.stderr}`);
    if (one.expect === null) {
      expect(answer).toBeNull();
    } else {
      expect(answer).toEqual({
        name: one.expect.launcher,
        dialect: one.expect.dialect,
        version: one.expect.version,
        warnings: []
      });
    }
  });

  it('an unknown version is rendered as the newest we know, with a warning', () => {
    expect(identify('mpirun (Open MPI) 6.1.0')).toMatchObject({
      dialect: '5',
      version: '6.1.0',
      warnings: [expect.stringContaining('newer than what we know')]
    });
    expect(refusal(() => render('open-mpi', {}, { dialect: '3' }))).toContain(
      "dialect: '3' is not one of 5, 4"
    );
  });
});

describe('which launcher', () => {
  it('explicit, then the profile, then the kind of the allocation', () => {
    const mpi = 'mpirun (Open MPI) 4.1.4';
    const name = (known: Parameters<typeof chooseLauncher>[0]) =>
      chooseLauncher(known).name;
    expect(name({ explicit: 'mpich', site: 'srun', kind: 'flux' })).toBe(
      'mpich'
    );
    expect(name({ site: 'srun', kind: 'flux' })).toBe('srun');
    expect(name({ kind: 'flux', versionText: mpi })).toBe('flux-run');
    expect(name({ kind: 'lsf', jsrun: true })).toBe('jsrun');
    expect(name({ kind: 'pbs', versionText: 'PALS 1.3.2' })).toBe('pals');
    expect(name({ kind: 'slurm', versionText: mpi })).toBe('srun');
    expect(chooseLauncher({ kind: 'pbs', versionText: mpi })).toMatchObject({
      name: 'open-mpi',
      dialect: '4'
    });
    expect(name({})).toBe('open-mpi');
  });
});

describe('ranks', () => {
  it('the innermost launcher says which rank this is', () => {
    const batch = { SLURM_PROCID: '0', SLURM_LOCALID: '0', SLURM_NTASKS: '6' };
    expect(readRank({})).toBeNull();
    expect(readRank(batch)).toEqual({
      family: 'Slurm',
      rank: 0,
      localRank: 0,
      size: 6
    });
    expect(
      readRank({
        ...batch,
        OMPI_COMM_WORLD_RANK: '3',
        OMPI_COMM_WORLD_LOCAL_RANK: '1',
        OMPI_COMM_WORLD_SIZE: '4',
        PMIX_RANK: '3'
      })
    ).toMatchObject({ family: 'Open MPI', rank: 3, localRank: 1, size: 4 });
    expect(
      readRank({ ...batch, PMI_RANK: '2', MPI_LOCALRANKID: '0', PMI_SIZE: '4' })
    ).toMatchObject({ family: 'Hydra', rank: 2, size: 4 });
    const flux = environmentCases.find(one =>
      one.name.startsWith('with stale variables')
    );
    expect(readRank(flux?.env ?? {})).toMatchObject({ family: 'PALS' });
  });

  it('E3: every rank is rank 0 of 1 where launcher and library are of different kinds', () => {
    const alone = { rank: 0, size: 1 };
    expect(judgeRanks(3, [alone, alone, alone])).toContain('different kinds');
    expect(
      judgeRanks(
        2,
        [0, 1].map(rank => ({ rank, size: 2 }))
      )
    ).toBeNull();
    expect(
      judgeRanks(
        3,
        [0, 2].map(rank => ({ rank, size: 3 }))
      )
    ).toContain('missing: 1');
    expect(judgeRanks(1, [alone])).toBeNull();
  });
});

describe('hostile words', () => {
  const words = fc.array(
    fc.string({ maxLength: 20 }).filter(one => !one.includes('\0')),
    {
      maxLength: 6
    }
  );

  it('arguments, variables and folders reach the program unchanged, or are refused', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...launchers.keys()),
        words,
        fc.dictionary(fc.constantFrom('A', '_b'), fc.string()),
        fc.string({ minLength: 1 }),
        (name, argv, env, workdir) => {
          try {
            const command = ['program', ...argv];
            const launch = launcher(name).launchCommand(
              { env, workdir },
              command,
              { hostFile: 'F' }
            );
            expect(launch.argv.slice(-command.length)).toEqual(command);
            expect(launch.env).toMatchObject(env);
            for (const value of Object.values(env)) {
              if (value.length > 8 && value !== workdir) {
                expect(launch.argv.slice(0, -command.length)).not.toContain(
                  value
                );
              }
            }
          } catch (error) {
            expect(error).toBeInstanceOf(SpecError);
          }
        }
      ),
      { numRuns: 1500 }
    );
  });

  it('a shell reads the line back as the same words', () => {
    fc.assert(
      fc.property(words, argv => {
        const launch = launcher('none').launchCommand({}, [
          'printf',
          '%s\\0',
          ...argv,
          'end'
        ]);
        const out = execFileSync('sh', ['-c', shellLine(launch)], {
          encoding: 'utf8'
        });
        expect(out).toBe([...argv, 'end', ''].join('\0'));
      }),
      { numRuns: 60 }
    );
  });

  it('every spec is rendered by every launcher or refused with the fields named', () => {
    const spec = fc.record(
      {
        nodes: fc.integer({ min: -1, max: 5 }),
        tasks: fc.integer({ min: 0, max: 12 }),
        tasksPerNode: fc.integer({ min: 0, max: 5 }),
        cpusPerTask: fc.integer({ min: 1, max: 10 }),
        gpusPerTask: fc.integer({ min: 0, max: 3 }),
        oversubscribe: fc.boolean(),
        hosts: fc.array(fc.constantFrom('n1', 'n2', 'x', '-n'), {
          maxLength: 3
        })
      },
      { requiredKeys: [] }
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...launchers.keys()),
        fc.constantFrom(null, ...ALLOCATION_KINDS),
        spec,
        (name, kind, asked) => {
          const context: LaunchContext =
            kind === null ? {} : { allocation: two(kind) };
          const problems = launcher(name).validate(asked, context);
          if (problems.length === 0) {
            const launch = render(name, asked, context);
            expect(launch.argv.every(one => typeof one === 'string')).toBe(
              true
            );
          } else {
            expect(problems.every(one => /^[a-z]/i.test(one.field))).toBe(true);
            expect(() => render(name, asked, context)).toThrow(SpecError);
          }
        }
      ),
      { numRuns: 2000 }
    );
  });
});

describe('starting several programs without a launcher', () => {
  const start = (tasks: number, script: string) => {
    const { argv } = launcher('none').launchCommand({ tasks }, [
      'sh',
      '-c',
      script
    ]);
    const [program = '', ...rest] = argv;
    return spawnSync(program, rest, { encoding: 'utf8', timeout: 20_000 });
  };

  it('each one knows its rank, and all are waited for', () => {
    const { stdout, status } = start(
      3,
      'sleep 0.1; echo "$MUSTER_RANK of $MUSTER_SIZE"'
    );
    expect(stdout.trim().split('\n').sort()).toEqual([
      '0 of 3',
      '1 of 3',
      '2 of 3'
    ]);
    expect(status).toBe(0);
  });

  it('the exit code is the first that is not 0', () => {
    expect(start(3, 'exit "$MUSTER_RANK"').status).toBe(1);
    expect(start(2, 'kill -9 $$').status).toBe(137);
  });

  it('a signal goes to all of them', () => {
    const { stdout, status } = start(
      2,
      'trap "echo ended; exit 9" TERM; if [ "$MUSTER_RANK" = 0 ]; then sleep 0.3; kill -TERM "$PPID"; fi; n=0; while [ "$n" -lt 100 ]; do sleep 0.1; n=$((n + 1)); done'
    );
    expect(stdout).toBe('ended\nended\n');
    expect(status).toBe(9);
  });
});
