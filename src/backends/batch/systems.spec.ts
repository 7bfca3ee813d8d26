import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { SpecError } from './errors.js';
import { describeTranscripts } from './fixtures/expectations.js';
import { invented } from './fixtures/invented.js';
import { nameHasToken } from './job-name.js';
import { schedulingFor, type Scheduling } from './scheduling.js';
import { BUILT_IN, withSiteSystems } from './systems.js';

// The one line a new system needs.
const REGISTRY = withSiteSystems([invented]);

describeTranscripts('invented', REGISTRY.get('quill') ?? invented);

function documented(name: string): Scheduling {
  const text = readFileSync(
    new URL(`../../../docs/batch-systems/${name}.yaml`, import.meta.url),
    'utf8'
  );
  const facts = withSiteSystems([parse(text)]).get(name);
  if (facts === undefined) {
    throw new Error(`${name} was not read`);
  }
  return schedulingFor(facts);
}

const good = (stdout: string) => ({ rc: 0, stdout, stderr: '' });

describe('batch systems described by data', () => {
  it('eight systems are built in', () => {
    expect([...BUILT_IN.keys()]).toEqual([
      'slurm',
      'pbs',
      'torque',
      'sge',
      'lsf',
      'htcondor',
      'oar',
      'flux'
    ]);
  });

  it('an invented ninth system renders a header of its own', () => {
    const quill = schedulingFor(invented);
    const spec = quill.job({
      name: 'My Job',
      token: 'mst-1',
      nodes: 2,
      cpusPerTask: 4,
      memory: { bytes: '1 GiB', per: 'node' },
      walltimeSeconds: 90,
      queue: 'slow lane',
      gpusPerTask: 1
    });
    const header = quill.resourceHeader(spec);
    expect(header.lines).toEqual([
      '#QUILL name m-y--ob-mst-1',
      '#QUILL note mst-1',
      '#QUILL hosts 2 threads 4',
      '#QUILL ram 1048576K',
      '#QUILL minutes 2',
      '#QUILL lane "slow lane"'
    ]);
    expect(header.notHonoured).toEqual(['gpusPerTask']);
    expect(nameHasToken(invented, 'm-y--ob-mst-1', 'mst-1')).toBe(true);
  });

  it('a site changes a built-in system without repeating it', () => {
    const systems = withSiteSystems([
      {
        name: 'slurm-here',
        basedOn: 'slurm',
        title: 'Slurm with our wrapper',
        submit: { ids: ['^Your job has the number (?<id>\\d+)$'] }
      }
    ]);
    const facts = systems.get('slurm-here');
    expect(facts?.header).toEqual(BUILT_IN.get('slurm')?.header);
    const here = schedulingFor(facts ?? invented);
    expect(here.parseSubmit(good('Your job has the number 12\n')).id).toBe(
      '12'
    );
    expect(here.parseSubmit(good('Submitted batch job 12\n')).code).toBe(
      'UNCERTAIN'
    );
  });

  it('a wrong description names every wrong key at once', () => {
    const wrong = () =>
      withSiteSystems([
        { name: 'x', basedOn: 'slurm', submit: { ids: ['('] }, colour: 'red' },
        { name: 'y', basedOn: 'nothing' },
        3
      ]);
    expect(wrong).toThrow(SpecError);
    try {
      wrong();
    } catch (error) {
      expect(
        (error as SpecError).problems.map(one => one.field).sort()
      ).toEqual([
        'batchSystems.0',
        'batchSystems.0.submit.ids.0',
        'batchSystems.1.basedOn',
        'batchSystems.2'
      ]);
    }
  });
});

describe('Cobalt, from the YAML in the documentation', () => {
  const cobalt = documented('cobalt');

  it('a job becomes directives with whole minutes', () => {
    const spec = cobalt.job({
      name: 'w',
      token: 'mst-1',
      nodes: 2,
      walltimeSeconds: 3601,
      queue: 'debug',
      account: 'Turbine'
    });
    expect(cobalt.resourceHeader(spec).lines).toEqual([
      '#COBALT --jobname w.mst-1',
      '#COBALT -n 2',
      '#COBALT -t 61',
      '#COBALT -q debug',
      '#COBALT -A Turbine'
    ]);
  });

  it('the id is a line of its own behind the messages of the site', () => {
    const text =
      'Job routed to queue "debug".\nMemory mode set to cache quad\n226420\n';
    expect(cobalt.parseSubmit(good(text))).toMatchObject({
      code: 'OK',
      id: '226420'
    });
  });

  it('a refused queue points to the field', () => {
    expect(
      cobalt.parseSubmit({
        rc: 1,
        stdout: '',
        stderr: 'The queue fast does not exist\n'
      })
    ).toMatchObject({ code: 'REJECTED', reason: 'partition', field: 'queue' });
  });

  it('the listing tells who runs and who waits for ever', () => {
    const listing = [
      'JobID   User  State     Location       JobName',
      '================================================',
      '226420  dev   running   nid0001        w.mst-1',
      '226421  dev   dep_fail  None           w.mst-2',
      ''
    ].join('\n');
    const result = cobalt.parseStatus(good(listing), {
      asked: ['226420', '226421', '226422']
    });
    expect(result.code).toBe('PARTIAL');
    expect(result.missing).toEqual(['226422']);
    expect(result.jobs.get('226420')?.state).toBe('RUNNING');
    expect(result.jobs.get('226421')).toMatchObject({
      state: 'HELD',
      stuck: true,
      reasonClass: 'dependency'
    });
  });

  it('a deletion is believed only for the jobs it names', () => {
    const text =
      '      Deleted Jobs\nJobID   User\n=============\n226420  dev\n';
    const result = cobalt.parseCancel(good(text), {
      ids: ['226420', '226421']
    });
    expect([...result].map(([id, one]) => [id, one.code])).toEqual([
      ['226420', 'OK'],
      ['226421', 'UNCERTAIN']
    ]);
  });
});

describe('NQSII, from the YAML in the documentation', () => {
  const nqsii = documented('nqsii');

  it('Request 123456.host submitted to queue: std. has the id 123456.host', () => {
    expect(
      nqsii.parseSubmit(good('Request 123456.host submitted to queue: std.\n'))
    ).toMatchObject({ code: 'OK', id: '123456.host' });
  });

  it('resources become per-node limits', () => {
    const spec = nqsii.job({
      name: 'w',
      nodes: 2,
      tasksPerNode: 4,
      cpusPerTask: 2,
      memory: { bytes: '8 GiB', per: 'node' },
      walltimeSeconds: 5400
    });
    expect(nqsii.resourceHeader(spec).lines).toEqual([
      '#PBS -N w',
      '#PBS -b 2',
      '#PBS -l cpunum_job=8',
      '#PBS -l memsz_job=8192mb',
      '#PBS -l elapstim_req=1:30:00',
      '#PBS -r n'
    ]);
  });

  it('the listing is read by its rows', () => {
    const listing = [
      'RequestID       ReqName  UserName Queue     Pri STT S   Memory      CPU   Elapse R H M Jobs',
      '--------------- -------- -------- -------- ---- --- - -------- -------- -------- - - - ----',
      '123456.host     w        dev      std         0 RUN -   12.11M     0.07       12 Y Y Y    2',
      '123457.host     w        dev      std         0 QUE -    0.00B     0.00        0 Y Y Y    1',
      ''
    ].join('\n');
    const result = nqsii.parseStatus(good(listing), {
      asked: ['123456.host', '123457']
    });
    expect([...result.jobs].map(([id, job]) => [id, job.state])).toEqual([
      ['123456.host', 'RUNNING'],
      ['123457', 'PENDING']
    ]);
  });
});
