/** Answers of versions and sites that were not recorded, restated from their documentation. */
import { describe, expect, it } from '@jest/globals';
import type { JobInfo } from './results.js';
import { schedulingFor } from './scheduling.js';
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
const torque = system('torque');
const sge = system('sge');
const said = (stdout: string, stderr = '', rc = 0) => ({ rc, stdout, stderr });
const AS_OF = '2026-11-30T15:00:00Z';

function one(jobs: ReadonlyMap<string, JobInfo>): JobInfo {
  expect(jobs.size).toBe(1);
  const [job] = jobs.values();
  if (job === undefined) {
    throw new Error('there is no job');
  }
  return job;
}

const unset = { set: false, infinite: false, number: 0 };
const infinite = { set: false, infinite: true, number: 0 };
const number = (value: number) => ({
  set: true,
  infinite: false,
  number: value
});

function squeueJson(job: object): JobInfo {
  const text = JSON.stringify({
    jobs: [{ job_id: 9, job_state: ['RUNNING'], ...job }]
  });
  return one(
    slurm.parseStatus(said(text), {
      argv: ['squeue', '--json'],
      asked: ['9'],
      asOf: AS_OF
    }).jobs
  );
}

describe('Slurm 23 and later', () => {
  it('a job without a limit has no deadline, though the JSON says 0 minutes and a year', () => {
    expect(
      squeueJson({
        time_limit: infinite,
        start_time: number(1795000000),
        end_time: number(1826536000)
      })
    ).toMatchObject({ limitSeconds: 'unlimited', endsAt: null });
  });

  it('a number nobody set is unknown, not 0', () => {
    expect(squeueJson({ time_limit: unset })).toMatchObject({
      limitSeconds: null
    });
    expect(
      squeueJson({ array_job_id: number(9), array_task_id: unset })
    ).toMatchObject({ id: '9' });
  });

  it.each([
    ['return_code', { return_code: number(3), signal: { id: unset } }, 3, null],
    ['id', { return_code: unset, signal: { id: number(15) } }, null, 'SIGTERM'],
    [
      'signal_id',
      { return_code: unset, signal: { signal_id: 9 } },
      null,
      'SIGKILL'
    ]
  ])('the end of a job stands under %s', (_, exit_code, code, signal) => {
    expect(squeueJson({ job_state: ['FAILED'], exit_code }).exit).toEqual({
      code,
      signal
    });
  });

  it.each([
    [['RUNNING', 'CONFIGURING'], 'STARTING'],
    [['RUNNING', 'POWER_UP_NODE'], 'STARTING'],
    [['CANCELLED', 'COMPLETING'], 'STOPPING'],
    [['TIMEOUT', 'SIGNALING'], 'TIMEOUT'],
    [['FAILED', 'UPDATE_DB'], 'FAILED'],
    [['PENDING', 'REQUEUED'], 'PENDING']
  ])('of the states %j the one that counts is %s', (job_state, state) => {
    expect(squeueJson({ job_state }).state).toBe(state);
  });
});

describe('Slurm', () => {
  it('an id in colours is still the id', () => {
    expect(
      slurm.parseSubmit(said('\u001b[32mSubmitted batch job 78\u001b[0m\n'))
    ).toMatchObject({ code: 'OK', id: '78' });
  });

  it('a component of a heterogeneous job is no element of an array', () => {
    const { jobs } = slurm.parseHistory(
      said('9+1|COMPLETED|0:0\n9+1.batch|COMPLETED|0:0\n'),
      { argv: ['sacct', '-n', '-P', '-o', 'JobID,State,ExitCode'] }
    );
    const job = one(jobs);
    expect(job).toMatchObject({ id: '9+1', masterId: '9' });
    expect(job.arrayIndex).toBeUndefined();
  });

  it('sacct is read with its header, a greeting and columns in small letters', () => {
    const result = slurm.parseHistory(
      said('Welcome\nJobID|State|ExitCode\n9|FAILED|2:0\n9.batch|FAILED|2:0\n'),
      { argv: ['sacct', '-P', '--format=jobid,state,exitcode'], asked: ['9'] }
    );
    expect(result.code).toBe('OK');
    expect(one(result.jobs)).toMatchObject({
      state: 'FAILED',
      exit: { code: 2, signal: null }
    });
  });

  it('0:125 of an OOM kill is no signal', () => {
    const { jobs } = slurm.parseHistory(said('9|OUT_OF_MEMORY|0:125\n'), {
      argv: ['sacct', '-nPo', 'JobID,State,ExitCode']
    });
    expect(one(jobs)).toMatchObject({ state: 'OUT_OF_MEMORY', exit: null });
  });

  it('a limit beyond every calendar gives no deadline and no exception', () => {
    const text =
      'JobId=9 JobName=x\n   JobState=RUNNING Reason=None\n   TimeLimit=999999999999-00:00:00\n   StartTime=2026-11-30T14:00:00\n';
    const { jobs } = slurm.parseStatus(said(text), { asked: ['9'] });
    expect(one(jobs)).toMatchObject({ state: 'RUNNING', endsAt: null });
  });

  it.each([
    ['JobHoldMaxRequeue', 'HELD', 'held', true],
    ['MaxMemPerLimit', 'PENDING', 'limit', true],
    ['BurstBufferStageIn', 'PENDING', 'resources', false],
    ['FrontEndDown', 'PENDING', 'node', true]
  ])('a job waiting for %s is %s', (reason, state, reasonClass, stuck) => {
    const { jobs } = slurm.parseStatus(said(`9|PD|${reason}\n`), {
      argv: ['squeue', '-ho', '%i|%t|%r'],
      asked: ['9']
    });
    expect(one(jobs)).toMatchObject({ state, reasonClass, stuck });
  });
});

describe('PBS and Torque', () => {
  it('a greeting before the JSON of qstat does not hide the jobs', () => {
    const { jobs } = pbs.parseStatus(
      said('Welcome!\n[INFO] quota\n{"Jobs":{"9.p":{"job_state":"R"}}}'),
      { argv: ['qstat', '-f', '-F', 'json'], asked: ['9.p'] }
    );
    expect(one(jobs).state).toBe('RUNNING');
  });

  it('a server name cut in a table still is the server of the id', () => {
    const { jobs, missing } = pbs.parseStatus(
      said(
        'Job id            Name             User              Time Use S Queue\n----------------  ---------------- ----------------  -------- - -----\n9.pbs-server-lo*  x                u                 00:00:00 R workq           \n'
      ),
      { argv: ['qstat'], asked: ['9.pbs-server-long.site.org'] }
    );
    expect(missing).toEqual([]);
    expect(one(jobs).state).toBe('RUNNING');
  });

  it.each([
    ['-27', 'OUT_OF_MEMORY'],
    ['-29', 'TIMEOUT'],
    ['-10', 'FAILED']
  ])('exit %s of PBS is %s', (exit, wanted) => {
    const text = `Job Id: 9.p\n    job_state = F\n    Exit_status = ${exit}\n`;
    const { jobs } = pbs.parseStatus(said(text), { argv: ['qstat', '-f'] });
    expect(one(jobs).state).toBe(wanted);
  });

  it.each([
    ['-10', 'OUT_OF_MEMORY'],
    ['-11', 'TIMEOUT'],
    ['-4', 'FAILED']
  ])('exit %s of Torque is %s', (exit, wanted) => {
    const text = `<Data><Job><Job_Id>9.head</Job_Id><job_state>C</job_state><exit_status>${exit}</exit_status></Job></Data>`;
    const { jobs } = torque.parseStatus(said(text), { argv: ['qstat', '-x'] });
    expect(one(jobs).state).toBe(wanted);
  });

  it.each([
    ['qsub: Job exceeds queue and/or server resource limits\n', 'limit'],
    ['qsub: Access to queue is denied\n', 'partition'],
    ['qsub: Invalid project name\n', 'account']
  ])('%j is a refusal of the kind %s', (words, reason) => {
    expect(pbs.parseSubmit(said('', words, 1))).toMatchObject({
      code: 'REJECTED',
      reason
    });
  });
});

describe('Grid Engine', () => {
  it('a rescheduled run is not the end of its job', () => {
    const text =
      '==============================================================\nqname        all.q\njobnumber    9\ntaskid       undefined\nfailed       25  : rescheduling\nexit_status  0\n';
    const { jobs } = sge.parseHistory(said(text), {
      argv: ['qacct', '-j', '9'],
      asked: ['9']
    });
    expect(one(jobs)).toMatchObject({
      state: 'PENDING',
      final: false,
      reasonClass: 'requeued'
    });
  });

  it("a cancel of somebody else's job is denied", () => {
    const words =
      'u - you do not have the necessary privileges to delete the job "9"\n';
    expect(
      sge.parseCancel(said(words, '', 1), { ids: ['9'] }).get('9')?.code
    ).toBe('DENIED');
  });
});

describe('floods', () => {
  it.each(['slurm', 'pbs', 'lsf', 'htcondor', 'oar'])(
    '%s: a flood of empty lines is answered, not pondered until a test gives up',
    name => {
      const flood = said(`${'\n'.repeat(60_000)}x`);
      const of = system(name);
      expect(of.parseStatus(flood).jobs.size).toBe(0);
      expect(of.parseSubmit(flood).ids).toEqual([]);
      const refusal = said('', flood.stdout, 1);
      expect(of.parseSubmit(refusal).ids).toEqual([]);
    }
  );

  it('a refusal of one endless line to a question about queues is answered', () => {
    expect(pbs.parseLimits(said('', 'x'.repeat(200_000), 1)).queues).toEqual(
      []
    );
  });
});
