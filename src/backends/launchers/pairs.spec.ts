import { describe, expect, it } from '@jest/globals';
import { ALLOCATION_KINDS, type AllocationKind } from '../allocation/index.js';
import { SpecError } from '../batch/errors.js';
import {
  inside,
  launcher,
  line,
  refusal,
  render,
  two
} from './fixtures/lines.js';
import { launchers, shellLine, type LaunchContext } from './index.js';

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
