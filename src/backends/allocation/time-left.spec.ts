import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { filesOf, timeCases } from './fixtures/cases.js';
import {
  deadlineChanged,
  timeLeft,
  timeLeftFrom,
  type TimeLeft
} from './index.js';

// PBS prints the start of a job in the time zone of its host; the recorded one ran on UTC.
process.env['TZ'] = 'UTC';

describe('time left', () => {
  it.each(timeCases.map(one => [one.name, one] as const))(
    '%s',
    (_name, { env, files, answers, now, expect: expected }) => {
      const left = timeLeftFrom(env, {
        readFile: filesOf(files),
        answers: answers ?? {},
        nowMs: Date.parse(now)
      });
      expect(left).toMatchObject(expected);
      expect(left.asOf).toBe(new Date(now).toISOString());
    }
  );

  it('asks every manager around the process, and survives one that cannot be run', async () => {
    const asked: string[] = [];
    const left = await timeLeft(
      { FLUX_ENCLOSING_ID: 'ƒ55viE5D', SLURM_JOB_ID: '7' },
      {
        readFile: () => null,
        now: () => 0,
        runner: {
          run: ({ argv }) => {
            asked.push(argv[0]);
            return Promise.resolve(
              argv[0] === 'flux'
                ? { rc: null, stdout: '', stderr: '' }
                : { rc: 0, stdout: 'RUNNING|1:00:00\n', stderr: '' }
            );
          }
        }
      }
    );
    expect(asked).toEqual(['flux', 'squeue']);
    expect(left).toMatchObject({
      seconds: 3600,
      source: 'squeue -h -j 7 -o %T|%L'
    });
  });

  it('F6: a deadline that moved by more than 30 s is a change, rounding is none', () => {
    const at = (asOf: string, seconds: number | null): TimeLeft => ({
      seconds,
      asOf,
      source: 'squeue',
      certainty: 'likely',
      inGrace: false
    });
    const before = at('2026-11-30T12:00:00Z', 3600);
    expect(deadlineChanged(before, at('2026-11-30T12:03:00Z', 3600))).toBe(180);
    expect(
      deadlineChanged(before, at('2026-11-30T12:01:00Z', 3539))
    ).toBeNull();
    expect(deadlineChanged(before, at('2026-11-30T12:01:00Z', 60))).toBe(-3480);
    expect(
      deadlineChanged(before, at('2026-11-30T12:01:00Z', null))
    ).toBeNull();
  });

  it('whatever a command prints: never throws, never a number below 0', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...timeCases),
        fc.string(),
        fc.nat(),
        (one, put, at) => {
          const answers = Object.fromEntries(
            Object.entries(one.answers ?? {}).map(([argv, answer]) => {
              const text = answer?.stdout ?? '';
              const cut = at % (text.length + 1);
              return [
                argv,
                {
                  rc: 0,
                  stderr: '',
                  stdout: text.slice(0, cut) + put + text.slice(cut + 1)
                }
              ];
            })
          );
          const { seconds } = timeLeftFrom(one.env, {
            readFile: filesOf(one.files),
            answers,
            nowMs: Date.parse(one.now)
          });
          expect(
            seconds === null || seconds === 'unknown' || seconds >= 0
          ).toBe(true);
        }
      ),
      { numRuns: 2000 }
    );
  });
});
