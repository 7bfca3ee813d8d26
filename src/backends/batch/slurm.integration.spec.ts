/** Against a real Slurm (testbeds/slurm): needs root, and Debian's packages or the network. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LocalCommandRunner } from '../commands/local-command-runner.js';
import {
  findByToken,
  historyJobs,
  preflight,
  queryJobs,
  queryLimits
} from './inquiry.js';
import { cancelJobs, orderJobs } from './job-orders.js';
import { batchProfileSchema } from './profile.js';
import { schedulingFor } from './scheduling.js';
import { slurm as facts } from './slurm.js';
import { estimateStart, submitScript } from './submission.js';

const BED = new URL('../../../testbeds/slurm/', import.meta.url).pathname;
const possible =
  process.getuid?.() === 0 &&
  (existsSync('/usr/sbin/slurmctld') || existsSync('/usr/bin/apt-get'));
const suite = possible ? describe : describe.skip;

const slurm = schedulingFor(facts);
const profile = batchProfileSchema.parse({ timeoutSeconds: 30 });

suite('a real Slurm', () => {
  let folder = '';
  let runner: LocalCommandRunner;
  let count = 0;

  beforeAll(() => {
    const said = execFileSync(join(BED, 'up'), {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit']
    });
    const bed = JSON.parse(said.trim().split('\n').at(-1) ?? '') as {
      env: Record<string, string>;
    };
    folder = mkdtempSync(join(tmpdir(), 'muster-slurm-'));
    chmodSync(folder, 0o755);
    runner = new LocalCommandRunner({
      environment: {
        PATH: process.env['PATH'] ?? '/usr/bin:/bin',
        HOME: folder,
        ...bed.env
      }
    });
  }, 300_000);

  afterAll(() => {
    spawnSync(join(BED, 'down'));
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  const path = (): string => join(folder, `job-${(count += 1)}`);

  async function submit(
    input: Record<string, unknown>,
    body = 'sleep 60'
  ): Promise<string> {
    const spec = slurm.job({ walltimeSeconds: 600, ...input });
    const result = await submitScript(
      slurm,
      { spec, body, path: path() },
      runner,
      profile
    );
    expect(result).toMatchObject({ code: 'OK' });
    return result.id ?? '';
  }

  async function ended(id: string) {
    for (let round = 0; round < 150; round += 1) {
      const job = (
        await queryJobs(slurm, { ids: [id] }, runner, profile)
      ).jobs.get(id);
      if (job?.final === true) {
        return job;
      }
      await new Promise(resolve => setTimeout(resolve, 100));
    }
    throw new Error(`${id} did not end`);
  }

  it('tells its version and its partitions', async () => {
    expect((await preflight(slurm, runner, profile)).version).toMatch(
      /^\d+\.\d+/
    );
    const limits = await queryLimits(slurm, { user: 'root' }, runner, profile);
    expect(limits.queues.find(one => one.name === 'short')).toMatchObject({
      maxWalltimeSeconds: 600
    });
    expect(limits.queues.find(one => one.isDefault)?.name).toBe('debug');
  });

  it.each<[string, Record<string, unknown>]>([
    ['nothing asked', {}],
    [
      'nodes and tasks',
      { nodes: 2, tasksPerNode: 4, cpusPerTask: 2, walltimeSeconds: 29 }
    ],
    ['memory per node', { memory: { bytes: '1500 MB', per: 'node' } }],
    ['memory per cpu', { memory: { bytes: '100 MiB', per: 'cpu' } }],
    ['memory of the job', { nodes: 2, memory: { bytes: '3 GiB', per: 'job' } }],
    ['a whole node', { memory: 'wholeNode', exclusive: true }],
    ['GPUs', { gpusPerTask: 2 }],
    ['no time limit', { walltimeSeconds: 'unlimited' }],
    ['nodes close together', { nodes: 2, placement: 'pack' }],
    ['nodes apart', { nodes: 2, placement: 'scatter' }],
    ['an array', { array: { indices: [0, 2, 3, 9], maxRunning: 2 } }],
    [
      'a warning',
      { walltimeSeconds: 600, warnBefore: { signal: 'USR1', seconds: 60 } }
    ],
    ['a priority', { priority: 0.25, requeue: true }],
    ['hostile names', { name: `it's "my" job # \\ $(id) %j`, token: 'mst-x' }],
    [
      'hostile paths',
      { stdout: `/tmp/a b/it's "x" # % \\.out`, workdir: '/tmp' }
    ],
    [
      'own lines',
      { native: ['--comment="own"', '#SBATCH --hint=nomultithread'] }
    ]
  ])('sbatch --test-only takes %s', async (_, input) => {
    const spec = slurm.job({ walltimeSeconds: 600, ...input });
    const result = await estimateStart(
      slurm,
      { spec, body: ':', path: path() },
      runner,
      profile
    );
    expect(result).toMatchObject({ type: 'time' });
  });

  it.each<[string, string, Record<string, unknown>]>([
    ['a partition there is none of', 'queue', { queue: 'nowhere' }],
    [
      'more time than the partition gives',
      'walltimeSeconds',
      { queue: 'short', walltimeSeconds: 3600 }
    ],
    [
      'more memory than a node has',
      'memory',
      { memory: { bytes: '64 GiB', per: 'node' } }
    ]
  ])('%s is refused, and the field is named', async (_, field, input) => {
    const spec = slurm.job({ walltimeSeconds: 60, ...input });
    const result = await submitScript(
      slurm,
      { spec, body: ':', path: path() },
      runner,
      profile
    );
    expect({ ...result, stdout: '', stderr: result.stderr }).toMatchObject({
      code: 'REJECTED',
      field
    });
  });

  it('a job runs to its end with every value as it was given', async () => {
    const logs = join(folder, `lo'g "s" 100% #`);
    mkdirSync(logs);
    const marks = join(folder, 'marks');
    mkdirSync(marks);
    const value = `it's "$HOME" \`id\` \\ #`;
    const name = `it's "my" job # \\ %j`;
    const id = await submit(
      {
        name,
        token: 'mst-run',
        marks,
        env: { VALUE: value },
        stdout: [`${logs}/`, { fill: 'id' }, '.out'],
        joinOutput: true
      },
      'printf \'%s\\n\' "$VALUE" "$SLURM_JOB_NAME" "$SLURM_JOB_ID"\nexit 3'
    );
    const job = await ended(id);
    expect(job).toMatchObject({ state: 'FAILED', token: 'mst-run' });
    expect(readFileSync(join(logs, `${id}.out`), 'utf8')).toBe(
      `${value}\n${name}.mst-run\n${id}\n`
    );
    expect(readFileSync(join(marks, 'mst-run.exit'), 'utf8')).toBe('3\n');
  }, 60_000);

  it('a running job has its host and its deadline, and is found by its token', async () => {
    const id = await submit({ name: 'w', token: 'mst-find', nodes: 2 });
    const running = async () =>
      (await queryJobs(slurm, { ids: [id] }, runner, profile)).jobs.get(id);
    let job = await running();
    for (let round = 0; round < 100 && job?.state !== 'RUNNING'; round += 1) {
      await new Promise(resolve => setTimeout(resolve, 100));
      job = await running();
    }
    expect(job?.nodes).toHaveLength(2);
    const left =
      (Date.parse(job?.endsAt ?? '') - Date.parse(job?.startTime ?? '')) / 1000;
    expect(left).toBe(600);
    expect(Date.parse(job?.startTime ?? '')).toBeGreaterThan(
      Date.now() - 120_000
    );
    const found = await findByToken(
      slurm,
      { token: 'mst-find', user: 'root' },
      runner,
      profile
    );
    expect(found.matches.map(one => one.id)).toEqual([id]);
    const cancelled = await cancelJobs(slurm, [id, '987654'], runner, profile);
    expect([...cancelled].map(([one, { code }]) => [one, code])).toEqual([
      [id, 'OK'],
      ['987654', 'GONE']
    ]);
    expect(await ended(id)).toMatchObject({ state: 'CANCELLED' });
  }, 60_000);

  it('a held job says so until it is released', async () => {
    const id = await submit({ nodes: 1, native: ['--hold'] });
    const held = await queryJobs(slurm, { ids: [id] }, runner, profile);
    expect(held.jobs.get(id)?.state).toBe('HELD');
    const released = await orderJobs(slurm, 'release', [id], runner, profile);
    expect(released.get(id)?.code).toBe('OK');
    await cancelJobs(slurm, [id], runner, profile);
    expect(await ended(id)).toMatchObject({ state: 'CANCELLED' });
  }, 60_000);

  it('the elements of an array speak for themselves', async () => {
    const id = await submit(
      { array: { indices: [0, 2] }, token: 'mst-array' },
      'exit "$MUSTER_ARRAY_INDEX"'
    );
    const good = await ended(`${id}_0`);
    const bad = await ended(`${id}_2`);
    expect([good.state, bad.state]).toEqual(['COMPLETED', 'FAILED']);
  }, 60_000);

  it('an unknown job is missing, and without accounting there is no history', async () => {
    const unknown = await queryJobs(
      slurm,
      { ids: ['987654'] },
      runner,
      profile
    );
    expect(unknown).toMatchObject({ code: 'EMPTY', missing: ['987654'] });
    const history = await historyJobs(slurm, ['987654'], runner, profile);
    expect(history).toMatchObject({ code: 'UNSUPPORTED', missing: [] });
  });

  it('while the controller is gone nothing is known, and nothing is lost', async () => {
    const id = await submit({ nodes: 1 });
    const pid = readFileSync(
      '/var/lib/muster-testbeds/slurm/run/slurmctld.pid',
      'utf8'
    ).trim();
    // TERM, so that the job of a moment ago is saved.
    execFileSync('kill', [pid]);
    for (let round = 0; existsSync(`/proc/${pid}`) && round < 100; round += 1) {
      await new Promise(resolve => setTimeout(resolve, 100));
    }
    const impatient = batchProfileSchema.parse({ timeoutSeconds: 3 });
    const result = await queryJobs(slurm, { ids: [id] }, runner, impatient);
    expect(result).toMatchObject({ code: 'UNREACHABLE', missing: [] });
    const cancelled = await cancelJobs(slurm, [id], runner, impatient);
    expect(['UNCERTAIN', 'ERROR']).toContain(cancelled.get(id)?.code);
    execFileSync(join(BED, 'up'), { stdio: 'ignore' });
    const again = await queryJobs(slurm, { ids: [id] }, runner, profile);
    expect(again.jobs.get(id)?.final).toBe(false);
    await cancelJobs(slurm, [id], runner, profile);
  }, 120_000);
});
