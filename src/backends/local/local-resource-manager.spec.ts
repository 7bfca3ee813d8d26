import { describe, expect, it } from '@jest/globals';
import { cleanEnvironment } from './clean-environment.js';
import { LocalResourceManager } from './local-resource-manager.js';
import { checkIntent, wrapArgv } from './local-launch.js';
import type { JobIntent } from '../resource-manager.js';
import { createBackends } from '../registry.js';
import {
  tokenOf,
  workerId,
  type ClusterId,
  type JobId
} from '../../protocol/index.js';

const cluster = '0123456789abcdef' as ClusterId;
const job = 'fedcba9876543210' as JobId;
const intent = (more: Partial<JobIntent> = {}): JobIntent => ({
  cluster,
  jobId: job,
  attempt: 1,
  token: tokenOf(cluster, job),
  group: 'default',
  resources: { cores: 1, memory: null, gpus: 0 },
  launches: [
    {
      id: workerId(job, 0),
      argv: ['/env/bin/python', '-m', 'distributed.cli.dask_worker'],
      environment: {},
      memoryLimit: null
    }
  ],
  folder: '/state/cluster',
  prologue: [],
  epilogue: [],
  options: {},
  ...more
});
const launch = (more: object) => [
  { ...(intent().launches[0] ?? never()), ...more }
];
function never(): never {
  throw new Error('an intent has a launch');
}

describe('the local backend', () => {
  it('is refused on Windows with a way out', async () => {
    const manager = new LocalResourceManager({
      poolProgram: '',
      runtimeFolder: '/nowhere',
      platform: 'win32'
    });
    const probe = await manager.probe();
    expect(probe.available).toBe(false);
    expect(probe.fix).toContain('WSL');
    expect(await manager.request([intent()])).toMatchObject([
      { type: 'rejected', reasonClass: 'environment' }
    ]);
    await manager.close();
  });

  it('is there on Linux, with what this process may use', async () => {
    const manager = new LocalResourceManager({
      poolProgram: '',
      runtimeFolder: '/nowhere',
      platform: 'linux'
    });
    const probe = await manager.probe();
    expect(probe.available).toBe(true);
    expect(probe.host?.cores).toBeGreaterThan(0);
    expect(probe.host?.memory).toBeGreaterThan(2 ** 20);
    await manager.close();
  });

  it('is the only one that is listed so far', async () => {
    const backends = createBackends({
      poolProgram: '',
      runtimeFolder: '/nowhere'
    });
    expect([...backends.keys()]).toEqual(['local']);
    for (const backend of backends.values()) {
      await backend.close();
    }
  });

  it('shows exactly what it would run', () => {
    const manager = new LocalResourceManager({
      poolProgram: '',
      runtimeFolder: '/nowhere'
    });
    const [preview] = manager.preview([
      intent({ resources: { cores: 100_000, memory: null, gpus: 0 } })
    ]);
    expect(preview).toMatchObject({
      argv: ['/env/bin/python', '-m', 'distributed.cli.dask_worker'],
      script: null,
      environment: { PYTHONHASHSEED: '6640', OMP_NUM_THREADS: '1' }
    });
    expect(preview?.warnings[0]).toContain('100000 cores');
  });

  it.each<[string, Partial<JobIntent>, object]>([
    [
      'GPUs it could not share out',
      { resources: { cores: 1, memory: null, gpus: 2 } },
      { reasonClass: 'resources', field: 'groups[default].worker.gpus' }
    ],
    [
      'an option it does not have',
      { options: { queue: 'x' } },
      { reasonClass: 'syntax' }
    ],
    ['no process', { launches: [] }, { reasonClass: 'limit' }],
    [
      'a launch that is named to climb out of the folder',
      { launches: launch({ id: '../../etc/passwd' }) },
      { reasonClass: 'syntax' }
    ],
    [
      'an interpreter found by luck',
      { launches: launch({ argv: ['python'] }) },
      { reasonClass: 'environment' }
    ],
    [
      'a NUL',
      { launches: launch({ argv: ['/bin/python', 'a\0b'] }) },
      { reasonClass: 'syntax' }
    ],
    [
      'a variable that is none',
      { launches: launch({ environment: { 'A=B': 'c' } }) },
      { reasonClass: 'syntax' }
    ]
  ])('refuses %s', (_, more, expected) => {
    expect(checkIntent(intent(more), 'linux')).toMatchObject({
      type: 'rejected',
      ...expected
    });
  });

  it('passes the program to the shell as arguments, never as text', () => {
    const argv = ['/bin/python', '$(id)', "'; rm -rf /"];
    const wrapped = wrapArgv(intent({ prologue: ['module load x'] }), argv);
    expect(wrapped.argv.slice(-3)).toEqual(argv);
    expect(wrapped.script).toBe('module load x\nexec "$@"');
    expect(wrapArgv(intent(), argv)).toEqual({
      argv,
      script: null,
      wrapped: false
    });
  });
});

describe('the environment of local processes', () => {
  it('has what programs need to find their way, and nothing of Jupyter or Muster', () => {
    expect(
      cleanEnvironment(
        {
          PATH: '/usr/bin',
          HOME: '/home/ada',
          LC_ALL: 'C',
          https_proxy: 'http://proxy',
          JUPYTER_TOKEN: 'secret',
          JPY_API_TOKEN: 'secret',
          MUSTER_SECRET: 'secret',
          NOTHING: undefined
        },
        '/env/bin/python'
      )
    ).toEqual({
      PATH: '/env/bin:/usr/bin',
      HOME: '/home/ada',
      LC_ALL: 'C',
      https_proxy: 'http://proxy'
    });
  });

  it('does not put the interpreter on the path twice', () => {
    expect(
      cleanEnvironment({ PATH: '/env/bin:/usr/bin' }, '/env/bin/python')['PATH']
    ).toBe('/env/bin:/usr/bin');
  });
});
