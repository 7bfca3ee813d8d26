import { describe, expect, it } from '@jest/globals';
import { SimulatedResourceManager } from '../../backends/simulated/simulated-resource-manager.js';
import { SimulatedWorld } from '../../backends/simulated/simulated-world.js';
import type { ResourceManager } from '../../backends/resource-manager.js';
import type {
  ClusterSpec,
  EnvironmentView,
  ResolvedSpec
} from '../../protocol/index.js';
import { MusterError, clusterSpecSchema } from '../../protocol/index.js';
import type { Configuration } from './ports.js';
import { daskSplit, resolveSpec } from './resolve-spec.js';

const GIB = 1024 ** 3;
const HERE: EnvironmentView = {
  python: '/env/bin/python',
  name: 'env',
  source: 'bridge',
  kernelspec: null,
  displayName: null,
  pythonVersion: '3.11.2',
  dask: '2026.8.0',
  distributed: '2026.8.0',
  usable: true,
  whyNot: null
};

function manager(
  name: string,
  host: { cores: number; memory: number } | null
): ResourceManager {
  const simulated = new SimulatedResourceManager({
    world: new SimulatedWorld(),
    name,
    capabilities: { gpus: false, schedulerPlacement: ['bridge'] }
  });
  const probe = () =>
    Promise.resolve({
      available: true,
      looked: {},
      ...(host === null ? {} : { host })
    });
  return Object.assign(simulated, { probe });
}

const backends = new Map([
  ['local', manager('local', { cores: 8, memory: 32 * GIB })],
  ['slurm', manager('slurm', null)]
]);

function resolve(
  body: unknown,
  configuration: Partial<Configuration> = {}
): Promise<ResolvedSpec> {
  return resolveSpec({
    spec: clusterSpecSchema.parse(body),
    body,
    backends,
    configuration: {
      refresh: () => Promise.resolve(),
      lifetime: () => ({}),
      defaultProfile: () => null,
      profiles: () => [],
      limits: () => ({
        maximumWorkers: null,
        maximumCores: null,
        maximumMemory: null,
        allowedBackends: null
      }),
      backendDefaults: () => ({}),
      ...configuration
    },
    environments: {
      resolve: () => Promise.resolve(HERE),
      list: () => Promise.resolve([HERE]),
      packages: () => Promise.resolve({})
    },
    makeName: () => 'made-up'
  });
}

async function refusal(
  body: unknown,
  configuration: Partial<Configuration> = {}
): Promise<MusterError> {
  try {
    await resolve(body, configuration);
  } catch (error) {
    if (error instanceof MusterError) {
      return error;
    }
    throw error;
  }
  throw new Error('it was accepted');
}

describe('the defaults of a request', () => {
  it.each([
    [1, 1, 1],
    [2, 2, 1],
    [4, 4, 1],
    [8, 4, 2],
    [12, 4, 3],
    [32, 8, 4],
    [13, 13, 1]
  ])(
    'split a host of %i cores as Dask does: %i × %i',
    (cores, processes, threads) => {
      expect(daskSplit(cores)).toEqual({ processes, threads });
    }
  );

  it('an empty request is a local cluster split as Dask does', async () => {
    const spec = await resolve({});
    expect(spec).toMatchObject({
      name: 'made-up',
      backend: 'local',
      security: { tls: true },
      lifetime: {
        onJupyterStop: 'keep',
        idleTimeout: 86_400,
        maximumAge: null
      },
      environment: { python: '/env/bin/python' }
    });
    expect(spec.groups).toEqual([
      {
        name: 'default',
        worker: { cores: 2, memory: 8 * GIB, gpus: 0, resources: {} },
        workersPerJob: 1,
        scale: { type: 'fixed', workers: 4 },
        launcher: null,
        options: {}
      }
    ]);
  });

  it('elsewhere it is one worker of 1 core and 4 GiB', async () => {
    const spec = await resolve({ backend: 'slurm' });
    expect(spec.groups[0]).toMatchObject({
      worker: { cores: 1, memory: 4 * GIB },
      scale: { type: 'fixed', workers: 1 }
    });
  });

  it('memory null means no limit, memory left out means a share', async () => {
    const none = await resolve({
      groups: [{ worker: { cores: 2, memory: null } }]
    });
    expect(none.groups[0]?.worker.memory).toBeNull();
    const many = await resolve({
      groups: [{ worker: { cores: 1 }, scale: { type: 'fixed', workers: 16 } }]
    });
    expect(many.groups[0]?.worker.memory).toBe(2 * GIB);
  });

  it('a profile lies under what the request says, the site’s defaults under both', async () => {
    const configuration = {
      lifetime: () => ({ idleTimeout: 600, maximumAge: 7_200 }),
      profiles: () => [
        {
          name: 'small',
          source: 'user' as const,
          spec: {
            lifetime: { idleTimeout: 60 },
            groups: [{ worker: { cores: 1, memory: '1 GiB' } }]
          }
        }
      ]
    };
    const spec = await resolve(
      { profile: 'small', name: 'mine' },
      configuration
    );
    expect(spec).toMatchObject({
      name: 'mine',
      profile: 'small',
      lifetime: { idleTimeout: 60, maximumAge: 7_200 }
    });
    expect(spec.groups[0]?.worker.memory).toBe(GIB);
    const own = await resolve(
      { profile: 'small', lifetime: { idleTimeout: '5m' } },
      configuration
    );
    expect(own.lifetime).toMatchObject({ idleTimeout: 300, maximumAge: 7_200 });
    const byDefault = await resolve(
      {},
      { ...configuration, defaultProfile: () => 'small' }
    );
    expect(byDefault.profile).toBe('small');
  });
});

describe('a refusal names the field and the fix', () => {
  const cases: [string, ClusterSpec, Partial<MusterError>][] = [
    [
      'an unknown backend',
      { backend: 'pbs' },
      { code: 'spec-invalid', path: 'backend', hint: 'one of: local, slurm' }
    ],
    [
      'an unknown profile',
      { profile: 'none' },
      { code: 'spec-invalid', path: 'profile' }
    ],
    [
      'an option the backend does not know',
      { groups: [{ options: { queue: 'gpu' } }] },
      { code: 'spec-invalid', path: 'groups[0].options.queue' }
    ],
    [
      'a launcher where none is taken',
      { groups: [{ launcher: { name: 'srun' } }] },
      { code: 'spec-invalid', path: 'groups[0].launcher' }
    ],
    [
      'too many workers a job',
      { groups: [{ workersPerJob: 33 }] },
      { code: 'spec-invalid', path: 'groups[0].workersPerJob' }
    ],
    [
      'GPUs where there are none',
      { groups: [{ worker: { gpus: 1 } }] },
      { code: 'spec-invalid', path: 'groups[0].worker.gpus' }
    ],
    [
      'a placement that is not possible',
      { scheduler: { placement: 'job' } },
      {
        code: 'spec-invalid',
        path: 'scheduler.placement',
        hint: 'one of: bridge'
      }
    ],
    [
      'a size in memory of workers without one',
      {
        groups: [
          {
            worker: { cores: 1, memory: null },
            scale: { type: 'fixed', memory: '8 GiB' }
          }
        ]
      },
      { code: 'spec-invalid', path: 'groups[0].scale.memory' }
    ],
    [
      'a minimum above the maximum in another unit',
      {
        groups: [
          {
            worker: { cores: 2, memory: '1 GiB' },
            scale: {
              type: 'adaptive',
              minimum: { workers: 5 },
              maximum: { cores: 8 }
            }
          }
        ]
      },
      { code: 'spec-invalid', path: 'groups[0].scale.minimum' }
    ]
  ];
  it.each(cases)('%s', async (_, body, expected) => {
    const error = await refusal(body);
    expect(error).toMatchObject(expected);
    expect(error.message).toContain(String(expected.path));
  });

  it('a limit of the site, with both numbers', async () => {
    const limits = () => ({
      maximumWorkers: 4,
      maximumCores: 4,
      maximumMemory: 4 * GIB,
      allowedBackends: ['local']
    });
    expect(
      await refusal(
        { groups: [{ scale: { type: 'fixed', workers: 5 } }] },
        { limits }
      )
    ).toMatchObject({ code: 'policy', path: 'groups' });
    const cores = await refusal(
      {
        groups: [
          {
            worker: { cores: 3, memory: '1 GiB' },
            scale: { type: 'fixed', workers: 2 }
          }
        ]
      },
      { limits }
    );
    expect(cores.message).toMatch(/6 of cores .* 4 allowed/);
    const memory = await refusal(
      { groups: [{ worker: { cores: 1, memory: '5 GiB' } }] },
      { limits }
    );
    expect(memory.message).toMatch(/5 GiB of memory .* 4 GiB allowed/);
    expect(await refusal({ backend: 'slurm' }, { limits })).toMatchObject({
      code: 'policy',
      path: 'backend'
    });
  });
});
