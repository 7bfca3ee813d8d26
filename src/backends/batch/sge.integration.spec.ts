/** Against a real Grid Engine (testbeds/sge): needs root, and Debian's packages or the network. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type {
  Command,
  CommandResult,
  CommandRunner
} from '../commands/command-runner.js';
import { LocalCommandRunner } from '../commands/local-command-runner.js';
import { findByToken, historyJobs, preflight, queryJobs } from './inquiry.js';
import { cancelJobs, orderJobs } from './job-orders.js';
import { batchProfileSchema } from './profile.js';
import { schedulingFor } from './scheduling.js';
import { sge as facts } from './sge.js';
import { estimateStart, submitScript } from './submission.js';

const BED = new URL('../../../testbeds/sge/', import.meta.url).pathname;
const possible =
  process.getuid?.() === 0 &&
  (existsSync('/usr/lib/gridengine/sge_qmaster') ||
    existsSync('/usr/bin/apt-get'));
const suite = possible ? describe : describe.skip;

const sge = schedulingFor(facts);
const profile = batchProfileSchema.parse({
  timeoutSeconds: 30,
  site: { parallelEnvironment: 'smp', memoryKey: 'h_vmem' }
});

/** Root may not submit: everything is done as the user of the testbed. */
class AsUser implements CommandRunner {
  constructor(
    private readonly inner: LocalCommandRunner,
    private readonly wrap: readonly string[],
    private readonly owner: { uid: number; gid: number }
  ) {}

  readonly host = null;

  run(command: Command): Promise<CommandResult> {
    const [program = '', ...rest] = [...this.wrap, ...command.argv];
    return this.inner.run({ ...command, argv: [program, ...rest] });
  }

  readFile(path: string, maxBytes: number): Promise<string | null> {
    return this.inner.readFile(path, maxBytes);
  }

  createFile(path: string, text: string): Promise<void> {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
    chownSync(path, this.owner.uid, this.owner.gid);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}

suite('a real Grid Engine', () => {
  let folder = '';
  let runner: AsUser;
  let count = 0;
  let owner = { uid: 0, gid: 0 };

  beforeAll(() => {
    const said = execFileSync(join(BED, 'up'), {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit']
    });
    const bed = JSON.parse(said.trim().split('\n').at(-1) ?? '') as {
      env: Record<string, string>;
      wrap: string[];
    };
    const number = (flag: string): number =>
      Number(execFileSync('id', [flag, 'muster-sge'], { encoding: 'utf8' }));
    owner = { uid: number('-u'), gid: number('-g') };
    folder = makeFolder(mkdtempSync(join(tmpdir(), 'muster-sge-')));
    chmodSync(folder, 0o755);
    runner = new AsUser(
      new LocalCommandRunner({ environment: { HOME: folder, ...bed.env } }),
      bed.wrap,
      owner
    );
  }, 300_000);

  afterAll(() => {
    spawnSync(join(BED, 'down'));
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  function makeFolder(path: string): string {
    mkdirSync(path, { recursive: true });
    chownSync(path, owner.uid, owner.gid);
    return path;
  }

  const path = (): string => join(folder, `job-${(count += 1)}`);

  async function submit(
    input: Record<string, unknown>,
    body = 'sleep 60'
  ): Promise<string> {
    const spec = sge.job({
      walltimeSeconds: 600,
      stdout: `${folder}/out`,
      joinOutput: true,
      ...input
    });
    const result = await submitScript(
      sge,
      { spec, body, path: path() },
      runner,
      profile
    );
    expect(result).toMatchObject({ code: 'OK' });
    return result.id ?? '';
  }

  async function reached<T>(
    look: () => Promise<T | undefined>
  ): Promise<T | undefined> {
    for (let round = 0; round < 200; round += 1) {
      const found = await look();
      if (found !== undefined) {
        return found;
      }
      await new Promise(resolve => setTimeout(resolve, 100));
    }
    return undefined;
  }

  const live = async (id: string) =>
    (
      await queryJobs(sge, { ids: [id], user: 'muster-sge' }, runner, profile)
    ).jobs.get(id);

  const settled = (id: string) =>
    reached(async () => {
      const history = await historyJobs(sge, [id], runner, profile);
      return history.jobs.get(id);
    });

  it('tells its version', async () => {
    expect((await preflight(sge, runner, profile)).version).toMatch(/^\d+\./);
  });

  it.each<[string, Record<string, unknown>]>([
    ['nothing asked', {}],
    ['slots on one host', { cpusPerTask: 4 }],
    [
      'memory per slot',
      { cpusPerTask: 2, memory: { bytes: '64 MiB', per: 'job' } }
    ],
    ['no time limit', { walltimeSeconds: 'unlimited' }],
    ['an array', { array: { indices: [1, 3, 5], maxRunning: 2 } }],
    [
      'a warning',
      { walltimeSeconds: 600, warnBefore: { signal: 'USR1', seconds: 60 } }
    ],
    ['a priority', { priority: 0.5, requeue: true }],
    ['a name with blanks', { name: 'my job', token: 'mst-x' }],
    ['a path with blanks', { stdout: '/tmp/a b/c.out', workdir: '/tmp' }]
  ])('qsub -verify and -w v take %s', async (_, input) => {
    const spec = sge.job({ walltimeSeconds: 600, ...input });
    const file = path();
    const possible = await estimateStart(
      sge,
      { spec, body: ':', path: file },
      runner,
      profile
    );
    expect(['none', 'unknown', 'time']).toContain(possible.type);
    const verified = await runner.run({
      argv: ['qsub', '-verify', file],
      cwd: folder,
      timeoutMs: 30_000
    });
    expect(verified).toMatchObject({ rc: 0, stderr: '' });
    if (typeof spec.stdout === 'string') {
      expect(verified.stdout).toContain(spec.stdout);
    }
  });

  it.each<[string, string, Record<string, unknown>]>([
    ['a queue there is none of', 'queue', { queue: 'nowhere' }],
    // The words do not tell which of the lines asked for it.
    ['a resource there is none of', 'native', { constraint: 'nothing=1' }]
  ])('%s is refused, and the field is named', async (_, field, input) => {
    const result = await submitScript(
      sge,
      {
        spec: sge.job({ walltimeSeconds: 60, ...input }),
        body: ':',
        path: path()
      },
      runner,
      profile
    );
    expect({ ...result }).toMatchObject({ code: 'REJECTED', field });
  });

  it('a job runs to its end with every value as it was given', async () => {
    const logs = makeFolder(join(folder, 'logs of mine'));
    const marks = makeFolder(join(folder, 'marks'));
    const value = `it's "$HOME" \`id\` \\ #`;
    const id = await submit(
      {
        name: 'my job',
        token: 'mst-run',
        marks,
        env: { VALUE: value },
        stdout: [`${logs}/`, { fill: 'id' }, '.out']
      },
      'printf \'%s\\n\' "$VALUE" "$JOB_NAME"\nexit 3'
    );
    expect(await settled(id)).toMatchObject({
      state: 'FAILED',
      exit: { code: 3, signal: null }
    });
    expect(readFileSync(join(logs, `${id}.out`), 'utf8')).toBe(
      `${value}\nmy_job.mst-run\n`
    );
    expect(readFileSync(join(marks, 'mst-run.exit'), 'utf8')).toBe('3\n');
  }, 60_000);

  it('a running job is found by its token and ends by a cancel', async () => {
    const id = await submit({ name: 'w', token: 'mst-find' });
    const running = await reached(async () => {
      const job = await live(id);
      return job?.state === 'RUNNING' ? job : undefined;
    });
    expect(running?.nodes).toHaveLength(1);
    const found = await findByToken(
      sge,
      { token: 'mst-find', user: 'muster-sge' },
      runner,
      profile
    );
    expect(found.matches.map(one => one.id)).toEqual([id]);
    const cancelled = await cancelJobs(sge, [id, '98765'], runner, profile);
    expect([...cancelled].map(([one, { code }]) => [one, code])).toEqual([
      [id, 'OK'],
      ['98765', 'GONE']
    ]);
    expect((await settled(id))?.final).toBe(true);
  }, 60_000);

  it('a held job says so until it is released', async () => {
    const id = await submit({ native: ['-h'] });
    expect((await live(id))?.state).toBe('HELD');
    const released = await orderJobs(sge, 'release', [id], runner, profile);
    expect(released.get(id)?.code).toBe('OK');
    await cancelJobs(sge, [id], runner, profile);
  }, 60_000);

  it('an unknown job is missing', async () => {
    const unknown = await queryJobs(
      sge,
      { ids: ['98765'], user: 'muster-sge' },
      runner,
      profile
    );
    expect(unknown).toMatchObject({ code: 'EMPTY', missing: ['98765'] });
  });
});
