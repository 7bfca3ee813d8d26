import { describe, expect, it } from '@jest/globals';
import {
  launchEnvironment,
  poolKey,
  readOnceVariables,
  type PoolIdentity
} from './pool-environment.js';

const FOLDER = '/state/host/clusters/0123456789abcdef';
const clean = { HOME: '/home/ada', PATH: '/usr/bin', USER: 'ada' };

const identity = (
  environment: Record<string, string>,
  more: Partial<PoolIdentity> = {}
): PoolIdentity => ({
  host: 'here',
  python: '/env/bin/python',
  variables: readOnceVariables(launchEnvironment(clean, environment), FOLDER),
  program: 'text',
  forceExec: false,
  ...more
});

describe('the environment of a pool', () => {
  it('has what a nanny would set, unless the launch says otherwise', () => {
    expect(launchEnvironment(clean, { OMP_NUM_THREADS: '4' })).toEqual({
      ...clean,
      OMP_NUM_THREADS: '4',
      MKL_NUM_THREADS: '1',
      OPENBLAS_NUM_THREADS: '1',
      MALLOC_TRIM_THRESHOLD_: '65536',
      PYTHONHASHSEED: '6640',
      JE_ARROW_MALLOC_CONF: 'background_thread:false'
    });
  });

  it.each(['', '0'])(
    'takes a hash seed of "%s" for none, as Dask does',
    seed => {
      expect(
        launchEnvironment(clean, { PYTHONHASHSEED: seed })['PYTHONHASHSEED']
      ).toBe('6640');
    }
  );

  it.each([
    ['BLAS threads', { OMP_NUM_THREADS: '4' }],
    ['the hash seed', { PYTHONHASHSEED: '1' }],
    ['module search', { PYTHONPATH: '/mine' }],
    ['libraries', { LD_LIBRARY_PATH: '/mine' }],
    ['frozen Dask settings', { DASK_DISTRIBUTED__COMM__SHARD: '1MiB' }],
    ['frozen sizes', { DASK_DISTRIBUTED__SCHEDULER__DEFAULT_DATA_SIZE: '1' }]
  ])('needs another pool for other %s', (_, variables) => {
    expect(poolKey(identity(variables))).not.toBe(poolKey(identity({})));
  });

  it.each([
    ['a variable of tasks', { GREETING: 'hello' }],
    [
      'the keys of the cluster',
      { DASK_DISTRIBUTED__COMM__TLS__CA_FILE: '/x/ca.pem' }
    ],
    [
      'what the scheduler alone is told',
      { DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES: '10' }
    ],
    ['a path of the cluster', { DASK_ANYTHING: `${FOLDER}/scratch` }]
  ])('serves %s from the same pool', (_, variables) => {
    expect(poolKey(identity(variables))).toBe(poolKey(identity({})));
  });

  it('never mixes hosts, interpreters or program texts', () => {
    const keys = [
      identity({}),
      identity({}, { host: 'there' }),
      identity({}, { python: '/other/bin/python' }),
      identity({}, { program: 'newer text' }),
      identity({}, { forceExec: true })
    ].map(poolKey);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys[0]).toMatch(/^[0-9a-f]{10}$/);
  });

  it('does not depend on the order of variables', () => {
    expect(poolKey(identity({ LC_ALL: 'C', TZ: 'UTC' }))).toBe(
      poolKey(identity({ TZ: 'UTC', LC_ALL: 'C' }))
    );
  });
});
