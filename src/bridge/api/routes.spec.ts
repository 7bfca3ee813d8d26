import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { errorBodySchema, MusterError } from '../../protocol/index.js';
import { apiFixture, HEADERS, SECRET } from './fixtures/api-fixture.js';
import type { ApiFixture } from './fixtures/api-fixture.js';
import { CLUSTER, WORKER } from './fixtures/fake-cluster-service.js';
import type { Route } from './route.js';
import { ROUTES } from './routes.js';

let api: ApiFixture;

beforeEach(async () => {
  api = await apiFixture();
});

afterEach(async () => {
  await api.close();
});

function addressOf(route: Route, ref: string = CLUSTER): string {
  return `/api/v1/${route.path}`
    .replace(':ref', ref)
    .replace(':worker', WORKER)
    .replace(':what', 'scheduler')
    .replace(':client', 'abcdefgh12345678');
}

/** A body every route of that name accepts. */
const BODIES: Record<string, object> = {
  createCluster: { name: 'analysis' },
  preview: {},
  changeCluster: { scale: { default: { type: 'fixed', workers: 3 } } },
  putClient: { pid: 4711, baseUrl: '/user/x/' }
};

async function call(
  route: Route,
  options: { ref?: string; headers?: Record<string, string> } = {}
) {
  const body = BODIES[route.name];
  return api.server.app.inject({
    method: route.method,
    url: addressOf(route, options.ref),
    headers: options.headers ?? HEADERS,
    ...(body === undefined ? {} : { payload: body })
  });
}

function errorOf(answer: { json: () => unknown }) {
  return errorBodySchema.parse(answer.json()).error;
}

const named = ROUTES.map(
  route => [`${route.method} ${route.path}`, route] as const
);

describe('every route', () => {
  test.each(named)('%s answers as its schema says', async (_, route) => {
    const answer = await call(route);
    expect([answer.statusCode, answer.body]).toEqual([
      route.answer.status,
      expect.anything()
    ]);
    const { schema } = route.answer;
    if (schema === 'text') {
      expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    } else if (schema !== null) {
      const parsed = schema.safeParse(answer.json());
      expect(parsed.error?.issues ?? []).toEqual([]);
      expect(parsed.data).toEqual(answer.json());
    }
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test.each(named)(
    '%s says bridge-starting until the records are loaded, unless it is about the bridge itself',
    async (_, route) => {
      api.service.ready = false;
      const answer = await call(route);
      if (['health', 'openapi', 'shutdown'].includes(route.name)) {
        expect(answer.statusCode).toBe(route.answer.status);
      } else {
        expect(answer.statusCode).toBe(503);
        expect(errorOf(answer).code).toBe('bridge-starting');
        expect(answer.headers['retry-after']).toBe('1');
        expect(api.service.calls).toEqual([]);
      }
    }
  );

  test.each(
    named.filter(([, route]) => route.path.startsWith('clusters/:ref'))
  )('%s of an unknown cluster is 404 (W8, W9)', async (_, route) => {
    const answer = await call(route, { ref: 'nosuchthing' });
    expect(answer.statusCode).toBe(404);
    expect(errorOf(answer)).toMatchObject({
      code: 'not-found',
      message: "there is no cluster 'nosuchthing'"
    });
  });

  test.each(
    named.filter(
      ([, route]) =>
        ![
          'health',
          'openapi',
          'shutdown',
          'putClient',
          'deleteClient'
        ].includes(route.name)
    )
  )('%s passes an error of the closed list on unchanged', async (_, route) => {
    api.service.fault = new MusterError({
      code: 'submit-rejected',
      message: 'sbatch: error: invalid partition',
      path: 'groups[0].options.queue',
      hint: 'sinfo lists them',
      details: { stderr: 'raw words' }
    });
    const answer = await call(route);
    expect(answer.statusCode).toBe(422);
    expect(answer.json()).toEqual({
      error: {
        code: 'submit-rejected',
        message: 'sbatch: error: invalid partition',
        path: 'groups[0].options.queue',
        hint: 'sinfo lists them',
        details: { stderr: 'raw words' }
      }
    });
  });

  test.each(named.filter(([, route]) => route.name.includes('Cluster')))(
    '%s answers an unforeseen failure without its words or stack',
    async (_, route) => {
      api.service.fault = new TypeError('secret thing at /home/ann/x.ts:3');
      const answer = await call(route);
      expect(answer.statusCode).toBe(500);
      expect(errorOf(answer).code).toBe('internal');
      expect(answer.body).not.toMatch(/secret thing|\.ts|at /);
    }
  );

  test.each(
    named.filter(([, route]) => ['POST', 'PUT', 'PATCH'].includes(route.method))
  )(
    '%s refuses a body that is not JSON, and one with a foreign field (W9)',
    async (_, route) => {
      const broken = await api.server.app.inject({
        method: route.method,
        url: addressOf(route),
        headers: { ...HEADERS, 'content-type': 'application/json' },
        payload: '{"name": '
      });
      expect(broken.statusCode).toBe(400);
      expect(errorOf(broken)).toMatchObject({
        code: 'spec-invalid',
        message: 'the body is not valid JSON'
      });
      const form = await api.server.app.inject({
        method: route.method,
        url: addressOf(route),
        headers: { ...HEADERS, 'content-type': 'text/plain' },
        payload: 'name=analysis'
      });
      expect(form.statusCode).toBe(400);
      expect(errorOf(form).code).toBe('spec-invalid');
      const foreign = await api.server.app.inject({
        method: route.method,
        url: addressOf(route),
        headers: HEADERS,
        payload: { ...BODIES[route.name], colour: 'red' }
      });
      expect(foreign.statusCode).toBe(400);
      expect(errorOf(foreign)).toMatchObject({
        code: 'spec-invalid',
        path: 'colour'
      });
      expect(api.service.calls).toEqual([]);
    }
  );

  test.each(named)(
    '%s refuses a query parameter it does not know',
    async (_, route) => {
      const answer = await api.server.app.inject({
        method: route.method,
        url: `${addressOf(route)}?colour=red`,
        headers: HEADERS,
        ...(BODIES[route.name] === undefined
          ? {}
          : { payload: BODIES[route.name] })
      });
      expect(answer.statusCode).toBe(400);
      expect(errorOf(answer).path).toBe('colour');
    }
  );
});

describe('requests that fit no route', () => {
  test('an unknown path is 404 in the shape of every error', async () => {
    const answer = await api.server.app.inject({
      method: 'GET',
      url: '/api/v1/nonsense?token=abc',
      headers: HEADERS
    });
    expect(answer.statusCode).toBe(404);
    expect(errorOf(answer)).toMatchObject({
      code: 'not-found',
      message: 'GET /api/v1/nonsense is not a route of this API'
    });
    expect(answer.body).not.toContain('abc');
  });

  test('a path that cannot be decoded is 400, and only for those who may ask', async () => {
    const url = '/api/v1/clusters/%zz';
    const answer = await api.server.app.inject({
      method: 'GET',
      url,
      headers: HEADERS
    });
    expect(answer.statusCode).toBe(400);
    expect(errorOf(answer).code).toBe('spec-invalid');
    const stranger = await api.server.app.inject({ method: 'GET', url });
    expect(stranger.statusCode).toBe(401);
  });

  test('a body above 1 MiB is too large', async () => {
    const answer = await api.server.app.inject({
      method: 'POST',
      url: '/api/v1/clusters',
      headers: HEADERS,
      payload: { environment: { prologue: ['x'.repeat(1024 * 1024)] } }
    });
    expect(answer.statusCode).toBe(413);
    expect(errorOf(answer).code).toBe('too-large');
    expect(api.service.called('create')).toEqual([]);
  });

  test('a body of a million brackets is refused without walking into it', async () => {
    const depth = 400_000;
    const answer = await api.server.app.inject({
      method: 'POST',
      url: '/api/v1/clusters',
      headers: { ...HEADERS, 'content-type': 'application/json' },
      payload: `{"scheduler":${'['.repeat(depth)}${']'.repeat(depth)}}`
    });
    expect(answer.statusCode).toBe(400);
    expect(errorOf(answer).code).toBe('spec-invalid');
  });

  test('a body that reaches for the prototype is refused', async () => {
    const answer = await api.server.app.inject({
      method: 'POST',
      url: '/api/v1/clusters',
      headers: { ...HEADERS, 'content-type': 'application/json' },
      payload: '{"name":"a","__proto__":{"admin":true}}'
    });
    expect(answer.statusCode).toBe(400);
    expect(api.service.called('create')).toEqual([]);
  });

  test('more requests than the bridge wants to answer are told to wait', async () => {
    const answers = await Promise.all(
      Array.from({ length: 700 }, () =>
        api.server.app.inject({
          method: 'GET',
          url: '/api/v1/health',
          headers: HEADERS
        })
      )
    );
    const refused = answers.filter(answer => answer.statusCode === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(errorOf(refused[0] ?? answers[0]!).code).toBe('too-many-requests');
    expect(refused[0]?.headers['retry-after']).toBe('1');
    expect(
      answers.filter(answer => answer.statusCode === 200).length
    ).toBeGreaterThanOrEqual(500);
  });
});

describe('what reaches the clusters', () => {
  test('create passes the parsed spec, the body as sent, the key and the client', async () => {
    await api.server.app.inject({
      method: 'POST',
      url: '/api/v1/clusters',
      headers: {
        ...HEADERS,
        'idempotency-key': 'one-click',
        'x-muster-client': 'jupyter-1234'
      },
      payload: { groups: [{ worker: { memory: '4 GiB' } }] }
    });
    const [request] = api.service.called('create')[0] as [
      Record<string, unknown>
    ];
    expect(request).toMatchObject({
      body: { groups: [{ worker: { memory: '4 GiB' } }] },
      idempotencyKey: 'one-click',
      client: 'jupyter-1234',
      spec: { groups: [{ worker: { memory: 4 * 1024 ** 3, cores: 1 } }] }
    });
  });

  test.each([
    ['empty', ''],
    ['of two words', 'two words'],
    ['of 256 characters', 'x'.repeat(256)],
    ['beyond ASCII', 'ü']
  ])('an Idempotency-Key that is %s is refused', async (_, key) => {
    const answer = await api.server.app.inject({
      method: 'POST',
      url: '/api/v1/clusters',
      headers: { ...HEADERS, 'idempotency-key': key },
      payload: {}
    });
    expect(answer.statusCode).toBe(400);
    expect(errorOf(answer).path).toBe('idempotency-key');
    expect(api.service.called('create')).toEqual([]);
  });

  test('stop without force is polite, and force must be said in full', async () => {
    const url = `/api/v1/clusters/${CLUSTER}`;
    await api.server.app.inject({ method: 'DELETE', url, headers: HEADERS });
    await api.server.app.inject({
      method: 'DELETE',
      url: `${url}?force=true`,
      headers: HEADERS
    });
    const odd = await api.server.app.inject({
      method: 'DELETE',
      url: `${url}?force=1`,
      headers: HEADERS
    });
    expect(odd.statusCode).toBe(400);
    expect(errorOf(odd).path).toBe('force');
    expect(api.service.called('stop')).toEqual([
      [CLUSTER, { force: false }],
      [CLUSTER, { force: true }]
    ]);
  });

  test.each([
    [
      { scale: { default: { type: 'fixed', workers: -5 } } },
      'scale.default.workers'
    ],
    [
      { scale: { default: { type: 'fixed', workers: null } } },
      'scale.default.workers'
    ],
    [
      {
        scale: {
          default: {
            type: 'adaptive',
            minimum: { workers: 9 },
            maximum: { workers: 2 }
          }
        }
      },
      'scale.default.minimum.workers'
    ],
    [{ scale: { default: {} } }, 'scale.default'],
    [{ lifetime: { idleTimeout: 'soon' } }, 'lifetime.idleTimeout'],
    [{ name: 'Not A Name' }, 'name'],
    [{}, '']
  ])('W10: the change %j is refused at %s', async (payload, path) => {
    const answer = await api.server.app.inject({
      method: 'PATCH',
      url: `/api/v1/clusters/${CLUSTER}`,
      headers: HEADERS,
      payload
    });
    expect(answer.statusCode).toBe(400);
    expect(errorOf(answer).path).toMatch(
      new RegExp(`^${path.replaceAll('.', '\\.')}`)
    );
    expect(api.service.called('patch')).toEqual([]);
  });

  test('retire takes a deadline as people write it, or none', async () => {
    const url = `/api/v1/clusters/${CLUSTER}/workers/${WORKER}/retire`;
    await api.server.app.inject({
      method: 'POST',
      url,
      headers: HEADERS,
      payload: { deadline: '2m' }
    });
    await api.server.app.inject({ method: 'POST', url, headers: HEADERS });
    expect(api.service.called('retire')).toEqual([
      [CLUSTER, WORKER, { deadlineSeconds: 120 }],
      [CLUSTER, WORKER, { deadlineSeconds: null }]
    ]);
  });

  test('a log is text, says where to read on, and takes an offset from the end', async () => {
    api.service.text = '<script>alert(1)</script>\u001b[31mred';
    const answer = await api.server.app.inject({
      method: 'GET',
      url: `/api/v1/clusters/${CLUSTER}/logs/scheduler?stream=stdout&offset=-4096&limit=4096`,
      headers: HEADERS
    });
    expect(answer.body).toBe('<script>alert(1)</script>\u001b[31mred');
    expect(answer.headers['x-next-offset']).toBe('5');
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(api.service.called('logs')).toEqual([
      [
        CLUSTER,
        { what: 'scheduler', stream: 'stdout', offset: -4096, limit: 4096 }
      ]
    ]);
  });

  test.each([
    ['logs/scheduler?limit=0', 'limit'],
    ['logs/scheduler?limit=99999999', 'limit'],
    ['logs/scheduler?offset=1.5', 'offset'],
    ['logs/scheduler?stream=both', 'stream'],
    ['events?after=-1', 'after'],
    ['events?limit=a', 'limit'],
    ['workers?limit=1&limit=2', 'limit'],
    ['workers?cursor=%F0', 'cursor'],
    ['workers?cursor=!!', 'cursor']
  ])('the query %s is refused at %s', async (query, path) => {
    const answer = await api.server.app.inject({
      method: 'GET',
      url: `/api/v1/clusters/${CLUSTER}/${query}`,
      headers: HEADERS
    });
    expect(answer.statusCode).toBe(400);
    expect(errorOf(answer).path).toBe(path);
  });

  test('shutdown answers first, then the bridge goes', async () => {
    const answer = await api.server.app.inject({
      method: 'POST',
      url: '/api/v1/shutdown',
      headers: HEADERS
    });
    expect(answer.statusCode).toBe(202);
    await new Promise(resolve => setImmediate(resolve));
    expect(api.shutdowns()).toBe(1);
  });

  test('health counts no clusters while they are being loaded', async () => {
    api.service.ready = false;
    const answer = await api.server.app.inject({
      method: 'GET',
      url: '/api/v1/health',
      headers: HEADERS
    });
    expect(answer.json()).toEqual({
      protocol: 1,
      version: '0.1.0',
      bridge: 'bridge-1',
      epoch: 7,
      host: 'login1',
      pid: process.pid,
      startedAt: '2026-11-30T10:00:00.000Z',
      node: process.versions.node,
      clusters: 0
    });
    expect(answer.body).not.toContain(SECRET);
  });
});
