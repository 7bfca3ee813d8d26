/**
 * Failures users of other software reported, as inputs with the right behaviour. Sections and
 * numbers are those of the project's list of cases (A submit, B cancel, C directives, D status).
 */
import { describe, expect, it } from '@jest/globals';
import { scrubEnvironment } from './environment.js';
import { SpecError, ToolMissing } from './errors.js';
import { ScriptedRunner } from './fixtures/scripted-runner.js';
import { jobMemory } from './job-spec.js';
import { nameHasToken } from './job-name.js';
import { findByToken, preflight } from './inquiry.js';
import { cancelJobs } from './job-orders.js';
import { batchProfileSchema, type BatchProfileInput } from './profile.js';
import { schedulingFor, type Scheduling } from './scheduling.js';
import { submitScript } from './submission.js';
import { BUILT_IN } from './systems.js';
import { workerShare } from './geometry.js';

function system(name: string): Scheduling {
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
const lsf = system('lsf');
const condor = system('htcondor');
const flux = system('flux');

const said = (stdout: string, stderr = '', rc = 0) => ({ rc, stdout, stderr });
const profile = (input: BatchProfileInput) => batchProfileSchema.parse(input);
const GiB = 1024 ** 3;

function options(
  its: Scheduling,
  input: Record<string, unknown>,
  site: BatchProfileInput = {}
): string[] {
  const with_ = profile(site);
  return its.resourceHeader(its.job(input, with_), with_).options;
}

function refused(make: () => unknown): string[] {
  try {
    make();
  } catch (error) {
    if (error instanceof SpecError) {
      return error.problems.map(one => one.field);
    }
    throw error;
  }
  return [];
}

describe('submit and id', () => {
  it('A1: the sentence of sbatch holds the id, and scancel gets the id alone', () => {
    const { id } = slurm.parseSubmit(said('Submitted batch job 5\n'));
    expect(id).toBe('5');
    expect(
      slurm.cancelArgv(['5'])[0]?.filter(word => !/^-/.test(word))
    ).toEqual(['scancel', '5']);
    expect(() => slurm.cancelArgv(['Submitted batch job 5'])).toThrow(
      SpecError
    );
  });

  it('A2: a wrapper that prints the bare number is understood', () => {
    expect(slurm.parseSubmit(said('4711\n')).id).toBe('4711');
  });

  it('A3: a wrapper that does not know --parsable asks for one plain repeat', () => {
    const first = slurm.parseSubmit(
      said('', "sbatch: unrecognized option '--parsable'\n", 255)
    );
    expect(first).toMatchObject({ code: 'REJECTED', plainRepeat: true });
    const plain = profile({ plainSubmit: true });
    expect(slurm.submitArgv('/j', plain).argv).not.toContain('--parsable');
    expect(slurm.parseSubmit(said('Submitted batch job 6\n'), plain).id).toBe(
      '6'
    );
    expect(
      slurm.parseSubmit(
        said('', "sbatch: unrecognized option '--parsable'\n", 255),
        plain
      ).plainRepeat
    ).toBeUndefined();
  });

  it('A4: a pattern of the site finds the id of an NQS-like system', () => {
    const site = profile({
      idPatterns: ['^Request (?<id>\\d+\\.\\S+) submitted to queue: \\S+\\.$']
    });
    expect(
      pbs.parseSubmit(
        said('Request 123456.host submitted to queue: std.\n'),
        site
      ).id
    ).toBe('123456.host');
  });

  it('A5: an id with and without its server is the same job', () => {
    const result = pbs.parseSubmit(said('11202854.server.address.domain\n'));
    expect(result.id).toBe('11202854.server.address.domain');
    expect(pbs.sameJob('11202854', '11202854.server.address.domain')).toBe(
      true
    );
    expect(pbs.sameJob('1120285', '11202854.server.address.domain')).toBe(
      false
    );
  });

  it('A6: a number in the greeting of a site is never the id', () => {
    const text =
      '-----------------------------------------------------------------\n' +
      '          Welcome to Stampede3 Supercomputer\n' +
      '-----------------------------------------------------------------\n\n' +
      'No reservation for this job\n--> Verifying valid submit host (login3)...OK\n' +
      'Submitted batch job 519605\n';
    expect(slurm.parseSubmit(said(text)).id).toBe('519605');
    expect(slurm.parseSubmit(said('Welcome to Stampede3\n')).code).toBe(
      'UNCERTAIN'
    );
  });

  it('A7: the ids of Flux are kept as written and compared with their decimals', () => {
    const { id } = flux.parseSubmit(said('ƒiFkbMhFM\n'));
    expect(id).toBe('ƒiFkbMhFM');
    expect(flux.sameJob('ƒiFkbMhFM', 'fiFkbMhFM')).toBe(true);
  });

  it('A8: the id of a PBS array keeps its brackets, so the whole array ends', () => {
    const { id } = pbs.parseSubmit(said('1234[].pbs01\n'));
    expect(id).toBe('1234[].pbs01');
    expect(
      pbs
        .cancelArgv([id ?? ''])
        .at(0)
        ?.at(-1)
    ).toBe('1234[].pbs01');
  });

  it('A9: the cluster beside the id goes into every later query and cancel', () => {
    const result = slurm.parseSubmit(said('42;c2\n'));
    expect(result).toMatchObject({ id: '42', cluster: 'c2' });
    const there = profile({ cluster: 'c2' });
    for (const argv of [
      slurm.statusArgv(['42'], {}, there)[0],
      slurm.historyArgv(['42'], {}, there)[0],
      slurm.cancelArgv(['42'], {}, there)[0]
    ]) {
      expect(argv?.[argv.indexOf('-M') + 1]).toBe('c2');
    }
  });

  it('A10: "on cluster nautilus" is the cluster, not the id', () => {
    expect(
      slurm.parseSubmit(
        said('Submitted batch job 3969755 on cluster nautilus\n')
      )
    ).toMatchObject({ id: '3969755', cluster: 'nautilus' });
  });

  it('A11: an unknown queue is refused with the words of the system', () => {
    const result = pbs.parseSubmit(said('', 'qsub: Unknown queue\n', 170));
    expect(result).toMatchObject({
      code: 'REJECTED',
      reason: 'partition',
      field: 'queue',
      message: 'qsub: Unknown queue'
    });
  });

  it('A12: a qsub that ends with 32 gives one result with its code and both streams', () => {
    const result = pbs.parseSubmit(
      said('out\n', 'qsub: Job rejected by all possible destinations\n', 32)
    );
    expect(result).toMatchObject({
      code: 'REJECTED',
      rc: 32,
      stdout: 'out\n',
      stderr: 'qsub: Job rejected by all possible destinations\n'
    });
  });

  it('A14: where sbatch is not installed, one look says so', async () => {
    const runner = new ScriptedRunner([{ rc: null, errno: 'ENOENT' }]);
    await expect(preflight(slurm, runner)).rejects.toThrow(ToolMissing);
    expect(runner.commands).toHaveLength(1);
  });

  it('A15, A16: a lost answer is uncertain, and the job is adopted by its token', async () => {
    const result = slurm.parseSubmit(
      said(
        '',
        'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n',
        1
      )
    );
    expect(result.code).toBe('UNCERTAIN');
    expect(result.plainRepeat).toBeUndefined();
    const oar = system('oar');
    const found = await findByToken(
      oar,
      { token: 'mst-1', user: 'dev' },
      new ScriptedRunner([
        {
          stdout: JSON.stringify({
            9: { Job_Id: 9, state: 'Waiting', name: 'w.mst-1' }
          })
        }
      ])
    );
    expect(found.matches.map(one => one.id)).toEqual(['9']);
  });

  it('A19: long names and names that begin with a digit keep their token whole', () => {
    for (const name of ['9'.repeat(60), 'my job', 'größe/α', '-x']) {
      for (const its of [
        pbs,
        torque,
        sge,
        lsf,
        condor,
        flux,
        slurm,
        system('oar')
      ]) {
        const token = 'muster-0123456789abcdef-fedcba9876543210';
        const line = options(its, { name, token }).find(text =>
          /^(-J|-N|-n|--job-name=|batch_name =)/.test(text)
        );
        const written = line?.replace(/^\S+( =)?\s+|^--job-name=/, '') ?? '';
        expect(written.length).toBeLessThanOrEqual(
          its.facts.capabilities.maxNameLength + 4
        );
        expect(
          nameHasToken(its.facts, written.replaceAll(/["'\\]/g, ''), token)
        ).toBe(true);
        if (its === pbs || its === sge || its === torque) {
          expect(written).toMatch(/^[A-Za-z]/);
        }
      }
    }
  });

  it('A20: a submit from inside an array job does not pass the outer job on', () => {
    const clean = scrubEnvironment({
      HOME: '/home/dev',
      SLURM_CONF: '/etc/slurm/slurm.conf',
      SLURM_ARRAY_TASK_ID: '3',
      SLURM_JOB_ID: '17',
      SBATCH_PARTITION: 'x',
      PBS_JOBID: '4',
      PBS_CONF_FILE: '/etc/pbs.conf',
      FLUX_URI: 'local:///x'
    });
    expect(clean).toEqual({
      HOME: '/home/dev',
      SLURM_CONF: '/etc/slurm/slurm.conf',
      PBS_CONF_FILE: '/etc/pbs.conf'
    });
    expect(scrubEnvironment({ FLUX_URI: 'local:///x' }, ['FLUX_URI'])).toEqual({
      FLUX_URI: 'local:///x'
    });
  });
});

describe('cancel', () => {
  it('B1: nothing to cancel starts no process', async () => {
    const runner = new ScriptedRunner([]);
    expect((await cancelJobs(slurm, [], runner)).size).toBe(0);
    expect(runner.commands).toEqual([]);
  });

  it('B2: a cancel while the server is down is not taken for done', () => {
    const down: [Scheduling, string, string][] = [
      [
        slurm,
        '5',
        'scancel: error: Kill job error on job id 5: Unable to contact slurm controller (connect failure)\n'
      ],
      [
        pbs,
        '5.head',
        'Connection refused\nqdel: cannot connect to server head (errno=111)\n'
      ],
      [
        sge,
        '5',
        'error: commlib error: got select error (Connection refused)\nerror: unable to send message to qmaster using port 6444 on host "head": got send error\n'
      ]
    ];
    for (const [its, id, words] of down) {
      const code = its
        .parseCancel(said('', words, 1), { ids: [id] })
        .get(id)?.code;
      expect(['UNCERTAIN', 'ERROR']).toContain(code);
    }
  });

  it('B4: a job cancelled by an administrator is stopping, then cancelled by another', () => {
    const shown = (text: string) =>
      slurm
        .parseStatus(said(text), {
          argv: ['squeue', '-h', '-j', '5', '-o', '%i %t'],
          asked: ['5']
        })
        .jobs.get('5');
    expect(shown('5 CG\n')).toMatchObject({ state: 'STOPPING', final: false });
    expect(shown('5 CA\n')).toMatchObject({ state: 'CANCELLED', final: true });
  });

  it('B5: a completing Slurm job is stopping, not gone', () => {
    const result = slurm.parseStatus(said('5 CG\n'), {
      argv: ['squeue', '-h', '-j', '5', '-o', '%i %t'],
      asked: ['5']
    });
    expect(result.jobs.get('5')).toMatchObject({
      state: 'STOPPING',
      final: false
    });
  });
});

describe('directives and resources', () => {
  it('C1: two workers share the memory of their job', () => {
    const spec = slurm.job({
      workersPerJob: 2,
      memory: { bytes: '24 GB', per: 'job' }
    });
    const whole = jobMemory(spec) ?? 0;
    expect(whole).toBe(24e9);
    expect(workerShare(whole, 2, 0.04) * 2).toBeLessThanOrEqual(whole);
    expect(workerShare(whole, 2, 0) * 2).toBeLessThanOrEqual(whole);
    expect(
      refused(() =>
        slurm.job({
          workersPerJob: 2,
          memoryPerWorker: '12 GiB',
          memory: { bytes: '24 GB', per: 'job' }
        })
      )
    ).toContain('memoryPerWorker');
  });

  it('C2: memory left unset writes no memory line', () => {
    for (const its of [slurm, pbs, torque, lsf]) {
      expect(options(its, { nodes: 1 }).join('\n')).not.toMatch(/mem/i);
    }
  });

  it('C3: the whole memory of a node is --mem=0 on Slurm', () => {
    expect(options(slurm, { memory: 'wholeNode' })).toContain('--mem=0');
    expect(
      options(slurm, { memory: { bytes: 0, per: 'node' } }).join('\n')
    ).not.toMatch(/mem(-per-cpu)?=[1-9]/);
  });

  it('C4: a site that refuses --cpus-per-task gets all cpus with -n', () => {
    const lines = options(
      slurm,
      { tasks: 1, cpusPerTask: 8 },
      { site: { cpusAsTasks: true } }
    );
    expect(lines).toContain('-n 8');
    expect(lines.join('\n')).not.toMatch(/^-c /m);
  });

  it('C5: memory as text and as bytes are the same', () => {
    const text = options(slurm, { memory: { bytes: '24 GB', per: 'node' } });
    const bytes = options(slurm, { memory: { bytes: 24e9, per: 'node' } });
    expect(text).toEqual(bytes);
  });

  it('C6: a bare 2024 is never a silent limit of 2024 bytes', () => {
    for (const bytes of [2024, '2024']) {
      const spec = slurm.job({ memory: { bytes, per: 'node' } });
      const header = slurm.resourceHeader(spec);
      expect(header.options).toContain('--mem=1M');
      expect(header.warnings.join(' ')).toMatch(/memory/);
    }
  });

  it('C7, C16: LSF memory carries its unit, whatever lsf.conf says', () => {
    const lines = options(lsf, {
      memory: { bytes: GiB, per: 'job' },
      tasks: 1
    }).join('\n');
    expect(lines).toMatch(/-M 1024MB/);
    expect(lines).toMatch(/rusage\[mem=1024MB\]/);
  });

  it('C8: an easy-mode site of LSF gets -nnodes and neither -n nor -R', () => {
    const lines = options(
      lsf,
      { nodes: 3, memory: { bytes: GiB, per: 'node' } },
      { site: { easyMode: true } }
    );
    expect(lines).toContain('-nnodes 3');
    expect(lines.filter(line => /^-(n|R) /.test(line))).toEqual([]);
  });

  it('C9: an hour is 1:00 on LSF, and its own words are shown if it refuses', () => {
    expect(options(lsf, { walltimeSeconds: '01:00:00' })).toContain('-W 1:00');
    const words = '01:00:00: Bad RUNLIMIT specified. Job not submitted.\n';
    expect(lsf.parseSubmit(said('', words, 255))).toMatchObject({
      code: 'REJECTED',
      field: 'walltimeSeconds',
      message: words.trim()
    });
  });

  it('C10: Grid Engine memory is per slot under the key of the site', () => {
    const input = { cpusPerTask: 4, memory: { bytes: 4 * GiB, per: 'job' } };
    const fields = refused(() => options(sge, input));
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.every(field => field.startsWith('profile.'))).toBe(true);
    const keys = Object.keys(sge.facts.site);
    const memoryKey = keys.find(key => /memory/i.test(key)) ?? '';
    const peKey = keys.find(key => /parallel|pe$/i.test(key)) ?? '';
    const lines = options(sge, input, {
      site: { [memoryKey]: 'h_vmem', [peKey]: 'smp' }
    });
    expect(lines.join('\n')).toMatch(/-pe smp 4/);
    expect(lines.join('\n')).toMatch(/-l h_vmem=(1G|1024M|1048576K)/);
  });

  it('C11: Torque gets nodes and ppn and a memory of its own, no select', () => {
    const lines = options(torque, {
      nodes: 1,
      tasksPerNode: 1,
      cpusPerTask: 4,
      memory: { bytes: 2 * GiB, per: 'job' }
    }).join('\n');
    expect(lines).not.toMatch(/select/);
    expect(lines).toMatch(/-l nodes=1:ppn=4/);
    expect(lines).toMatch(/-l mem=\d+[km]b/);
  });

  it('C12: a skipped -n goes, the own line with -n stays', () => {
    const lines = options(
      slurm,
      { tasks: 4, native: ['-n 3'] },
      { skip: ['-n'] }
    );
    expect(lines.filter(line => /^(-n|--ntasks)\b(?!-per)/.test(line))).toEqual(
      ['-n 3']
    );
    expect(lines.some(line => line.startsWith('-N'))).toBe(true);
  });

  it('C14: on HTCondor the commands before the worker are run by a script', () => {
    const { files } = condor.renderFiles(
      condor.job({ token: 'mst-1' }),
      'module load x\nexport A=b\nexec worker',
      '/j/mst-1'
    );
    expect(files[0]?.text).toContain('executable = /j/mst-1.sh');
    expect(files[1]?.text).toContain('module load x\nexport A=b\nexec worker');
    expect(files[1]?.text.startsWith('#!/bin/bash\n')).toBe(true);
  });

  it('C13: a GPU is a typed field of every system that knows GPUs, not a native line', () => {
    expect(
      options(slurm, { gpusPerTask: 1, gpuType: 'a100' }).join('\n')
    ).toMatch(/gpu.*a100.*1/);
    expect(slurm.describe().capabilities.gpus).toBe(true);
    expect(options(slurm, {}).join('\n')).not.toMatch(/gpu|gres/);
  });

  it('C15: memory is rounded up to MiB on Slurm, never to whole GiB', () => {
    const of = (bytes: string) =>
      options(slurm, { memory: { bytes, per: 'node' } }).find(line =>
        line.startsWith('--mem=')
      );
    expect(of('1500 MB')).toBe('--mem=1431M');
    expect(of('1025 MiB')).toBe('--mem=1025M');
    expect(of('3.9 GB')).toBe('--mem=3720M');
  });

  it('C17: a native line given as one string is never one line per character', () => {
    expect(refused(() => slurm.job({ native: '--gres=gpu:1' }))).toContain(
      'native'
    );
    expect(options(slurm, { native: ['--gres=gpu:1'] }).at(-1)).toBe(
      '--gres=gpu:1'
    );
  });

  it('C18: blanks in names and paths stay single values, and $TMPDIR is for the node', () => {
    const spec = slurm.job({
      name: 'my job',
      stdout: '/log dir/x',
      workdir: [{ variable: 'TMPDIR' }, '/my dir'],
      env: { A: "it's $HOME" }
    });
    const script = slurm.renderScript(spec, ':');
    expect(script).toContain('#SBATCH -J "my job"');
    expect(script).toContain('#SBATCH -o "/log dir/x"');
    expect(script).toContain("export A='it'\\''s $HOME'");
    expect(script).toMatch(/cd "\$\{TMPDIR:-\}"'\/my dir' \|\| exit 125/);
  });

  it('C19: Grid Engine always gets its shell, and merged streams only when asked', () => {
    const apart = options(sge, { stdout: '/l/$x.o', stderr: '/l/x.e' });
    expect(apart.join('\n')).toMatch(/^-S \/bin\/bash$/m);
    expect(apart.join('\n')).not.toMatch(/-j y/);
    expect(
      options(sge, { stdout: '/l/x.o', joinOutput: true }).join('\n')
    ).toMatch(/-j y/);
  });

  it('C20: a job without a name gets no name line on LSF', () => {
    expect(options(lsf, { nodes: 1 }).join('\n')).not.toMatch(/^-J/m);
  });

  it('C21: two nodes of four tasks of eight cpus on PBS Pro', () => {
    expect(
      options(pbs, { nodes: 2, tasksPerNode: 4, cpusPerTask: 8 }).join('\n')
    ).toContain('select=2:ncpus=32:mpiprocs=4:ompthreads=8');
  });

  it('C22: the id and the index can stand in the path, and one file for all is warned of', () => {
    const spec = slurm.job({
      stdout: ['/l/', { fill: 'id' }, '-', { fill: 'index' }, '.out'],
      array: { indices: [0, 1] }
    });
    expect(slurm.resourceHeader(spec).options).toContain('-o /l/%A-%a.out');
    expect(
      slurm
        .resourceHeader(slurm.job({ stdout: '/l/all.out' }))
        .warnings.join(' ')
    ).toMatch(/same file/);
  });

  it('C23: half a minute becomes a whole one, never zero', () => {
    expect(options(slurm, { walltimeSeconds: 29 })).toContain('-t 0-00:01:00');
    expect(options(lsf, { walltimeSeconds: 29 })).toContain('-W 0:01');
    expect(refused(() => slurm.job({ walltimeSeconds: 0 }))).toEqual([
      'walltimeSeconds'
    ]);
  });
});

describe('status', () => {
  const squeue = (text: string, asked: string[], rc = 0, stderr = '') =>
    slurm.parseStatus(said(text, stderr, rc), {
      argv: ['squeue', '-h', '-o', '%i %T', '-j', asked.join(',')],
      asked
    });

  it('D1: "Invalid job id" makes a job missing, neither running nor failed', () => {
    const result = squeue(
      '',
      ['17'],
      1,
      'slurm_load_jobs error: Invalid job id specified\n'
    );
    expect(result).toMatchObject({ code: 'EMPTY', missing: ['17'] });
    expect(result.jobs.size).toBe(0);
  });

  it('D2: RUNNING and R are the same, and an unknown code is no end', () => {
    expect(squeue('17 RUNNING\n', ['17']).jobs.get('17')?.state).toBe(
      'RUNNING'
    );
    const short = slurm.parseStatus(said('17 R\n'), {
      argv: ['squeue', '-h', '-o', '%i %t'],
      asked: ['17']
    });
    expect(short.jobs.get('17')?.state).toBe('RUNNING');
    expect(squeue('17 FROZEN\n', ['17']).jobs.get('17')).toMatchObject({
      state: 'UNKNOWN',
      final: false,
      nativeState: 'FROZEN'
    });
  });

  it('D4: of two jobs one purged, then both', () => {
    expect(squeue('18 RUNNING\n', ['17', '18'])).toMatchObject({
      missing: ['17']
    });
    expect(squeue('', ['17', '18'])).toMatchObject({
      code: 'EMPTY',
      missing: ['17', '18']
    });
  });

  it('D5: "CANCELLED by 123" and a cut OUT_OF_ME+ are read', () => {
    const history = slurm.parseHistory(
      said('5|CANCELLED by 123|0:0\n6|OUT_OF_ME+|0:125\n'),
      {
        argv: ['sacct', '-n', '-P', '-o', 'JobID,State,ExitCode'],
        asked: ['5', '6']
      }
    );
    expect(history.jobs.get('5')).toMatchObject({
      state: 'CANCELLED',
      endedBy: '123'
    });
    expect(history.jobs.get('6')?.state).toBe('OUT_OF_MEMORY');
  });

  it('D7: a cluster without accounting has no history, which is no outage', () => {
    const result = slurm.parseHistory(
      said('', 'Slurm accounting storage is disabled\n', 1),
      { asked: ['5'] }
    );
    expect(result).toMatchObject({ code: 'UNSUPPORTED', missing: [] });
  });

  it.each([
    [
      'the controller is not there',
      1,
      'slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n',
      ''
    ],
    ['nobody knows the words', 1, 'the moon is in the seventh house\n', ''],
    ['the output is not a listing', 0, '', '<html>504</html>\n']
  ])('D8: when %s, no job is gone', (_, rc, stderr, stdout) => {
    expect(squeue(stdout, ['17'], rc, stderr)).toMatchObject({
      code: 'UNREACHABLE',
      missing: []
    });
  });

  it('D8: when the query runs out of time, no job is gone', () => {
    const result = slurm.parseStatus(
      { rc: null, stdout: '', stderr: '', timedOut: true },
      { asked: ['17'] }
    );
    expect(result).toMatchObject({ code: 'UNREACHABLE', missing: [] });
  });

  it('D9: "Job has finished" settles that job and disturbs no other', () => {
    const result = pbs.parseStatus(
      said(
        'Job Id: 6.head\n    job_state = R\n\n',
        'qstat: 5.head Job has finished, use -x or -H to obtain historical job information\n',
        35
      ),
      { argv: ['qstat', '-f', '5.head', '6.head'], asked: ['5.head', '6.head'] }
    );
    expect(result.missing).toEqual(['5.head']);
    expect(result.jobs.get('6.head')?.state).toBe('RUNNING');
  });

  it('D10: a job LSF has stopped is suspended, not failed', () => {
    const records = {
      COMMAND: 'bjobs',
      JOBS: 1,
      RECORDS: [{ JOBID: '7', STAT: 'SSUSP', TIME_LEFT: '-' }]
    };
    const result = lsf.parseStatus(said(JSON.stringify(records)), {
      asked: ['7']
    });
    expect(result.jobs.get('7')).toMatchObject({
      state: 'SUSPENDED',
      final: false,
      endsAt: null
    });
  });

  it('D12: -x is history on PBS Pro; Torque is read without it', () => {
    expect(pbs.historyArgv(['5.head'])[0]).toContain('-x');
    expect(torque.facts.history).toBeUndefined();
    const version = (text: string) => ({
      pbs: pbs.parseVersion(said(text)),
      torque: torque.parseVersion(said(text))
    });
    expect(version('pbs_version = 20.0.1\n').pbs).toBe('20.0.1');
    expect(version('pbs_version = 20.0.1\n').torque).toBeNull();
  });

  it('D13: jobs over the limit of the site wait with their reason', () => {
    const rows = Array.from(
      { length: 40 },
      (_, at) =>
        `${at + 1}|${at < 35 ? 'RUNNING' : 'PENDING'}|${at < 35 ? 'None' : 'QOSMaxJobsPerUserLimit'}\n`
    ).join('');
    const asked = Array.from({ length: 40 }, (_, at) => String(at + 1));
    const result = slurm.parseStatus(said(rows), {
      argv: ['squeue', '-h', '-o', '%i|%T|%r'],
      asked
    });
    const states = [...result.jobs.values()];
    expect(states.filter(job => job.state === 'RUNNING')).toHaveLength(35);
    const waiting = states.filter(job => job.state === 'PENDING');
    expect(waiting.map(job => job.reasonClass)).toEqual(
      Array.from({ length: 5 }, () => 'limit')
    );
  });
});

describe('what must never happen twice', () => {
  it('a refused submit with an id on stdout of a wrapper is not adopted', async () => {
    const result = await submitScript(
      slurm,
      { spec: slurm.job({ token: 'mst-1' }), body: ':', path: '/j/mst-1' },
      new ScriptedRunner([
        { rc: 1, stdout: '12\n', stderr: 'sbatch: error: lost connection\n' }
      ])
    );
    expect(result).toMatchObject({ code: 'UNCERTAIN', id: '12' });
  });
});
