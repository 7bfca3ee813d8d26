/** What no input may bring about: exceptions, ids nobody wrote, jobs declared gone by noise. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readNativeSize, formatSize } from './memory-size.js';
import { recorded } from './fixtures/expectations.js';
import { ORDERS, schedulingFor } from './scheduling.js';
import { BUILT_IN } from './systems.js';
import {
  formatDurationFor,
  readNativeDuration,
  type DurationForm,
  type DurationGrammar
} from './walltime.js';

const SYSTEMS = [...BUILT_IN.values()].map(schedulingFor);
const FIXTURE: Record<string, string> = {
  slurm: 'slurm',
  pbs: 'openpbs',
  torque: 'torque',
  sge: 'sge',
  htcondor: 'htcondor',
  oar: 'oar',
  flux: 'flux',
  lsf: 'slurm'
};
const ASKED: Record<string, string> = { flux: 'ƒ2x', htcondor: '12.0' };

const noise = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc.string({ maxLength: 200, unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        '42',
        '\n',
        ' ',
        '|',
        'Job Id: ',
        '{',
        '}',
        '[',
        ']',
        '"',
        ':',
        ',',
        'job_state = R',
        'OAR_JOB_ID=',
        '<Job>',
        '</Job>',
        'ƒ2x',
        '1[2-4]',
        '1_[0-999999999]',
        '----',
        '\u001f',
        '999999999999999999999999'
      ),
      { maxLength: 30 }
    )
    .map(parts => parts.join(''))
);

const output = (text: fc.Arbitrary<string>) =>
  fc.record({
    rc: fc.constantFrom(0, 1, 2, 32, 124, 255, null),
    stdout: text,
    stderr: fc.oneof(fc.constant(''), text)
  });

describe.each(SYSTEMS.map(one => [one.facts.title, one] as const))(
  '%s: text of any kind',
  (_, system) => {
    const asked = [ASKED[system.facts.name] ?? '12'];
    const check = (given: {
      rc: number | null;
      stdout: string;
      stderr: string;
    }): void => {
      const submitted = system.parseSubmit(given);
      for (const id of submitted.ids) {
        // HTCondor names the first and the last of a row of ids.
        const stem = id.replace(/\.\d+$/, '');
        expect(given.stdout).toContain(
          system.facts.name === 'htcondor' ? stem : id
        );
      }
      for (const read of [
        (context?: { asked: string[] }) => system.parseStatus(given, context),
        (context?: { asked: string[] }) => system.parseHistory(given, context)
      ]) {
        for (const job of read().jobs.values()) {
          const seq = /\d+|[ƒf][1-9A-HJ-NP-Za-km-z]+/u.exec(job.rawId)?.[0];
          expect(given.stdout).toContain(seq ?? job.rawId);
        }
        expect([...read({ asked }).jobs.keys()].length).toBeLessThanOrEqual(
          given.stdout.length
        );
      }
      for (const result of [
        system.parseCancel(given, { ids: asked }),
        ...ORDERS.map(order => system.parseOrder(given, { ids: asked, order }))
      ]) {
        expect([...result.keys()]).toEqual(asked);
      }
      system.parseLimits(given);
      system.parseEstimate(given);
      system.parseVersion(given);
    };

    it('noise makes no exception and no id', () => {
      fc.assert(fc.property(output(noise), check), { numRuns: 150 });
    });

    it('a recorded answer cut anywhere makes no exception and no id', () => {
      const texts = recorded(FIXTURE[system.facts.name] ?? '')
        .map(one => one.stdout)
        .filter(text => text !== '' && text.length < 20_000);
      const cut = fc
        .tuple(
          fc.constantFrom(...texts),
          fc.double({ min: 0, max: 1, noNaN: true })
        )
        .map(([text, part]) => text.slice(0, Math.floor(text.length * part)));
      fc.assert(fc.property(output(cut), check), { numRuns: 150 });
    });

    it('words that are no listing never tell that a job is gone', () => {
      const words = fc
        .array(fc.stringMatching(/^[a-z<>/]{2,9}$/), {
          minLength: 1,
          maxLength: 8
        })
        .map(parts => `${parts.join(' ')}\n`);
      fc.assert(
        fc.property(words, text => {
          const [argv] = system.statusArgv(asked, { user: 'dev' });
          const result = system.parseStatus(
            { rc: 0, stdout: text, stderr: '' },
            { asked, ...(argv === undefined ? {} : { argv }) }
          );
          expect({ text, code: result.code }).toEqual({
            text,
            code: 'UNREACHABLE'
          });
          expect(result.missing).toEqual([]);
        }),
        { numRuns: 100 }
      );
    });
  }
);

describe('sizes and times', () => {
  it('a size is written so that the system reads no less, and less than one unit more', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 50 }), bytes => {
        for (const { memory } of BUILT_IN.values()) {
          const text = formatSize(bytes, memory.units);
          const number = Number(/^\d+/.exec(text)?.[0]);
          const suffix = text.replace(/^\d+/, '');
          const unit = memory.units.find(([one]) => one === suffix)?.[1] ?? 0;
          expect(number * unit).toBeGreaterThanOrEqual(bytes);
          expect(number * unit - bytes).toBeLessThan(
            Math.max(...memory.units.map(([, size]) => size))
          );
        }
      })
    );
    expect(readNativeSize('1G', 1)).toBe(1024 ** 3);
  });

  it.each<[DurationForm, DurationGrammar, number]>([
    ['D-HH:MM:SS', 'slurm', 1],
    ['H:MM:SS', 'clock', 1],
    ['H:MM', 'lsf', 60],
    ['seconds', 'seconds', 1],
    ['minutes', 'minutes', 60]
  ])(
    'a time as %s is read again, at most one unit longer',
    (form, grammar, unit) => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 365 * 86400 }), seconds => {
          const read = readNativeDuration(
            grammar,
            formatDurationFor(form, seconds)
          );
          expect(typeof read).toBe('number');
          expect(Number(read)).toBeGreaterThanOrEqual(seconds);
          expect(Number(read) - seconds).toBeLessThan(unit);
        })
      );
    }
  );
});
