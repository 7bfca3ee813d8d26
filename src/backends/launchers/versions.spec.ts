import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { refusal, render } from './fixtures/lines.js';
import { chooseLauncher, identify } from './index.js';

describe('versions', () => {
  type Recorded = {
    case: string;
    argv: string[];
    stdout: string;
    stderr: string;
    expect: { launcher: string; dialect: string; version: string } | null;
  };
  const recorded = JSON.parse(
    readFileSync(new URL('./fixtures/versions.json', import.meta.url), 'utf8')
  ) as Recorded[];

  it.each(recorded.map(one => [one.case, one] as const))('%s', (_name, one) => {
    const answer = identify(`${one.stdout}\n${one.stderr}`);
    if (one.expect === null) {
      expect(answer).toBeNull();
    } else {
      expect(answer).toEqual({
        name: one.expect.launcher,
        dialect: one.expect.dialect,
        version: one.expect.version,
        warnings: []
      });
    }
  });

  it('an unknown version is rendered as the newest we know, with a warning', () => {
    expect(identify('mpirun (Open MPI) 6.1.0')).toMatchObject({
      dialect: '5',
      version: '6.1.0',
      warnings: [expect.stringContaining('newer than what we know')]
    });
    expect(refusal(() => render('open-mpi', {}, { dialect: '3' }))).toContain(
      "dialect: '3' is not one of 5, 4"
    );
  });
});

describe('which launcher', () => {
  it('explicit, then the profile, then the kind of the allocation', () => {
    const mpi = 'mpirun (Open MPI) 4.1.4';
    const name = (known: Parameters<typeof chooseLauncher>[0]) =>
      chooseLauncher(known).name;
    expect(name({ explicit: 'mpich', site: 'srun', kind: 'flux' })).toBe(
      'mpich'
    );
    expect(name({ site: 'srun', kind: 'flux' })).toBe('srun');
    expect(name({ kind: 'flux', versionText: mpi })).toBe('flux-run');
    expect(name({ kind: 'lsf', jsrun: true })).toBe('jsrun');
    expect(name({ kind: 'pbs', versionText: 'PALS 1.3.2' })).toBe('pals');
    expect(name({ kind: 'slurm', versionText: mpi })).toBe('srun');
    expect(chooseLauncher({ kind: 'pbs', versionText: mpi })).toMatchObject({
      name: 'open-mpi',
      dialect: '4'
    });
    expect(name({})).toBe('open-mpi');
  });
});
