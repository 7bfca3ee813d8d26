import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { specInvalid } from './errors.js';
import { HOSTILE_FIELDS } from './fixtures/hostile-fields.js';
import { clusterPatchSchema, clusterSpecSchema } from './spec.js';

// eslint-disable-next-line no-control-regex -- what must not reach a terminal
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/;

describe('a ClusterSpec', () => {
  test.each(HOSTILE_FIELDS.map(field => [field.path, field] as const))(
    'is refused by name where %s is wrong',
    (path, field) => {
      expect(field.values.length).toBeGreaterThan(0);
      for (const value of field.values) {
        const result = clusterSpecSchema.safeParse(field.request(value));
        const shown = JSON.stringify(value).slice(0, 60);
        expect([shown, result.success]).toEqual([shown, false]);
        if (!result.success) {
          const error = specInvalid(result.error);
          expect([shown, error.path?.startsWith(path), error.path]).toEqual([
            shown,
            true,
            error.path
          ]);
          expect(error.message.length).toBeGreaterThan(
            (error.path ?? '').length + 5
          );
          expect(error.message).not.toMatch(
            /Invalid (input|key|option|string)|expected/i
          );
          expect(error.message.slice((error.path ?? '').length)).not.toMatch(
            CONTROL
          );
        }
      }
    }
  );

  test('may say nothing at all', () => {
    expect(clusterSpecSchema.parse({})).toEqual({});
  });

  test('is read into bytes and seconds, with the defaults of what it says', () => {
    expect(
      clusterSpecSchema.parse({
        name: 'analysis',
        backend: 'slurm',
        groups: [
          {
            worker: { cores: 2, memory: '8 GiB', resources: { GPU: 1 } },
            workersPerJob: 4,
            scale: { type: 'adaptive', maximum: { memory: '1TB' } },
            options: { queue: 'gpu', walltime: '2h' }
          }
        ],
        lifetime: { idleTimeout: '2h30m' }
      })
    ).toEqual({
      name: 'analysis',
      backend: 'slurm',
      groups: [
        {
          name: 'default',
          worker: {
            cores: 2,
            memory: 8 * 1024 ** 3,
            gpus: 0,
            resources: { GPU: 1 }
          },
          workersPerJob: 4,
          scale: {
            type: 'adaptive',
            minimum: { workers: 0 },
            maximum: { memory: 1e12 }
          },
          launcher: null,
          options: { queue: 'gpu', walltime: '2h' }
        }
      ],
      lifetime: { onJupyterStop: 'keep', idleTimeout: 9000, maximumAge: null }
    });
  });

  test('memory null means none asked for, and stays apart from not said', () => {
    const said = clusterSpecSchema.parse({
      groups: [{ worker: { memory: null } }]
    });
    expect(said.groups?.[0]?.worker).toHaveProperty('memory', null);
    const unsaid = clusterSpecSchema.parse({ groups: [{ worker: {} }] });
    expect(unsaid.groups?.[0]?.worker?.memory).toBeUndefined();
  });

  test('whatever is sent, reading it throws nothing but a refusal', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), value => {
        const result = clusterSpecSchema.safeParse(value);
        if (!result.success) {
          expect(specInvalid(result.error).code).toBe('spec-invalid');
        }
      })
    );
  });

  test('several mistakes are all told, the first one in the message', () => {
    const result = clusterSpecSchema.safeParse({
      name: 'A',
      groups: [{ worker: { memory: 'lots' } }],
      x: 1
    });
    const error = result.success ? null : specInvalid(result.error);
    const problems = error?.details?.['problems'] as { path: string }[];
    expect(problems.map(problem => problem.path)).toEqual([
      'name',
      'groups[0].worker.memory',
      'x'
    ]);
  });
});

describe('a change', () => {
  test('must change something', () => {
    expect(clusterPatchSchema.safeParse({}).success).toBe(false);
  });

  test('reads scales as a spec does', () => {
    expect(
      clusterPatchSchema.parse({
        scale: { gpu: { type: 'fixed', memory: '1TB' } }
      })
    ).toEqual({
      scale: { gpu: { type: 'fixed', memory: 1e12 } }
    });
  });
});
