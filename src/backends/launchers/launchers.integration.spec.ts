/**
 * Real launchers judge the lines we render (testbeds/mpi). One host: what they do on several is in
 * the recorded transcripts.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readAllocation } from '../allocation/index.js';
import {
  identify,
  judgeRanks,
  launchers,
  readRank,
  type Launch,
  type LaunchContext,
  type LaunchSpecInput
} from './index.js';

const VENVS = join(process.cwd(), '.venvs');

const REAL = [
  {
    name: 'open-mpi',
    dialect: '5',
    program:
      process.env['MUSTER_TEST_OPENMPI5'] ??
      join(VENVS, 'mpi-openmpi/bin/mpirun')
  },
  {
    name: 'open-mpi',
    dialect: '4',
    program: process.env['MUSTER_TEST_OPENMPI4'] ?? '/usr/bin/mpirun.openmpi'
  },
  {
    name: 'mpich',
    dialect: 'hydra',
    program:
      process.env['MUSTER_TEST_MPICH'] ?? join(VENVS, 'mpi-mpich/bin/mpiexec')
  },
  {
    name: 'intel-mpi',
    dialect: 'hydra',
    program:
      process.env['MUSTER_TEST_INTEL_MPI'] ??
      join(VENVS, 'mpi-intel/bin/mpiexec.hydra')
  }
];

const TELL =
  'echo "tell $(env | grep -E "^(OMPI_COMM_WORLD_|PMI_|MPI_LOCALRANKID|PMIX_RANK)" | tr "\\n" " ") cpus=$(grep Cpus_allowed_list /proc/self/status | cut -f2) var=$MUSTER_WORD at=$PWD"';

for (const { name, dialect, program } of REAL) {
  // A machine without this one, or where it may not be installed, has nothing to judge by.
  const judged = existsSync(program) ? describe : describe.skip;

  judged(`${name} (${dialect}) as it is`, () => {
    const launcher = launchers.get(name);
    if (launcher === undefined) {
      throw new Error(`no launcher ${name}`);
    }
    let folder = '';
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'muster-mpi-'));
    });
    afterAll(() => {
      rmSync(folder, { recursive: true, force: true });
    });

    const run = (launch: Launch) => {
      if (launch.hostFile !== null && launch.hostFile.text !== null) {
        writeFileSync(launch.hostFile.path, launch.hostFile.text);
      }
      const [first = '', ...rest] = launch.argv;
      return spawnSync(first, rest, {
        encoding: 'utf8',
        timeout: 60_000,
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: process.env['PATH'],
          HOME: folder,
          LC_ALL: 'C',
          OMPI_ALLOW_RUN_AS_ROOT: '1',
          OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
          ...launch.env
        }
      });
    };

    const launch = (
      spec: LaunchSpecInput,
      command: string[],
      context: LaunchContext = {}
    ): Launch =>
      launcher.launchCommand(spec, command, {
        dialect,
        program,
        hostFile: join(folder, 'hosts.txt'),
        ...context
      });

    const tell = (spec: LaunchSpecInput, context: LaunchContext = {}) => {
      const made = run(launch(spec, ['sh', '-c', TELL], context));
      const ranks = made.stdout
        .split('\n')
        .filter(line => line.includes('tell '))
        .map(line => {
          const values = Object.fromEntries(
            [...line.matchAll(/(\w+)=(\S*)/g)].map(one => [
              one[1] ?? '',
              one[2] ?? ''
            ])
          );
          return { ...readRank(values), values };
        });
      return { ...made, ranks };
    };

    it('is known by the text of its version', () => {
      const { stdout } = spawnSync(program, ['--version'], {
        encoding: 'utf8'
      });
      expect(identify(stdout)).toMatchObject({ name, dialect, warnings: [] });
    });

    it('starts every task once, on cores of its own', () => {
      const tasks = Math.min(2, availableParallelism());
      const { ranks, status, stderr } = tell({
        hosts: [hostname()],
        tasksPerNode: tasks
      });
      expect([status, stderr.includes('rror')]).toEqual([0, false]);
      const seen = ranks.map(one => ({
        rank: one.rank ?? -1,
        size: one.size ?? null
      }));
      expect(judgeRanks(tasks, seen)).toBeNull();
      expect(ranks.map(one => one.localRank).sort()).toEqual(
        Array.from({ length: tasks }, (_, at) => at)
      );
      expect(new Set(ranks.map(one => one.values['cpus'])).size).toBe(tasks);
    });

    it('gives one task all the cores it asks for', () => {
      const cpus = Math.min(2, availableParallelism());
      const { ranks, status } = tell({
        hosts: [hostname()],
        cpusPerTask: cpus
      });
      expect(status).toBe(0);
      expect(ranks).toHaveLength(1);
      expect(ranks[0]?.values['cpus']).toMatch(
        cpus === 2 ? /^\d+[-,]\d+$/ : /./
      );
    });

    it('passes variables by their environment, starts in the folder, labels lines', () => {
      const { ranks, status, stdout } = tell({
        hosts: [hostname()],
        env: { MUSTER_WORD: 'secret-word' },
        workdir: '/usr',
        label: true
      });
      expect(status).toBe(0);
      expect(ranks[0]?.values).toMatchObject({
        var: 'secret-word',
        at: '/usr'
      });
      expect(stdout).toMatch(/^\[[^\n]*0[^\n]*\][^\n]*tell /m);
    });

    it('starts more tasks than cores where that is asked for', () => {
      const tasks = availableParallelism() + 1;
      const { ranks, status } = tell({
        hosts: [hostname()],
        tasksPerNode: tasks,
        oversubscribe: true
      });
      expect(status).toBe(0);
      expect(ranks).toHaveLength(tasks);
    });

    it('starts several programs in one launch', () => {
      const { stdout, status } = run(
        launch(
          {
            hosts: [{ host: hostname(), slots: 2 }],
            bind: 'none',
            mpmd: [{ tasks: 1, command: ['echo', 'second', 'a  b'] }]
          },
          ['echo', 'first']
        )
      );
      expect(status).toBe(0);
      expect(stdout.trim().split('\n').sort()).toEqual([
        'first',
        'second a  b'
      ]);
    });

    it('passes hostile arguments through', () => {
      const words = ['a b', '$HOME', '"', "'", '*', 'ä', '-n', '--', '\\'];
      const { stdout, status } = run(
        launch({ bind: 'none' }, ['printf', '<%s>', ...words])
      );
      expect([status, stdout]).toEqual([
        0,
        words.map(one => `<${one}>`).join('')
      ]);
    });

    it('returns the exit code of a task that fails', () => {
      expect(run(launch({ bind: 'none' }, ['sh', '-c', 'exit 3'])).status).toBe(
        3
      );
    });

    it('takes its hosts from the allocation around it', () => {
      const file = join(folder, 'nodes');
      writeFileSync(file, `${hostname()}\n${hostname()}\n`);
      const answer = readAllocation(
        { OAR_JOB_ID: '5', OAR_NODEFILE: file },
        () => `${hostname()}\n${hostname()}\n`
      );
      if (answer.state !== 'allocation') {
        throw new Error(answer.state);
      }
      const { ranks, status } = tell(
        { bind: 'none' },
        { allocation: answer.allocation }
      );
      expect(status).toBe(0);
      expect(ranks).toHaveLength(2);
    });
  });
}
