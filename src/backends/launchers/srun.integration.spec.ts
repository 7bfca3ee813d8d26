/**
 * A real Slurm (testbeds/slurm) judges srun's lines, and what is read of an allocation from inside
 * it: salloc runs its command on this host, as an interactive allocation on a login node does.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  readAllocation,
  timeLeft,
  type Allocation
} from '../allocation/index.js';
import { LocalCommandRunner } from '../commands/local-command-runner.js';
import {
  identify,
  judgeRanks,
  launchers,
  readRank,
  shellLine,
  type LaunchSpecInput
} from './index.js';

const BED = new URL('../../../testbeds/slurm/', import.meta.url).pathname;
const possible =
  process.getuid?.() === 0 &&
  (existsSync('/usr/sbin/slurmctld') || existsSync('/usr/bin/apt-get'));
const suite = possible ? describe : describe.skip;

suite('srun as it is', () => {
  let folder = '';
  let environment: Record<string, string> = {};

  beforeAll(() => {
    const said = execFileSync(join(BED, 'up'), {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit']
    });
    const bed = JSON.parse(said.trim().split('\n').at(-1) ?? '') as {
      env: Record<string, string>;
    };
    folder = mkdtempSync(join(tmpdir(), 'muster-srun-'));
    environment = {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: folder,
      ...bed.env
    };
  }, 300_000);
  afterAll(() => {
    spawnSync(join(BED, 'down'));
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  const srun = () => {
    const found = launchers.get('srun');
    if (found === undefined) {
      throw new Error('no srun');
    }
    return found;
  };

  /** Runs a shell text inside an allocation. */
  const inside = (asked: readonly string[], text: string) =>
    spawnSync('salloc', [...asked, '-t', '5', 'sh', '-c', text], {
      encoding: 'utf8',
      env: environment,
      cwd: folder,
      timeout: 90_000
    });

  const TWO = [
    '-N',
    '2',
    '--ntasks-per-node=2',
    '-c',
    '2',
    '--mem-per-cpu=100'
  ];
  const TELL = [
    'sh',
    '-c',
    'echo "tell $SLURMD_NODENAME $(env | grep -E "^SLURM_(PROCID|LOCALID|NTASKS)=" | tr "\\n" " ")$MUSTER_WORD"'
  ];

  const launch = (
    asked: readonly string[],
    spec: LaunchSpecInput,
    command: string[] = TELL
  ) => {
    const hostFile = join(folder, 'hosts');
    const line = srun().launchCommand(spec, command, {
      scheduler: 'slurm',
      hostFile
    });
    if (line.hostFile !== null) {
      writeFileSync(hostFile, line.hostFile.text ?? '');
    }
    const made = inside(asked, shellLine(line));
    const ranks = made.stdout
      .split('\n')
      .filter(one => one.includes('tell '))
      .map(one => {
        const values = Object.fromEntries(
          [...one.matchAll(/(\w+)=(\S*)/g)].map(pair => [
            pair[1] ?? '',
            pair[2] ?? ''
          ])
        );
        return { ...readRank(values), host: /tell (\S+)/.exec(one)?.[1] };
      });
    return { ...made, ranks };
  };

  const hosts = (ranks: { host: string | undefined }[]) =>
    ranks.map(one => one.host).sort();

  it('is known by the text of its version', () => {
    const { stdout } = spawnSync('srun', ['--version'], {
      encoding: 'utf8',
      env: environment
    });
    expect(identify(stdout)).toMatchObject({ name: 'srun', dialect: 'slurm' });
  });

  it('starts every task once, where it belongs', () => {
    const { ranks, status, stderr } = launch(TWO, {
      nodes: 2,
      tasksPerNode: 2,
      cpusPerTask: 2
    });
    expect([status, stderr.includes('error')]).toEqual([0, false]);
    const seen = ranks.map(one => ({
      rank: one.rank ?? -1,
      size: one.size ?? null
    }));
    expect(judgeRanks(4, seen)).toBeNull();
    expect(new Set(hosts(ranks)).size).toBe(2);
    expect(hosts(ranks)[0]).toBe(hosts(ranks)[1]);
  });

  it('puts different numbers of tasks on different hosts', () => {
    const { ranks, status } = launch(
      ['-w', 'n[3-4]', '-N', '2', '--ntasks-per-node=3', '--mem-per-cpu=100'],
      {
        hosts: [
          { host: 'n3', slots: 1 },
          { host: 'n4', slots: 3 }
        ]
      }
    );
    expect(status).toBe(0);
    expect(hosts(ranks)).toEqual(['n3', 'n4', 'n4', 'n4']);
  });

  it('stays on the hosts it is told', () => {
    const { ranks, status } = launch(
      ['-w', 'n[3-4]', '-N', '2', '--ntasks-per-node=2', '--mem-per-cpu=100'],
      { hosts: ['n4'], tasksPerNode: 2 }
    );
    expect(status).toBe(0);
    expect(hosts(ranks)).toEqual(['n4', 'n4']);
  });

  it('hands on variables, folder and labels; a task that fails leaves the others alone', () => {
    const told = launch(
      TWO,
      {
        nodes: 2,
        tasksPerNode: 1,
        env: { MUSTER_WORD: "it's $HOME" },
        workdir: '/usr',
        label: true
      },
      ['sh', '-c', 'echo "$PWD $MUSTER_WORD"']
    );
    expect(told.stdout.trim().split('\n').sort()).toEqual([
      "0: /usr it's $HOME",
      "1: /usr it's $HOME"
    ]);
    const failed = launch(TWO, { nodes: 2, tasksPerNode: 1 }, [
      'sh',
      '-c',
      '[ "$SLURM_PROCID" = 0 ] && exit 7; sleep 2; echo survived'
    ]);
    expect([failed.status, failed.stdout.trim()]).toEqual([7, 'survived']);
  });

  it('of an allocation on a login node the cpus are its own, not those of this host', () => {
    const { stdout } = inside(TWO, 'env -0');
    const env = Object.fromEntries(
      stdout
        .split('\0')
        .filter(one => one.includes('='))
        .map(one => {
          const at = one.indexOf('=');
          return [one.slice(0, at), one.slice(at + 1)] as const;
        })
    );
    const answer = readAllocation(env, () => null, {
      here: { host: hostname(), cpus: availableParallelism() }
    });
    expect(answer.state).toBe('allocation');
    const given: Allocation | null =
      answer.state === 'allocation' ? answer.allocation : null;
    expect(given).toMatchObject({
      kind: 'slurm',
      nodes: [
        { tasks: 2, cpus: 4, memBytes: 400 * 1024 * 1024 },
        { tasks: 2, cpus: 4, memBytes: 400 * 1024 * 1024 }
      ]
    });
    const line = srun().launchCommand(
      { cpusPerTask: 2 },
      ['true'],
      given === null ? {} : { allocation: given }
    );
    expect(line.argv.join(' ')).toContain('-N 2 -n 4 --ntasks-per-node=2 -c 2');
    expect(
      srun().validate(
        { cpusPerTask: 3 },
        given === null ? {} : { allocation: given }
      )
    ).not.toEqual([]);
  });

  it('says what time is left while the job lives, and nothing when it is gone', async () => {
    const submitted = spawnSync(
      'sbatch',
      [
        '--parsable',
        '-t',
        '5',
        '--mem=100',
        '-o',
        '/dev/null',
        '--wrap',
        'sleep 60'
      ],
      { encoding: 'utf8', env: environment, cwd: folder }
    );
    const id = submitted.stdout.trim().split(';')[0] ?? '';
    const runner = new LocalCommandRunner({ environment });
    const left = () =>
      timeLeft(
        { SLURM_JOB_ID: id, SLURM_JOB_END_TIME: '9999999999' },
        { readFile: () => null, runner, now: Date.now }
      );
    try {
      let now = await left();
      for (let tries = 0; now.seconds === 'unknown' && tries < 50; tries += 1) {
        await new Promise(resolve => setTimeout(resolve, 200));
        now = await left();
      }
      expect(now).toMatchObject({
        certainty: 'likely',
        source: `squeue -h -j ${id} -o %T|%L`
      });
      expect(Number(now.seconds)).toBeGreaterThan(200);
      expect(Number(now.seconds)).toBeLessThanOrEqual(300);
      spawnSync('scancel', [id], { env: environment });
      for (let tries = 0; tries < 50; tries += 1) {
        now = await left();
        if (now.seconds === 0 || now.seconds === 'unknown') {
          break;
        }
        await new Promise(resolve => setTimeout(resolve, 200));
      }
      expect([0, 'unknown']).toContain(now.seconds);
    } finally {
      spawnSync('scancel', [id], { env: environment });
      await runner.close();
    }
  });
});
