/**
 * The fastify application: gate, limits, parsing by the route table's schemas, answers and errors
 * of one shape. It listens nowhere by itself; `server.ts` gives it listeners.
 */
import fastify, { LogController } from 'fastify';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest
} from 'fastify';
import {
  CLIENT_HEADER,
  MusterError,
  specInvalid
} from '../../protocol/index.js';
import { refusal } from './auth-gate.js';
import type { GatePolicy } from './auth-gate.js';
import { failureOf, noSuchRoute, tooManyRequests } from './failure.js';
import { openApiDocument } from './openapi.js';
import type { RateLimit } from './rate-limit.js';
import type { Route, RouteContext, RouteHeaders } from './route.js';
import { ROUTES, startingError } from './routes.js';

export const API_PREFIX = '/api/v1/';
/** Bytes of a request's body (S23). */
export const BODY_LIMIT = 1024 * 1024;
/** Levels of nesting of a request's body: more is refused before anything walks through it. */
const MAXIMUM_DEPTH = 64;

export type AppOptions = Omit<RouteContext, 'document'> & {
  policy: GatePolicy;
  rate: RateLimit;
  logger: FastifyBaseLogger | null;
};

export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const app = fastify({
    ...(options.logger === null
      ? { logger: false }
      : { loggerInstance: options.logger }),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 256 },
    frameworkErrors: (error, request, reply) => {
      // A path that cannot be decoded never reaches the hooks: the gate stands here too.
      const refused = refusal(request.headers, options.policy);
      sendFailure(reply, refused ?? error);
    }
  });
  acceptJsonOnly(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-content-type-options', 'nosniff');
    done(admission(request, options));
  });
  app.setErrorHandler((error, request, reply) => {
    const failure = sendFailure(reply, error);
    if (failure.code === 'internal') {
      request.log.error(
        {
          err: failure.cause,
          method: request.method,
          route: request.routeOptions.url
        },
        'a request failed for a reason nobody foresaw'
      );
    }
  });
  app.setNotFoundHandler((request, reply) => {
    sendFailure(reply, noSuchRoute(request.method, request.url));
  });
  const context: RouteContext = {
    service: options.service,
    identity: options.identity,
    shutdown: options.shutdown,
    document: memoized(() =>
      openApiDocument(ROUTES, { version: options.identity.version })
    )
  };
  for (const route of ROUTES) {
    addRoute(app, route, context);
  }
  return app;
}

/** Null where the request may go on. */
function admission(
  request: FastifyRequest,
  options: AppOptions
): MusterError | undefined {
  if (!options.rate.take(performance.now())) {
    return tooManyRequests('more than 100 requests a second');
  }
  return refusal(request.headers, options.policy) ?? undefined;
}

function acceptJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    (request, text, done) => {
      if (text === '') {
        done(null, undefined);
        return;
      }
      void parse(request, text.toString(), (error, value: unknown) => {
        if (error) {
          done(notJson());
        } else if (deeperThan(value, MAXIMUM_DEPTH)) {
          done(
            new MusterError({
              code: 'spec-invalid',
              message: `the body is nested more than ${MAXIMUM_DEPTH} levels deep`
            })
          );
        } else {
          done(null, value);
        }
      });
    }
  );
}

function notJson(): MusterError {
  return new MusterError({
    code: 'spec-invalid',
    message: 'the body is not valid JSON'
  });
}

/** Iterative: a body of a million brackets must not exhaust the stack. */
function deeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) {
      return true;
    }
    level = level
      .filter(item => typeof item === 'object' && item !== null)
      .flatMap(item => Object.values(item) as unknown[]);
  }
  return false;
}

function addRoute(
  app: FastifyInstance,
  route: Route,
  context: RouteContext
): void {
  app.route({
    method: route.method,
    url: `${API_PREFIX}${route.path}`,
    handler: async (request, reply) => {
      if (!route.whileStarting && !context.service.ready) {
        throw startingError();
      }
      const answer = await route.handle(context, {
        params: route.params?.parse(request.params) ?? {},
        query: parseQuery(route, request.query),
        body: parseBody(route, request.body),
        sent: request.body,
        headers: routeHeaders(request)
      });
      reply.code(route.answer.status).header('cache-control', 'no-store');
      for (const [name, value] of Object.entries(answer.headers ?? {})) {
        reply.header(name, value);
      }
      if (answer.afterwards !== undefined) {
        reply.raw.once('close', answer.afterwards);
      }
      if (route.answer.schema === 'text') {
        return reply.type('text/plain; charset=utf-8').send(answer.body);
      }
      return answer.body === undefined
        ? reply.send()
        : reply
            .type('application/json; charset=utf-8')
            .send(JSON.stringify(answer.body));
    }
  });
}

function parseQuery(route: Route, query: unknown): unknown {
  if (route.query !== null) {
    return route.query.parse(query);
  }
  const unknown = Object.keys(query as object)[0];
  if (unknown !== undefined) {
    throw new MusterError({
      code: 'spec-invalid',
      message: `${unknown.slice(0, 64)}: is not a parameter of this request`,
      path: unknown.slice(0, 64)
    });
  }
  return {};
}

function parseBody(route: Route, body: unknown): unknown {
  if (route.body === null) {
    return undefined;
  }
  if (body === undefined && !route.bodyOptional) {
    throw new MusterError({
      code: 'spec-invalid',
      message: 'this request needs a JSON body',
      hint: 'Content-Type: application/json'
    });
  }
  const result = route.body.safeParse(body ?? {});
  if (!result.success) {
    throw specInvalid(result.error);
  }
  return result.data;
}

function routeHeaders(request: FastifyRequest): RouteHeaders {
  return {
    idempotencyKey: headerText(
      request,
      'idempotency-key',
      /^[\x21-\x7e]{1,255}$/
    ),
    client: headerText(request, CLIENT_HEADER, /^[A-Za-z0-9_-]{8,64}$/)
  };
}

function headerText(
  request: FastifyRequest,
  name: string,
  pattern: RegExp
): string | null {
  const value = request.headers[name];
  if (value === undefined) {
    return null;
  }
  if (typeof value !== 'string' || !pattern.test(value)) {
    throw new MusterError({
      code: 'spec-invalid',
      message: `the header ${name} is not valid`,
      path: name
    });
  }
  return value;
}

function sendFailure(reply: FastifyReply, thrown: unknown): MusterError {
  const failure = failureOf(thrown);
  reply.code(failure.status).header('cache-control', 'no-store');
  if (failure.code === 'unauthorized') {
    reply.header('www-authenticate', 'Bearer');
  }
  if (
    failure.code === 'too-many-requests' ||
    failure.code === 'bridge-starting'
  ) {
    reply.header('retry-after', '1');
  }
  void reply
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(failure.toBody()));
  return failure;
}

function memoized<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}
