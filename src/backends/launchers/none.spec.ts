import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { launcher } from './fixtures/lines.js';

describe('starting several programs without a launcher', () => {
  const start = (tasks: number, script: string) => {
    const { argv } = launcher('none').launchCommand({ tasks }, [
      'sh',
      '-c',
      script
    ]);
    const [program = '', ...rest] = argv;
    return spawnSync(program, rest, { encoding: 'utf8', timeout: 20_000 });
  };

  it('each one knows its rank, and all are waited for', () => {
    const { stdout, status } = start(
      3,
      'sleep 0.1; echo "$MUSTER_RANK of $MUSTER_SIZE"'
    );
    expect(stdout.trim().split('\n').sort()).toEqual([
      '0 of 3',
      '1 of 3',
      '2 of 3'
    ]);
    expect(status).toBe(0);
  });

  it('the exit code is the first that is not 0', () => {
    expect(start(3, 'exit "$MUSTER_RANK"').status).toBe(1);
    expect(start(2, 'kill -9 $$').status).toBe(137);
  });

  it('a signal goes to all of them', () => {
    const { stdout, status } = start(
      2,
      'trap "echo ended; exit 9" TERM; if [ "$MUSTER_RANK" = 0 ]; then sleep 0.3; kill -TERM "$PPID"; fi; n=0; while [ "$n" -lt 100 ]; do sleep 0.1; n=$((n + 1)); done'
    );
    expect(stdout).toBe('ended\nended\n');
    expect(status).toBe(9);
  });
});
