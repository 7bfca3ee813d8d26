/** The OpenAPI 3.1 document, made from the route table and its zod schemas. Pure. */
import { z } from 'zod';
import {
  clientSchema,
  clusterPatchSchema,
  clusterSpecSchema,
  ERROR_STATUS
} from '../../protocol/index.js';
import type { ErrorCode } from '../../protocol/index.js';
import type { Route } from './route.js';
import {
  backendViewSchema,
  clusterEventSchema,
  clusterViewSchema,
  connectionViewSchema,
  dashboardViewSchema,
  environmentViewSchema,
  errorBodySchema,
  healthViewSchema,
  jobViewSchema,
  previewViewSchema,
  profileViewSchema,
  workerViewSchema
} from './view-schemas.js';

/** Schemas shown once, under `components`. */
const NAMED: Record<string, z.ZodType> = {
  ClusterSpec: clusterSpecSchema,
  ClusterPatch: clusterPatchSchema,
  ClientRegistration: clientSchema,
  ClusterView: clusterViewSchema,
  JobView: jobViewSchema,
  WorkerView: workerViewSchema,
  ClusterEvent: clusterEventSchema,
  BackendView: backendViewSchema,
  ProfileView: profileViewSchema,
  EnvironmentView: environmentViewSchema,
  PreviewView: previewViewSchema,
  ConnectionView: connectionViewSchema,
  DashboardView: dashboardViewSchema,
  HealthView: healthViewSchema,
  Error: errorBodySchema
};

type Json = Record<string, unknown>;

/** Errors any route may answer with, whatever it does. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'unauthorized',
  'forbidden',
  'spec-invalid',
  'too-large',
  'too-many-requests',
  'internal'
];

function registryOf() {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(NAMED)) {
    registry.add(schema, { id });
  }
  return registry;
}

const uri = (id: string) => `#/components/schemas/${id}`;

/** JSON Schema without the dialect line, which OpenAPI 3.1 implies. */
function stripped(schema: Json): Json {
  return Object.fromEntries(
    Object.entries(schema).filter(([key]) => key !== '$schema' && key !== '$id')
  );
}

function inline(schema: z.ZodType): Json {
  const name = Object.entries(NAMED).find(([, named]) => named === schema)?.[0];
  if (name !== undefined) {
    return { $ref: uri(name) };
  }
  if (schema instanceof z.ZodObject) {
    const shape = schema.shape as Record<string, z.ZodType>;
    const items = shape['items'];
    if (
      items instanceof z.ZodArray &&
      Object.keys(shape).sort().join() === 'items,next'
    ) {
      return {
        type: 'object',
        required: ['items', 'next'],
        properties: {
          items: {
            type: 'array',
            items: inline(items.element as z.ZodType)
          },
          next: inline(shape['next'] as z.ZodType)
        }
      };
    }
  }
  return stripped(
    z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  );
}

function parameters(route: Route): Json[] {
  const from = (place: 'path' | 'query', schema: z.ZodObject | null): Json[] =>
    Object.entries((schema?.shape ?? {}) as Record<string, z.ZodType>).map(
      ([name, field]) => ({
        name,
        in: place,
        required: place === 'path' || !field.safeParse(undefined).success,
        schema: inline(field),
        ...(field.description === undefined
          ? {}
          : { description: field.description })
      })
    );
  return [
    ...from('path', route.params),
    ...from('query', route.query),
    ...Object.entries(route.requestHeaders).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' }
    }))
  ];
}

function errorResponses(route: Route): Json {
  const codes = new Set<ErrorCode>([
    ...COMMON_ERRORS,
    ...route.errors,
    ...(route.whileStarting ? [] : (['bridge-starting'] as const))
  ]);
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const status = ERROR_STATUS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, named]) => [
      String(status),
      {
        description: named.join(', '),
        content: { 'application/json': { schema: { $ref: uri('Error') } } }
      }
    ])
  );
}

function answer(route: Route): Json {
  const { status, description, schema, headers } = route.answer;
  const content =
    schema === 'text'
      ? { 'text/plain': { schema: { type: 'string' } } }
      : schema !== null
        ? { 'application/json': { schema: inline(schema) } }
        : status === 204
          ? undefined
          : { 'application/json': { schema: { type: 'object' } } };
  return {
    [String(status)]: {
      description,
      ...(content === undefined ? {} : { content }),
      ...(headers === undefined
        ? {}
        : {
            headers: Object.fromEntries(
              Object.entries(headers).map(([name, text]) => [
                name,
                { description: text, schema: { type: 'string' } }
              ])
            )
          })
    }
  };
}

/** `/api/v1/clusters/:ref` → `/api/v1/clusters/{ref}`. */
export function documentPath(path: string): string {
  return `/api/v1/${path}`.replace(/:([a-z]+)/g, '{$1}');
}

export function openApiDocument(
  routes: readonly Route[],
  info: { version: string }
): Json {
  const registry = registryOf();
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    unrepresentable: 'any',
    uri
  });
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = documentPath(route.path);
    (paths[path] ??= {})[route.method.toLowerCase()] = {
      operationId: route.name,
      summary: route.summary,
      parameters: parameters(route),
      ...(route.body === null
        ? {}
        : {
            requestBody: {
              required: !route.bodyOptional,
              content: { 'application/json': { schema: inline(route.body) } }
            }
          }),
      responses: { ...answer(route), ...errorResponses(route) }
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster bridge',
      version: info.version,
      description:
        'Times are ISO-8601 UTC, sizes bytes, durations seconds. Requests may also say sizes and durations as text ("4 GiB", "2h30m"). The event stream is a WebSocket at `/api/v1/events?after=seq`; dashboards are relayed under `/dashboards/{id}/`.'
    },
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([id, schema]) => [
          id,
          stripped(schema as Json)
        ])
      )
    }
  };
}
