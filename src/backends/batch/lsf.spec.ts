/** LSF, with answers written from its documentation: no LSF has been seen yet. */
import { describe, expect, it } from '@jest/globals';
import { lsf as facts } from './lsf.js';
import { batchProfileSchema } from './profile.js';
import { schedulingFor } from './scheduling.js';

const lsf = schedulingFor(facts);
const said = (stdout: string, stderr = '', rc = 0) => ({ rc, stdout, stderr });
const GiB = 1024 ** 3;

describe('LSF from its documentation', () => {
  it('a job becomes directives', () => {
    const spec = lsf.job({
      name: 'w',
      token: 'mst-1',
      nodes: 2,
      tasksPerNode: 4,
      cpusPerTask: 2,
      memory: { bytes: 8 * GiB, per: 'node' },
      gpusPerTask: 1,
      gpuType: 'NVIDIAA100',
      walltimeSeconds: 5430,
      queue: 'normal',
      project: 'p1',
      exclusive: true,
      stdout: ['/l/', { fill: 'id' }, '.out'],
      warnBefore: { signal: 'USR1', seconds: 90 }
    });
    expect(lsf.resourceHeader(spec).lines).toEqual([
      '#BSUB -J w.mst-1',
      '#BSUB -Jd mst-1',
      '#BSUB -q normal',
      '#BSUB -P p1',
      '#BSUB -n 16',
      '#BSUB -R "span[ptile=8]"',
      '#BSUB -R "rusage[mem=8192MB]"',
      '#BSUB -M 16384MB',
      '#BSUB -gpu "num=4:mode=exclusive_process:gmodel=NVIDIAA100"',
      '#BSUB -W 1:31',
      '#BSUB -x',
      '#BSUB -wa USR1 -wt 2',
      '#BSUB -rn',
      '#BSUB -o /l/%J.out',
      '#BSUB -L /bin/bash'
    ]);
  });

  it('an array is part of the name, with or without one', () => {
    const array = { indices: [1, 2, 3, 7], maxRunning: 2 };
    expect(lsf.resourceHeader(lsf.job({ name: 'w', array })).options[0]).toBe(
      '-J "w[1-3,7]%2"'
    );
    expect(lsf.resourceHeader(lsf.job({ array })).options[0]).toBe(
      '-J "muster[1-3,7]%2"'
    );
  });

  it('the id is in the sentence, banners of the site around it', () => {
    const text =
      'MEMLIMIT set to 4 GB\nJob <1234> is submitted to default queue <normal>.\nHave a nice day 7\n';
    expect(lsf.parseSubmit(said(text))).toMatchObject({
      code: 'OK',
      id: '1234'
    });
  });

  it.each([
    ['normalx: No such queue. Job not submitted.', 'partition', 'queue'],
    ['User cannot use the queue. Job not submitted.', 'partition', 'queue'],
    [
      '90:00: Cannot exceed queue RUNLIMIT. Job not submitted.',
      'limit',
      'walltimeSeconds'
    ],
    [
      'Bad resource requirement syntax. Job not submitted.',
      'syntax',
      'constraint'
    ],
    ['Too many processors requested. Job not submitted.', 'limit', 'tasks']
  ])('"%s" is a refusal that names its field', (words, reason, field) => {
    expect(lsf.parseSubmit(said('', words, 255))).toMatchObject({
      code: 'REJECTED',
      reason,
      field
    });
  });

  it('LSF that is down is tried again, never adopted', () => {
    expect(
      lsf.parseSubmit(
        said(
          '',
          'Failed in an LSF library call: LIM is down; try later. Job not submitted.\n',
          255
        )
      )
    ).toMatchObject({ code: 'RETRY', ids: [] });
  });

  it('records tell states, ends and hosts, and which job is not known', () => {
    const records = (rows: object[]) =>
      said(
        JSON.stringify({ COMMAND: 'bjobs', JOBS: rows.length, RECORDS: rows })
      );
    const result = lsf.parseStatus(
      records([
        {
          JOBID: '1',
          JOBINDEX: '0',
          STAT: 'RUN',
          USER: 'dev',
          JOB_NAME: 'w.mst-1',
          JOB_DESCRIPTION: 'mst-1',
          EXEC_HOST: '4*n1:4*n2'
        },
        { JOBID: '2', STAT: 'EXIT', EXIT_CODE: '3', EXIT_REASON: '' },
        {
          JOBID: '3',
          STAT: 'EXIT',
          EXIT_CODE: '140',
          EXIT_REASON:
            'TERM_RUNLIMIT: job killed after reaching LSF run time limit'
        },
        {
          JOBID: '4',
          STAT: 'EXIT',
          EXIT_CODE: '130',
          EXIT_REASON: 'TERM_OWNER: job killed by owner'
        },
        { JOBID: '5', STAT: 'PSUSP' },
        { JOBID: '6', STAT: 'UNKWN' },
        { JOBID: '7', STAT: 'DONE' },
        {
          JOBID: '8',
          JOBINDEX: '3',
          STAT: 'PEND',
          PEND_REASON: 'New job is waiting for scheduling;'
        },
        { JOBID: '9', ERROR: 'Job <9> is not found' }
      ]),
      { asked: ['1', '2', '3', '4', '5', '6', '7', '8[3]', '9'] }
    );
    expect([...result.jobs].map(([id, job]) => `${id} ${job.state}`)).toEqual([
      '1 RUNNING',
      '2 FAILED',
      '3 TIMEOUT',
      '4 CANCELLED',
      '5 HELD',
      '6 UNKNOWN',
      '7 COMPLETED',
      '8[3] PENDING'
    ]);
    expect(result.missing).toEqual(['9']);
    expect(result.jobs.get('1')).toMatchObject({
      nodes: ['n1', 'n2'],
      token: 'mst-1'
    });
    expect(result.jobs.get('2')?.exit).toEqual({ code: 3, signal: null });
    // The host is out of reach: no end.
    expect(result.jobs.get('6')?.final).toBe(false);
  });

  it('a cancel is answered for each job', () => {
    const result = lsf.parseCancel(
      said(
        'Job <1> is being terminated\n',
        'Job <2>: Job has already finished\nJob <3>: No matching job found\nJob <4>: User permission denied\n',
        255
      ),
      { ids: ['1', '2', '3', '4'] }
    );
    expect([...result].map(([id, one]) => `${id} ${one.code}`)).toEqual([
      '1 OK',
      '2 GONE',
      '3 GONE',
      '4 DENIED'
    ]);
  });

  it('an easy-mode site is asked for nodes only', () => {
    const profile = batchProfileSchema.parse({ site: { easyMode: true } });
    const header = lsf.resourceHeader(
      lsf.job({ nodes: 2, walltimeSeconds: 60 }),
      profile
    );
    expect(header.options).toEqual([
      '-nnodes 2',
      '-W 0:01',
      '-rn',
      '-L /bin/bash'
    ]);
  });
});
