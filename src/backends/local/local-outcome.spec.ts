import { describe, expect, it } from '@jest/globals';
import { jobEnd, processEnd, type ProcessFacts } from './local-outcome.js';

const facts = (more: Partial<ProcessFacts> = {}): ProcessFacts => ({
  launch: 'a',
  state: 'ended',
  exit: { code: 0, signal: null },
  cause: null,
  requested: false,
  started: null,
  ended: null,
  restarted: false,
  ...more
});
const MIB = 1024 * 1024;
const overLimit = {
  type: 'memory-limit',
  pid: 1,
  rss: 480 * MIB,
  limit: 500 * MIB
} as const;

describe('what the end of a process means', () => {
  it.each<[string, Partial<ProcessFacts>, string, string | null]>([
    ['left by itself', {}, 'completed', null],
    ['failed', { exit: { code: 3, signal: null } }, 'failed', 'exit code 3'],
    [
      'was killed by somebody',
      { exit: { code: null, signal: 'SIGKILL' } },
      'failed',
      'killed by SIGKILL'
    ],
    [
      'passed its memory limit',
      { exit: { code: null, signal: 'SIGKILL' }, cause: overLimit },
      'out-of-memory',
      'memory limit: 480 MiB of 500 MiB were in use (ended above 95 %)'
    ],
    [
      'left politely after passing its limit',
      { cause: overLimit },
      'out-of-memory',
      'memory limit: 480 MiB of 500 MiB were in use (ended above 95 %)'
    ],
    [
      'was ended by the kernel',
      {
        exit: { code: null, signal: 'SIGKILL' },
        cause: { type: 'kernel-out-of-memory', pid: 1 }
      },
      'out-of-memory',
      'ended by the kernel: the machine or container had no memory left'
    ],
    [
      'was released',
      { requested: true, exit: { code: null, signal: 'SIGTERM' } },
      'cancelled',
      'ended by Muster'
    ],
    [
      'is gone with nobody to read its exit',
      { exit: null },
      'lost',
      'the process is gone; its worker pool was gone too, so its exit code is not known'
    ],
    [
      'ran on a machine that was restarted',
      { exit: null, restarted: true },
      'node-failure',
      'the machine or container was restarted'
    ]
  ])('it %s', (_, more, outcome, message) => {
    expect(processEnd(facts(more))).toMatchObject({ outcome, message });
  });

  it('is the worst of a job of several, and whose it was', () => {
    expect(
      jobEnd([
        facts({ launch: 'a' }),
        facts({ launch: 'b', exit: { code: 1, signal: null } }),
        facts({ launch: 'c', requested: true })
      ])
    ).toMatchObject({ launch: 'b', outcome: 'failed' });
  });
});
