import { describe, expect, it } from '@jest/globals';
import { parseJournal } from './journal.js';

const start = (id: string, pid: number, attempt = 1) =>
  JSON.stringify({
    type: 'start',
    id,
    attempt,
    token: `muster-${id}`,
    pid,
    startTime: String(pid * 10),
    bootId: 'boot',
    mode: 'fork',
    limit: null,
    wrapped: false,
    time: '2026-01-01T00:00:00.000Z'
  });
const exit = (id: string, pid: number, more: object = {}) =>
  JSON.stringify({
    type: 'exit',
    id,
    attempt: 1,
    pid,
    startTime: String(pid * 10),
    code: 0,
    signal: null,
    cause: null,
    requested: false,
    time: '2026-01-01T00:01:00.000Z',
    ...more
  });

describe("the pool's journal", () => {
  it('joins starts and exits; without an exit a process may still run', () => {
    const found = parseJournal(
      [start('a', 1), start('b', 2), exit('a', 1, { code: 3 })].join('\n')
    );
    expect(found).toMatchObject([
      { id: 'a', state: 'ended', code: 3, token: 'muster-a' },
      { id: 'b', state: 'running', code: null }
    ]);
  });

  it('reads around the torn line of a pool that was killed while writing', () => {
    const torn = start('a', 1).slice(0, 40);
    expect(parseJournal(`${torn}\n${start('b', 2)}\n`)).toHaveLength(1);
    expect(parseJournal(`${start('b', 2)}\n${torn}`)).toHaveLength(1);
  });

  it('keeps attempts apart, and an exit of another pid to itself', () => {
    const found = parseJournal(
      [start('a', 1, 1), start('a', 2, 2), exit('a', 9)].join('\n')
    );
    expect(found.map(({ attempt, state }) => [attempt, state])).toEqual([
      [1, 'running'],
      [2, 'running']
    ]);
  });

  it('knows why a process was ended', () => {
    const cause = { type: 'memory-limit', pid: 1, rss: 960, limit: 1000 };
    const [found] = parseJournal(
      [
        start('a', 1),
        exit('a', 1, { code: null, signal: 'SIGKILL', cause })
      ].join('\n')
    );
    expect(found).toMatchObject({ signal: 'SIGKILL', cause });
  });

  it.each(['', 'null', '[]', '{}', '{"type":"start"}', '\0\0'])(
    'makes nothing of %j',
    text => {
      expect(parseJournal(text)).toEqual([]);
    }
  );
});
