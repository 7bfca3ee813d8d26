import { describe, expect, it } from '@jest/globals';
import {
  inside,
  launcher,
  line,
  refusal,
  render,
  two
} from './fixtures/lines.js';

const HOSTS = { hosts: ['n1', 'n2'] };

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
    // Recorded: Open MPI refuses -n 8 in there ("ompi5-alloc-slurm-1task-8cpu").
    const one = inside('one task of eight cpus is one slot');
    expect(
      launcher('open-mpi').validate({ tasks: 8 }, { allocation: one })[0]
        ?.message
    ).toContain('head has 1, 8 are asked for');
    expect(
      launcher('mpich').validate({ tasks: 8 }, { allocation: one })
    ).toEqual([]);
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
