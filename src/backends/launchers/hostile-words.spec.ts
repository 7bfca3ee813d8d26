import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ALLOCATION_KINDS } from '../allocation/index.js';
import { SpecError } from '../batch/errors.js';
import { launcher, render, two } from './fixtures/lines.js';
import { launchers, shellLine, type LaunchContext } from './index.js';

describe('hostile words', () => {
  const words = fc.array(
    fc.string({ maxLength: 20 }).filter(one => !one.includes('\0')),
    {
      maxLength: 6
    }
  );

  it('arguments, variables and folders reach the program unchanged, or are refused', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...launchers.keys()),
        words,
        fc.dictionary(fc.constantFrom('A', '_b'), fc.string()),
        fc.string({ minLength: 1 }),
        (name, argv, env, workdir) => {
          try {
            const command = ['program', ...argv];
            const launch = launcher(name).launchCommand(
              { env, workdir },
              command,
              { hostFile: 'F' }
            );
            expect(launch.argv.slice(-command.length)).toEqual(command);
            expect(launch.env).toMatchObject(env);
            for (const value of Object.values(env)) {
              if (value.length > 8 && value !== workdir) {
                expect(launch.argv.slice(0, -command.length)).not.toContain(
                  value
                );
              }
            }
          } catch (error) {
            expect(error).toBeInstanceOf(SpecError);
          }
        }
      ),
      { numRuns: 1500 }
    );
  });

  it('a shell reads the line back as the same words', () => {
    fc.assert(
      fc.property(words, argv => {
        const launch = launcher('none').launchCommand({}, [
          'printf',
          '%s\\0',
          ...argv,
          'end'
        ]);
        const out = execFileSync('sh', ['-c', shellLine(launch)], {
          encoding: 'utf8'
        });
        expect(out).toBe([...argv, 'end', ''].join('\0'));
      }),
      { numRuns: 60 }
    );
  });

  it('every spec is rendered by every launcher or refused with the fields named', () => {
    const spec = fc.record(
      {
        nodes: fc.integer({ min: -1, max: 5 }),
        tasks: fc.integer({ min: 0, max: 12 }),
        tasksPerNode: fc.integer({ min: 0, max: 5 }),
        cpusPerTask: fc.integer({ min: 1, max: 10 }),
        gpusPerTask: fc.integer({ min: 0, max: 3 }),
        oversubscribe: fc.boolean(),
        hosts: fc.array(fc.constantFrom('n1', 'n2', 'x', '-n'), {
          maxLength: 3
        })
      },
      { requiredKeys: [] }
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...launchers.keys()),
        fc.constantFrom(null, ...ALLOCATION_KINDS),
        spec,
        (name, kind, asked) => {
          const context: LaunchContext =
            kind === null ? {} : { allocation: two(kind) };
          const problems = launcher(name).validate(asked, context);
          if (problems.length === 0) {
            const launch = render(name, asked, context);
            expect(launch.argv.every(one => typeof one === 'string')).toBe(
              true
            );
          } else {
            expect(problems.every(one => /^[a-z]/i.test(one.field))).toBe(true);
            expect(() => render(name, asked, context)).toThrow(SpecError);
          }
        }
      ),
      { numRuns: 2000 }
    );
  });
});
