/** Rendered scripts, run by real shells and judged by shellcheck. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SpecError } from './errors.js';
import type { BatchProfileInput } from './profile.js';
import { batchProfileSchema } from './profile.js';
import { shellWord } from './quoting.js';
import { schedulingFor } from './scheduling.js';
import { BUILT_IN } from './systems.js';

const SYSTEMS = [...BUILT_IN.values()].map(schedulingFor);
const SITE: Record<string, BatchProfileInput['site']> = {
  sge: { parallelEnvironment: 'smp', memoryKey: 'h_vmem', gpuKey: 'gpu' },
  oar: { gpuProperty: 'gpu_count > 0' }
};

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-script-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Site data this system takes, of those above. */
function profileOf(name: string) {
  const known = BUILT_IN.get(name)?.site ?? {};
  return batchProfileSchema.parse({
    site: Object.fromEntries(
      Object.entries(SITE[name] ?? {}).filter(([key]) =>
        Object.hasOwn(known, key)
      )
    )
  });
}

function run(
  shell: string,
  script: string,
  environment: Record<string, string> = {}
) {
  const path = join(folder, `job-${shell.replaceAll('/', '-')}`);
  writeFileSync(path, script, { mode: 0o700 });
  return spawnSync(shell, [path], {
    encoding: 'utf8',
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...environment }
  });
}

describe.each(SYSTEMS.map(one => [one.facts.title, one] as const))(
  'a script for %s',
  (_, system) => {
    const profile = profileOf(system.facts.name);
    const spec = system.job({
      name: 'my job',
      token: 'mst-1',
      nodes: 1,
      cpusPerTask: 2,
      walltimeSeconds: 600,
      env: { QUOTED: `it's "$HOME" \`id\` \\ #`, EMPTY: '' },
      marks: '/nowhere'
    });
    const script = system.renderFiles(
      spec,
      'printf \'%s\\n\' "$QUOTED" "[$EMPTY]" "$MUSTER_TOKEN"',
      '/j/mst-1',
      profile
    );
    const text = script.files.at(-1)?.text ?? '';

    it('shellcheck finds nothing to say', () => {
      const path = join(folder, `${system.facts.name}.sh`);
      writeFileSync(path, text);
      const check = spawnSync(
        'shellcheck',
        // A literal dollar in a value is what is meant (SC2016).
        ['-e', 'SC2016', path],
        { encoding: 'utf8' }
      );
      if (check.error !== undefined) {
        throw new Error(
          'shellcheck is not installed (Debian: apt-get install shellcheck)'
        );
      }
      expect(check.stdout).toBe('');
    });

    it.each(['sh', 'bash'])('values arrive as they were in %s', shell => {
      const result = run(shell, text);
      expect(result.stdout).toBe(`it's "$HOME" \`id\` \\ #\n[]\nmst-1\n`);
      expect(result.status).toBe(0);
    });

    it('every directive is one line behind the first, before any command', () => {
      if (system.facts.script.style !== 'directives') {
        return;
      }
      const lines = text.split('\n');
      const { prefix } = system.facts.script;
      const last = lines.findLastIndex(line => line.startsWith(prefix));
      expect(lines[0]).toBe('#!/bin/bash');
      expect(last).toBeGreaterThan(0);
      expect(
        lines.slice(1, last + 1).every(line => line.startsWith(`${prefix} `))
      ).toBe(true);
    });

    it('any valid specification becomes lines, or is refused with the fields named', () => {
      fc.assert(
        fc.property(specification, input => {
          let header;
          try {
            header = system.resourceHeader(system.job(input, profile), profile);
          } catch (error) {
            expect(error).toBeInstanceOf(SpecError);
            expect(
              (error as SpecError).problems.every(one => one.field !== '')
            ).toBe(true);
            return;
          }
          expect(header.lines.join('')).not.toMatch(/[\n\r\0]/);
          expect(header.lines.join('\n')).not.toMatch(
            /undefined|null|NaN|\{[a-z]|\[object/i
          );
        }),
        { numRuns: 150 }
      );
    });

    it('what its capabilities deny is told as not honoured', () => {
      const asked: [boolean, string, Record<string, unknown>][] = [
        [
          system.facts.capabilities.memory,
          'memory',
          { memory: { bytes: '1 GiB', per: 'node' } }
        ],
        [system.facts.capabilities.exclusive, 'exclusive', { exclusive: true }],
        [
          system.facts.capabilities.constraint,
          'constraint',
          { constraint: 'ib' }
        ],
        [system.facts.capabilities.priority, 'priority', { priority: 0.5 }],
        [system.facts.capabilities.requeue, 'requeue', { requeue: true }],
        [
          system.facts.capabilities.signalBeforeEnd,
          'warnBefore',
          { walltimeSeconds: 600, warnBefore: { signal: 'USR1', seconds: 60 } }
        ],
        [
          system.facts.capabilities.arrays,
          'array',
          {
            array: {
              indices: [
                system.facts.capabilities.firstArrayIndex ?? 0,
                (system.facts.capabilities.firstArrayIndex ?? 0) + 1
              ]
            }
          }
        ]
      ];
      const told = asked.map(([can, field, input]) => ({
        field,
        honoured: !system
          .resourceHeader(system.job(input, profile), profile)
          .notHonoured.includes(field),
        can
      }));
      expect(told.filter(one => one.honoured !== one.can)).toEqual([]);
    });
  }
);

const text = fc.oneof(
  fc.constantFrom(
    'a',
    'my job',
    "it's",
    '"x"',
    '$(id)',
    'ü',
    '#x',
    'a\\b',
    '-n'
  ),
  fc
    .string({ minLength: 1, maxLength: 20, unit: 'grapheme-ascii' })
    .filter(one => !/[{[]/.test(one))
);
const optional = <T>(one: fc.Arbitrary<T>) =>
  fc.option(one, { nil: undefined });
const specification = fc.record({
  name: optional(text),
  token: optional(fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,40}$/)),
  queue: optional(text),
  account: optional(text),
  project: optional(text),
  qos: optional(text),
  constraint: optional(text),
  reservation: optional(text),
  workdir: optional(text),
  stdout: optional(text),
  stderr: optional(text),
  joinOutput: fc.boolean(),
  exclusive: fc.boolean(),
  requeue: fc.boolean(),
  nodes: optional(fc.integer({ min: 1, max: 64 })),
  tasksPerNode: optional(fc.integer({ min: 1, max: 64 })),
  cpusPerTask: optional(fc.integer({ min: 1, max: 128 })),
  gpusPerTask: optional(fc.integer({ min: 0, max: 8 })),
  memory: optional(
    fc.oneof(
      fc.constant('wholeNode'),
      fc.record({
        bytes: fc.integer({ min: 1, max: 2 ** 45 }),
        per: fc.constantFrom('job', 'node', 'cpu', 'task', 'gpu')
      })
    )
  ),
  walltimeSeconds: optional(
    fc.oneof(fc.constant('unlimited'), fc.integer({ min: 1, max: 864_000 }))
  ),
  placement: fc.constantFrom('pack', 'scatter', 'any'),
  priority: optional(fc.double({ min: 0, max: 1, noNaN: true })),
  array: optional(
    fc.record({
      indices: fc.uniqueArray(fc.integer({ min: 0, max: 40 }), {
        minLength: 1,
        maxLength: 10
      }),
      maxRunning: optional(fc.integer({ min: 1, max: 9 }))
    })
  ),
  warnBefore: optional(
    fc.record({
      signal: fc.constantFrom('TERM', 'USR1', 'SIGINT'),
      seconds: fc.integer({ min: 1, max: 600 })
    })
  )
});

describe('inside of a job', () => {
  const slurm = schedulingFor(BUILT_IN.get('slurm') ?? raise());

  it('variables of another batch system around it are gone', () => {
    const result = run('sh', slurm.renderScript(slurm.job({}), 'env'), {
      PBS_JOBID: '7',
      OMPI_COMM_WORLD_RANK: '3',
      SLURM_JOB_ID: '5',
      KEPT: '1'
    });
    expect(result.stdout).not.toMatch(/PBS_JOBID|OMPI_/);
    expect(result.stdout).toMatch(/^SLURM_JOB_ID=5$/m);
    expect(result.stdout).toMatch(/^KEPT=1$/m);
    expect(result.stdout).toMatch(/^MUSTER_JOB_ID=5$/m);
  });

  it('it leaves its id at the start and its exit code at the end', () => {
    const marks = mkdtempSync(join(folder, "ma'rks "));
    const spec = slurm.job({ token: 'mst-9', marks });
    const result = run('sh', slurm.renderScript(spec, 'exit 3'), {
      SLURM_JOB_ID: '12'
    });
    expect(result.status).toBe(3);
    expect(readFileSync(join(marks, 'mst-9.started'), 'utf8')).toBe('12\n');
    expect(readFileSync(join(marks, 'mst-9.exit'), 'utf8')).toBe('3\n');
  });

  it('a folder that is not there ends it before the body runs', () => {
    const spec = slurm.job({ workdir: '/no where' });
    const result = run('bash', slurm.renderScript(spec, 'echo ran'));
    expect(result.status).toBe(125);
    expect(result.stdout).toBe('');
  });

  it('the folder of the node is expanded on the node', () => {
    const spec = slurm.job({ workdir: [{ variable: 'TMPDIR' }] });
    const result = run('sh', slurm.renderScript(spec, 'pwd'), {
      TMPDIR: folder
    });
    expect(result.stdout.trim()).toBe(folder);
  });

  it('a body of several commands with hostile words runs as it is', () => {
    const word = 'a\'b "c" $HOME `x`';
    const body = `for i in 1 2; do\n  echo "$i" ${shellWord(word)}\ndone`;
    const result = run('sh', slurm.renderScript(slurm.job({}), body));
    expect(result.stdout).toBe(`1 ${word}\n2 ${word}\n`);
  });
});

function raise(): never {
  throw new Error('there is no Slurm');
}
