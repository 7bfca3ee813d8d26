import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { environmentCases, filesOf } from './fixtures/cases.js';
import { ALLOCATION_KINDS, detect, inspect, readAllocation } from './index.js';

describe('an allocation seen from inside', () => {
  it.each(environmentCases.map(one => [one.name, one] as const))(
    '%s',
    (_name, { env, files, answers, here, expect: expected, detect: kinds }) => {
      const answer = readAllocation(env, filesOf(files), {
        answers: answers ?? {},
        here
      });
      expect(answer).toMatchObject(expected);
      expect(detect(env)).toEqual(kinds);
      if (answer.state === 'allocation') {
        expect(answer.allocation.groups.flatMap(one => one.nodes)).toEqual(
          answer.allocation.nodes
        );
        expect(answer.allocation.source).not.toEqual([]);
      }
    }
  );

  it('says why text that contradicts itself is inconsistent', () => {
    const why = (env: Record<string, string>): string => {
      const answer = readAllocation(env, () => null);
      return answer.state === 'inconsistent' ? answer.why : answer.state;
    };
    expect(
      why({
        SLURM_JOB_ID: '4',
        SLURM_JOB_NODELIST: 'n[1-2]',
        SLURM_JOB_CPUS_PER_NODE: '8(x3)'
      })
    ).toBe('SLURM_JOB_CPUS_PER_NODE counts 3 nodes, SLURM_JOB_NODELIST has 2');
    expect(why({ SLURM_JOB_ID: '4' })).toBe('SLURM_JOB_NODELIST is missing');
    expect(why({ LSB_JOBID: '4', LSB_MCPU_HOSTS: 'h1 x' })).toContain(
      "LSB_MCPU_HOSTS='h1 x'"
    );
  });

  it('answers of an outer manager can be asked for by its name', () => {
    const env = {
      FLUX_JOB_ID: 'ƒ2aaaPuHq',
      SLURM_JOB_ID: '4',
      SLURM_JOB_NODELIST: 'n1'
    };
    const answer = readAllocation(env, () => null, { kind: 'slurm' });
    expect(answer).toMatchObject({
      state: 'allocation',
      allocation: { kind: 'slurm', id: '4' }
    });
    expect(readAllocation(env, () => null, { kind: 'pbs' }).state).toBe('none');
  });

  it('asks what only a command can tell, and nothing where variables do', async () => {
    const asked: string[] = [];
    const runner = {
      run: ({ argv }: { argv: readonly [string, ...string[]] }) => {
        asked.push(argv.join(' '));
        return Promise.resolve({
          rc: 0,
          stdout:
            '{"version": 1, "execution": {"R_lite": [{"rank": "0", "children": {"core": "0-3"}}], "nodelist": ["n7"]}}',
          stderr: ''
        });
      }
    };
    const flux = await inspect({
      env: { FLUX_JOB_ID: 'ƒ2aaaPuHq' },
      readFile: () => null,
      runner
    });
    expect(flux).toMatchObject({
      state: 'allocation',
      allocation: { nodes: [{ host: 'n7', cpus: 4, gpus: [] }] }
    });
    expect(asked).toEqual(['flux job info ƒ2aaaPuHq R']);
    await inspect({
      env: { SLURM_JOB_ID: '4', SLURM_JOB_NODELIST: 'n1' },
      readFile: () => null,
      runner
    });
    expect(asked).toHaveLength(1);
  });
});

const NAMES = [
  ...new Set(environmentCases.flatMap(one => Object.keys(one.env)))
].filter(name =>
  /^(SLURM|PBS|FLUX|LSB|OAR|COBALT|_CONDOR|SGE|JOB_ID|PE_|N)/.test(name)
);

const hostile = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.constantFrom(
    '1',
    '0',
    '42',
    'n[1-3]',
    'n[1-',
    '2(x3)',
    'ƒ2aaaPuHq',
    '1[3].s',
    'undefined',
    '/f',
    'h1 4 h2 4',
    '__proto__',
    'constructor'
  ),
  fc.constantFrom(...environmentCases.flatMap(one => Object.values(one.env)))
);

describe('whatever the environment holds', () => {
  it('reading it never throws, and every node has a name', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...NAMES), hostile, { maxKeys: 20 }),
        fc.oneof(fc.string({ maxLength: 60 }), fc.constant('n1\nn1\nn2\n')),
        (env, text) => {
          const answer = readAllocation(env, () => text);
          if (answer.state === 'allocation') {
            const { nodes, kind } = answer.allocation;
            expect(ALLOCATION_KINDS).toContain(kind);
            expect(nodes.length).toBeGreaterThan(0);
            for (const node of nodes) {
              expect(node.host).toMatch(/^[^\s-]\S*$/u);
              expect(Number.isSafeInteger(node.cpus ?? 0)).toBe(true);
            }
          }
        }
      ),
      { numRuns: 3000 }
    );
  });

  it('a recorded environment cut short or with a value mangled never throws', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...environmentCases),
        fc.nat(),
        fc.nat(),
        fc.string({ maxLength: 5 }),
        (one, which, at, put) => {
          const names = Object.keys(one.env);
          const name = names[which % Math.max(1, names.length)];
          const value = name === undefined ? '' : (one.env[name] ?? '');
          const cut = at % (value.length + 1);
          const env = {
            ...one.env,
            ...(name === undefined
              ? {}
              : { [name]: value.slice(0, cut) + put + value.slice(cut + 1) })
          };
          const answer = readAllocation(env, filesOf(one.files), {
            answers: one.answers ?? {}
          });
          expect([
            'none',
            'inconsistent',
            'incomplete',
            'allocation'
          ]).toContain(answer.state);
        }
      ),
      { numRuns: 2000 }
    );
  });
});
