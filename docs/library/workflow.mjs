// A workflow tool: the header from the batch system, the parallel command from the launcher, and it
// submits when it likes.
import {
  allocation,
  launchers,
  shellLine,
  systems
} from 'jupyterlab-muster/backends';

const shape = { nodes: 2, tasksPerNode: 4, cpusPerTask: 8 };

/** The text of one job script: what is asked of the batch system, then the parallel program. */
function script(system, launcher, dialect) {
  const spec = system.job({
    name: 'relax',
    ...shape,
    memory: { bytes: '2 GiB', per: 'cpu' },
    walltimeSeconds: '2:30:00',
    queue: 'main'
  });
  const { notHonoured, warnings } = system.resourceHeader(spec);
  const launch = launcher.launchCommand(
    shape,
    ['./relax', '--input', 'my molecule.xyz'],
    { scheduler: system.facts.name, dialect }
  );
  for (const text of [...notHonoured, ...warnings, ...launch.warnings]) {
    console.error(
      `note: ${typeof text === 'string' ? text : JSON.stringify(text)}`
    );
  }
  return system.renderScript(spec, shellLine(launch));
}

console.log(script(systems.slurm, launchers.srun));
// The same job elsewhere, with another launcher: one word each.
console.log(script(systems.pbs, launchers['open-mpi'], '5'));

// When it likes: these are the words of the submit command and the meaning of its answer.
const { argv } = systems.slurm.submitArgv('relax.sh');
console.log(argv.join(' '));
const answer = systems.slurm.parseSubmit({
  rc: 0,
  stdout: '4711\n',
  stderr: ''
});
console.log(answer.code, answer.id);

// Inside the job, what was given:
const given = allocation.readAllocation(
  {
    SLURM_JOB_ID: '4711',
    SLURM_JOB_NODELIST: 'n[1-2]',
    SLURM_JOB_CPUS_PER_NODE: '32(x2)',
    SLURM_TASKS_PER_NODE: '4(x2)'
  },
  () => null
);
if (given.state === 'allocation') {
  const { nodes } = given.allocation;
  console.log(
    nodes.map(({ host, cpus }) => `${host}: ${cpus} cpus`).join(', ')
  );
  console.log(
    launchers.mpich.launchCommand({ cpusPerTask: 8 }, ['./relax'], {
      allocation: given.allocation,
      hostFile: 'hosts.txt'
    })
  );
}
