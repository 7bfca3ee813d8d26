import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ClusterId, Scale } from '../../protocol/index.js';
import { MusterError, clusterPatchSchema } from '../../protocol/index.js';
import { connectionView } from './connection.js';
import { parsePlots } from './dashboard-list.js';
import { newRecord } from './new-record.js';
import { applyPatch } from './patch.js';

const NO_LIMITS = {
  maximumWorkers: null,
  maximumCores: null,
  maximumMemory: null,
  allowedBackends: null
};

function record(scale: Scale = { type: 'fixed', workers: 4 }) {
  return newRecord({
    clustersFolder: '/state/clusters',
    client: null,
    spec: {
      name: 'mine',
      backend: 'local',
      scheduler: {
        placement: 'bridge',
        resources: { cores: 1, memory: null },
        options: {}
      },
      groups: [
        {
          name: 'default',
          worker: { cores: 2, memory: 1024 ** 3, gpus: 0, resources: {} },
          workersPerJob: 1,
          scale,
          launcher: null,
          options: {}
        }
      ],
      environment: {
        kernelspec: null,
        python: '/usr/bin/python3',
        variables: {},
        prologue: [],
        epilogue: []
      },
      lifetime: {
        onJupyterStop: 'keep',
        idleTimeout: 86_400,
        maximumAge: null
      },
      security: { tls: true }
    }
  });
}

describe('a change of size', () => {
  it('W3: the same again leaves everything as it is', () => {
    const adaptive: Scale = {
      type: 'adaptive',
      minimum: { workers: 0 },
      maximum: { workers: 4 }
    };
    const change = applyPatch(
      record(adaptive),
      { scale: { default: adaptive } },
      NO_LIMITS
    );
    expect(change.events).toEqual([]);
  });

  it('from fixed to adaptive starts from what is there, within the new range', () => {
    const change = (maximum: number) =>
      applyPatch(
        record(),
        {
          scale: {
            default: {
              type: 'adaptive',
              minimum: { workers: 0 },
              maximum: { workers: maximum }
            }
          }
        },
        NO_LIMITS
      ).targets;
    expect(change(8)).toEqual({ default: 4 });
    expect(change(3)).toEqual({ default: 3 });
  });

  it('of a group that does not exist names those that do', () => {
    expect(() =>
      applyPatch(
        record(),
        { scale: { gpu: { type: 'fixed', workers: 1 } } },
        NO_LIMITS
      )
    ).toThrow(
      new MusterError({
        code: 'spec-invalid',
        message: "scale.gpu: there is no group 'gpu'"
      })
    );
  });

  it('W10: a negative size, a minimum above the maximum and an emptied field are refused by name', () => {
    const path = (patch: unknown): string => {
      const result = clusterPatchSchema.safeParse(patch);
      return result.success
        ? 'accepted'
        : (result.error.issues[0]?.path.join('.') ?? '');
    };
    expect(path({ scale: { default: { type: 'fixed', workers: -5 } } })).toBe(
      'scale.default.workers'
    );
    expect(path({ scale: { default: { type: 'fixed', workers: null } } })).toBe(
      'scale.default.workers'
    );
    expect(
      path({
        scale: {
          default: {
            type: 'adaptive',
            minimum: { workers: 9 },
            maximum: { workers: 2 }
          }
        }
      })
    ).toBe('scale.default.minimum.workers');
    expect(path({})).toBe('');
  });

  it('several things at once are several events, lifetime and name included', () => {
    const change = applyPatch(
      record(),
      clusterPatchSchema.parse({
        name: 'other',
        lifetime: { idleTimeout: '2h' },
        scale: { default: { type: 'fixed', cores: 5 } }
      }),
      NO_LIMITS
    );
    expect(change.events.map(event => event.kind)).toEqual([
      'scaled',
      'lifetime-changed',
      'renamed'
    ]);
    expect(change.targets).toEqual({ default: 3 });
    expect(change.spec.lifetime).toEqual({
      onJupyterStop: 'keep',
      idleTimeout: 7_200,
      maximumAge: null
    });
  });
});

describe('the snippet', () => {
  const tls = (folder: string) => ({
    caFile: `${folder}/ca.pem`,
    scheduler: { certFile: '', keyFile: '' },
    worker: { certFile: '', keyFile: '' },
    client: {
      certFile: `${folder}/client.pem`,
      keyFile: `${folder}/client-key.pem`
    }
  });

  it('BK-02: of a protected cluster holds its security object', () => {
    const { snippets } = connectionView({
      address: 'tls://127.0.0.1:1',
      dashboard: null,
      tls: tls('/x')
    });
    expect(snippets.python).toContain('tls_client_key="/x/client-key.pem"');
    expect(snippets.python).toContain('require_encryption=True');
  });

  it('carries any path unchanged into Python and into a shell', () => {
    const folders = fc.sample(
      fc
        .string({ unit: 'binary', minLength: 1, maxLength: 20 })
        .filter(text => !/[\0\ud800-\udfff]/u.test(text)),
      40
    );
    const views = folders.map(folder =>
      connectionView({
        address: 'tls://h:1',
        dashboard: null,
        tls: tls(`/${folder}`)
      })
    );
    const literals = views.map(
      view => /tls_ca_file=(".*")/.exec(view.snippets.python)?.[1] ?? ''
    );
    const python = spawnSync(
      'python3',
      [
        '-c',
        `import json,sys\nfor one in [${literals.join(',')}]: print(json.dumps(one))`
      ],
      {
        encoding: 'utf8'
      }
    );
    expect(python.stderr).toBe('');
    expect(
      python.stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as string)
    ).toEqual(folders.map(folder => `/${folder}/ca.pem`));
    for (const [index, view] of views.entries()) {
      const shell = spawnSync(
        'sh',
        [
          '-c',
          `${view.snippets.env}\nprintf %s "$DASK_DISTRIBUTED__COMM__TLS__CA_FILE"`
        ],
        {
          encoding: 'utf8',
          env: { PATH: process.env['PATH'] ?? '' }
        }
      );
      expect(shell.stdout).toBe(`/${folders[index] ?? ''}/ca.pem`);
    }
  });
});

describe('the list of plots', () => {
  const id = '0123456789abcdef' as ClusterId;

  it('is the scheduler’s own, alphabetic, under the cluster’s own path', () => {
    expect(
      parsePlots(id, {
        'Individual Task Stream': '/individual-task-stream',
        'Individual Progress': '/individual-progress'
      })
    ).toEqual([
      {
        name: 'individual-progress',
        title: 'Progress',
        path: `dashboards/${id}/individual-progress`
      },
      {
        name: 'individual-task-stream',
        title: 'Task Stream',
        path: `dashboards/${id}/individual-task-stream`
      }
    ]);
  });

  it.each([
    ['nothing', {}],
    ['not an object', 'x'],
    ['null', null],
    ['a path that leaves the dashboard', { Evil: '/../../api/v1/shutdown' }],
    ['an address', { Evil: 'http://example.org/' }],
    ['not a path', { Evil: 7 }]
  ])('takes nothing from %s', (_, answer) => {
    expect(parsePlots(id, answer)).toEqual([]);
  });
});
