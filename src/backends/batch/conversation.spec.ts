import { describe, expect, it } from '@jest/globals';
import { PermissionDenied, SpecError, ToolMissing } from './errors.js';
import { ScriptedRunner, type Reply } from './fixtures/scripted-runner.js';
import {
  findByToken,
  historyJobs,
  preflight,
  queryJobs,
  queryLimits
} from './inquiry.js';
import { cancelJobs, orderJobs } from './job-orders.js';
import { batchProfileSchema, NO_PROFILE } from './profile.js';
import { schedulingFor } from './scheduling.js';
import { estimateStart, submitCommand, submitScript } from './submission.js';
import { BUILT_IN } from './systems.js';

function system(name: string) {
  const facts = BUILT_IN.get(name);
  if (facts === undefined) {
    throw new Error(`there is no ${name}`);
  }
  return schedulingFor(facts);
}

const slurm = system('slurm');
const pbs = system('pbs');
const oar = system('oar');
const condor = system('htcondor');
const flux = system('flux');

const job = (of = slurm) =>
  of.job({ name: 'w', token: 'mst-1', nodes: 1, walltimeSeconds: 600 });
const PATH = '/home/dev/.muster/jobs/mst-1';

describe('submitting', () => {
  it('the script is written once and its path handed to the submit command', async () => {
    const runner = new ScriptedRunner([{ stdout: '42\n' }]);
    const result = await submitScript(
      slurm,
      { spec: job(), body: 'echo hello', path: PATH },
      runner
    );
    expect(result).toMatchObject({ code: 'OK', id: '42', plainSubmit: false });
    expect([...runner.files.keys()]).toEqual([PATH]);
    expect(runner.files.get(PATH)).toContain('#SBATCH');
    expect(runner.commands[0]?.argv.at(-1)).toBe(PATH);
  });

  it('a job inherits no language and no time zone from the query commands', async () => {
    const runner = new ScriptedRunner([{ stdout: '42\n' }]);
    await submitScript(slurm, { spec: job(), body: ':', path: PATH }, runner);
    expect(runner.commands[0]?.environment).toEqual({
      PWD: '/home/dev/.muster/jobs'
    });
    expect(runner.commands[0]?.cwd).toBe('/home/dev/.muster/jobs');
  });

  it('a refused --parsable is left out once and for all', async () => {
    const runner = new ScriptedRunner([
      {
        rc: 255,
        stderr:
          'sbatch: unrecognized option \'--parsable\'\nTry "sbatch --help" for more information\n'
      },
      { stdout: 'Submitted batch job 43\n' }
    ]);
    const result = await submitScript(
      slurm,
      { spec: job(), body: ':', path: PATH },
      runner
    );
    expect(result).toMatchObject({ code: 'OK', id: '43', plainSubmit: true });
    expect(runner.argvs[0]).toContain('--parsable');
    expect(runner.argvs[1]).not.toContain('--parsable');
    const again = new ScriptedRunner([{ stdout: 'Submitted batch job 44\n' }]);
    const next = await submitScript(
      slurm,
      { spec: job(), body: ':', path: `${PATH}b` },
      again,
      { ...NO_PROFILE, plainSubmit: true }
    );
    expect(next).toMatchObject({ code: 'OK', id: '44' });
    expect(again.commands).toHaveLength(1);
  });

  it('a submit that is refused is not tried again', async () => {
    const runner = new ScriptedRunner([
      {
        rc: 1,
        stderr:
          'sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition name specified\n'
      }
    ]);
    const result = await submitScript(
      slurm,
      { spec: job(), body: ':', path: PATH },
      runner
    );
    expect(result).toMatchObject({
      code: 'REJECTED',
      reason: 'partition',
      field: 'queue'
    });
    expect(runner.commands).toHaveLength(1);
  });

  it.each<[string, Reply]>([
    ['ran out of time', { rc: null, signal: 'SIGTERM', timedOut: true }],
    ['was killed', { rc: null, signal: 'SIGKILL' }],
    ['ended well without a word', { stdout: '' }],
    ['lost the answer', { stdout: 'Submitt', truncated: true }]
  ])('a submit that %s may have made a job', async (_, reply) => {
    const result = await submitScript(
      slurm,
      { spec: job(), body: ':', path: PATH },
      new ScriptedRunner([reply])
    );
    expect(result.code).toBe('UNCERTAIN');
  });

  it('a submit that never started may be tried again', async () => {
    const result = await submitScript(
      slurm,
      { spec: job(), body: ':', path: PATH },
      new ScriptedRunner([{ rc: null, errno: 'EAGAIN' }])
    );
    expect(result).toMatchObject({ code: 'RETRY', retryAfter: 30 });
  });

  it('a missing tool and a forbidden one are said plainly', async () => {
    const submit = (reply: Reply) =>
      submitScript(
        slurm,
        { spec: job(), body: ':', path: PATH },
        new ScriptedRunner([reply])
      );
    await expect(submit({ rc: null, errno: 'ENOENT' })).rejects.toThrow(
      ToolMissing
    );
    await expect(
      submit({ rc: 127, stderr: 'bash: sbatch: command not found\n' })
    ).rejects.toThrow(ToolMissing);
    await expect(submit({ rc: null, errno: 'EACCES' })).rejects.toThrow(
      PermissionDenied
    );
  });

  it('a file that the node runs itself gets its x bit, a description does not', async () => {
    const onOar = new ScriptedRunner([{}, { stdout: 'OAR_JOB_ID=7\n' }]);
    await submitScript(oar, { spec: job(oar), body: ':', path: PATH }, onOar);
    expect(onOar.argvs[0]).toBe(`chmod 700 ${PATH}`);
    const onCondor = new ScriptedRunner([{}, { stdout: '8.0 - 8.0\n' }]);
    const result = await submitScript(
      condor,
      { spec: job(condor), body: ':', path: PATH },
      onCondor
    );
    expect(result.id).toBe('8.0');
    expect(onCondor.argvs[0]).toBe(`chmod 700 ${PATH}.sh`);
    expect([...onCondor.files.keys()]).toEqual([PATH, `${PATH}.sh`]);
  });

  it('LSF reads the script from standard input', async () => {
    const lsf = system('lsf');
    const runner = new ScriptedRunner([
      { stdout: 'Job <12> is submitted to queue <normal>.\n' }
    ]);
    await submitScript(lsf, { spec: job(lsf), body: ':', path: PATH }, runner);
    expect(runner.commands[0]?.stdin).toBe(runner.files.get(PATH));
  });

  it('a command becomes a script with every word as it is', async () => {
    const runner = new ScriptedRunner([{ stdout: '5\n' }]);
    await submitCommand(
      slurm,
      {
        spec: job(),
        argv: ['python', '-c', "print('a b', $HOME)"],
        path: PATH
      },
      runner
    );
    expect(runner.files.get(PATH)).toContain(
      `python -c 'print('\\''a b'\\'', $HOME)'`
    );
    await expect(
      submitCommand(slurm, { spec: job(), path: PATH }, runner)
    ).rejects.toThrow(SpecError);
  });

  it('what a system does not carry out is told beside the id', async () => {
    const runner = new ScriptedRunner([{ stdout: 'ƒ2x\n' }]);
    const spec = flux.job({
      token: 'mst-1',
      nodes: 1,
      memory: { bytes: '1 GiB', per: 'node' }
    });
    const result = await submitScript(
      flux,
      { spec, body: ':', path: PATH },
      runner
    );
    expect(result.notHonoured).toContain('memory');
  });

  it('an expected start is asked for without a submit', async () => {
    const runner = new ScriptedRunner([
      {
        stderr:
          'sbatch: Job 5 to start at 2026-11-30T16:00:00 using 1 processors on nodes n1 in partition debug\n'
      }
    ]);
    const result = await estimateStart(
      slurm,
      { spec: job(), body: ':', path: PATH },
      runner
    );
    expect(result.type).toBe('time');
    expect(runner.argvs[0]).toContain('--test-only');
    const none = await estimateStart(
      pbs,
      { spec: job(pbs), body: ':', path: PATH },
      new ScriptedRunner([])
    );
    expect(none.type).toBe('none');
  });
});

describe('asking', () => {
  it('no ids: nothing is asked', async () => {
    const runner = new ScriptedRunner([]);
    const result = await queryJobs(slurm, { ids: [] }, runner);
    expect(result).toMatchObject({ code: 'EMPTY', missing: [] });
  });

  it('what one chunk tells stays good when another fails', async () => {
    const ids = Array.from({ length: 300 }, (_, at) => String(at + 1));
    const chunks = oar.statusArgv(ids).length;
    expect(chunks).toBeGreaterThan(1);
    const reply = JSON.stringify({ 1: { state: 'Running', Job_Id: 1 } });
    const runner = new ScriptedRunner([
      { stdout: reply },
      ...Array.from({ length: chunks - 1 }, () => ({
        rc: 1,
        stderr: 'DBI connect failed: no route\n'
      }))
    ]);
    const result = await queryJobs(oar, { ids }, runner);
    expect(result.code).toBe('PARTIAL');
    expect(result.jobs.get('1')?.state).toBe('RUNNING');
    // Those of the failed chunk are not known to be missing.
    expect(result.missing).not.toContain('300');
    expect(result.missing).toContain('2');
  });

  it('a cut answer proves no absence, and its last half line no state', async () => {
    const runner = new ScriptedRunner([
      {
        stdout: '1: Running\n2: Running\n3: Run',
        truncated: true
      }
    ]);
    const short = { ...oar, statusArgv: () => [['oarstat', '-s']] };
    const result = await queryJobs(
      short,
      { ids: ['1', '2', '3', '4'] },
      runner
    );
    expect(result.code).toBe('PARTIAL');
    expect([...result.jobs.keys()]).toEqual(['1', '2']);
    expect(result.missing).toEqual([]);
  });

  it('a query that ran out of time tells nothing about any job', async () => {
    const result = await queryJobs(
      pbs,
      { ids: ['1.head'] },
      new ScriptedRunner([{ rc: null, signal: 'SIGTERM', timedOut: true }])
    );
    expect(result).toMatchObject({ code: 'UNREACHABLE', missing: [] });
  });

  it('queries run in one language and time zone', async () => {
    const runner = new ScriptedRunner([{ rc: 1, stderr: 'x' }]);
    await queryJobs(pbs, { ids: ['1.head'] }, runner);
    expect(runner.commands[0]?.environment).toEqual({
      LC_ALL: 'C',
      TZ: 'UTC'
    });
  });

  it('a word that is no id never reaches a command', async () => {
    const runner = new ScriptedRunner([]);
    await expect(queryJobs(condor, { ids: ['dev'] }, runner)).rejects.toThrow(
      SpecError
    );
    await expect(cancelJobs(condor, ['dev'], runner)).rejects.toThrow(
      SpecError
    );
    expect(runner.commands).toEqual([]);
  });

  it('only jobs whose token begins with ours are looked at', async () => {
    const listing = {
      5: { Job_Id: 5, state: 'Running', name: 'w.mst-a-1' },
      6: { Job_Id: 6, state: 'Running', name: 'mst-a-2' },
      7: { Job_Id: 7, state: 'Running', name: 'mst-b-1' },
      8: { Job_Id: 8, state: 'Running', name: 'other' }
    };
    const result = await queryJobs(
      oar,
      { tokenPrefix: 'mst-a-', user: 'dev' },
      new ScriptedRunner([{ stdout: JSON.stringify(listing) }])
    );
    expect([...result.jobs.keys()]).toEqual(['5', '6']);
  });

  it('a token finds its jobs, the earliest first, and not those of an earlier use of the id', async () => {
    const listing = {
      9: {
        Job_Id: 9,
        state: 'Running',
        name: 'w.mst-1',
        submissionTime: 1796052000
      },
      6: {
        Job_Id: 6,
        state: 'Running',
        name: 'w.mst-1',
        submissionTime: 1796051000
      },
      2: {
        Job_Id: 2,
        state: 'Running',
        name: 'w.mst-1',
        submissionTime: 1700000000
      },
      7: { Job_Id: 7, state: 'Running', name: 'w.mst-11' }
    };
    const found = await findByToken(
      oar,
      { token: 'mst-1', user: 'dev', since: '2026-11-01T00:00:00Z' },
      new ScriptedRunner([{ stdout: JSON.stringify(listing) }])
    );
    expect(found.code).toBe('OK');
    expect(found.matches.map(one => one.id)).toEqual(['6', '9']);
  });

  it('a job that is gone already is found by the mark it left', async () => {
    const runner = new ScriptedRunner([{ stdout: '' }], {
      '/home/dev/marks/mst-1.started': '77\n'
    });
    const found = await findByToken(
      oar,
      { token: 'mst-1', user: 'dev', marks: '/home/dev/marks' },
      runner
    );
    expect(found).toMatchObject({
      code: 'OK',
      matches: [{ id: '77', state: 'UNKNOWN' }]
    });
  });

  it('a batch system that does not answer finds nothing and says so', async () => {
    const found = await findByToken(
      oar,
      { token: 'mst-1', user: 'dev' },
      new ScriptedRunner([{ rc: 1, stderr: 'DBI connect failed\n' }])
    );
    expect(found).toMatchObject({ code: 'UNREACHABLE', matches: [] });
  });

  it('a system without a history is not asked for one', async () => {
    const torque = system('torque');
    const result = await historyJobs(torque, ['1'], new ScriptedRunner([]));
    expect(result.code).toBe('UNSUPPORTED');
  });

  it('the tool and its version are looked for before anything else', async () => {
    expect(
      await preflight(
        slurm,
        new ScriptedRunner([{ stdout: 'slurm 22.05.8\n' }])
      )
    ).toMatchObject({ version: '22.05.8' });
    const profile = batchProfileSchema.parse({
      commands: { sbatch: '/opt/slurm/bin/sbatch' }
    });
    const runner = new ScriptedRunner([{ rc: null, errno: 'ENOENT' }]);
    await expect(preflight(slurm, runner, profile)).rejects.toThrow(
      ToolMissing
    );
    expect(runner.argvs[0]?.startsWith('/opt/slurm/bin/sbatch ')).toBe(true);
  });

  it('limits of several commands are one answer', async () => {
    const count = slurm.limitsArgv({ user: 'dev' }).length;
    expect(count).toBeGreaterThan(1);
    const runner = new ScriptedRunner(
      Array.from({ length: count }, () => ({ rc: 1, stderr: 'no\n' }))
    );
    const result = await queryLimits(slurm, { user: 'dev' }, runner);
    expect(result.code).toBe('UNREACHABLE');
    expect(runner.commands).toHaveLength(count);
  });
});

describe('orders', () => {
  it('each id is cancelled once, and every id has an answer', async () => {
    const runner = new ScriptedRunner([
      {
        stdout:
          'Deleting the job = 5 ...REGISTERED.\nThe job(s) [ 5 ] will be deleted in the near future.\n'
      }
    ]);
    const result = await cancelJobs(oar, ['5', '5'], runner);
    expect([...result].map(([id, one]) => [id, one.code])).toEqual([
      ['5', 'OK']
    ]);
    expect(runner.argvs).toEqual(['oardel 5']);
  });

  it('a cancel that lost its answer is uncertain for all', async () => {
    const result = await cancelJobs(
      pbs,
      ['1.head', '2.head'],
      new ScriptedRunner([{ rc: null, signal: 'SIGKILL', timedOut: true }])
    );
    expect([...result.values()].map(one => one.code)).toEqual([
      'UNCERTAIN',
      'UNCERTAIN'
    ]);
  });

  it('a cancel that never started is an error, to be tried again', async () => {
    const result = await cancelJobs(
      pbs,
      ['1.head'],
      new ScriptedRunner([{ rc: null, errno: 'ENOMEM' }])
    );
    expect(result.get('1.head')?.code).toBe('ERROR');
  });

  it('an order a system does not know is not given', async () => {
    const result = await orderJobs(
      flux,
      'extend',
      ['ƒ2x'],
      new ScriptedRunner(
        flux.orderArgv('extend', ['ƒ2x'], { walltimeSeconds: 60 }) === null
          ? []
          : [{}]
      ),
      NO_PROFILE,
      { walltimeSeconds: 60 }
    );
    expect(result.size).toBe(1);
    const sge = system('sge');
    const none = await orderJobs(sge, 'extend', ['5'], new ScriptedRunner([]));
    expect(none.get('5')?.code).toBe('ERROR');
  });

  it('an order that takes one id at a time is given once for each', async () => {
    const runner = new ScriptedRunner([
      { stdout: '[5] Hold request was sent to the OAR server.\n' },
      { rc: 1, stderr: '/!\\ : Cannot hold 6 : this job does not exist.\n' }
    ]);
    const result = await orderJobs(oar, 'hold', ['5', '6'], runner);
    expect([...result].map(([id, one]) => [id, one.code])).toEqual([
      ['5', 'OK'],
      ['6', 'GONE']
    ]);
  });
});
