/** What one route of the API is: the single source of routing, validation and the OpenAPI document. */
import type { z } from 'zod';
import type { ErrorCode } from '../../protocol/index.js';
import type { ClusterService } from '../clusters/cluster-service.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who the bridge is; `health` shows it. */
export type BridgeIdentity = {
  /** Random per start or per state folder: tells one bridge from another. */
  bridge: string;
  host: string;
  /** Package version, e.g. "0.1.0". */
  version: string;
  /** ISO-8601, UTC. */
  startedAt: string;
};

/** What handlers may use. */
export type RouteContext = {
  service: ClusterService;
  identity: BridgeIdentity;
  /** Saves and ends the bridge; called after the answer was sent. */
  shutdown: () => void;
  /** The OpenAPI document. */
  document: () => unknown;
};

export type RouteHeaders = {
  idempotencyKey: string | null;
  /** Id of the Jupyter server the request came through. */
  client: string | null;
};

export type RouteReply = {
  /** JSON, or text where the route's answer is text; absent for 204. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Runs when the answer is on its way. */
  afterwards?: () => void;
};

export type RouteInput<P, Q, B> = {
  params: P;
  query: Q;
  body: B;
  /** The body as it was sent, before defaults. */
  sent: unknown;
  headers: RouteHeaders;
};

export type RouteAnswer = {
  status: 200 | 202 | 204;
  description: string;
  /** null: no body; 'text': text/plain. */
  schema: z.ZodType | 'text' | null;
  /** Header name → description. */
  headers?: Record<string, string>;
};

/** A route with its types worked away, as the server and the document use it. */
export type Route = {
  method: Method;
  /** Below `/api/v1/`, parameters as `:ref`. */
  path: string;
  /** OpenAPI operationId. */
  name: string;
  summary: string;
  params: z.ZodObject | null;
  query: z.ZodObject | null;
  body: z.ZodType | null;
  /** An absent body counts as `{}`. */
  bodyOptional: boolean;
  /** Request headers the route reads: name → description. */
  requestHeaders: Record<string, string>;
  answer: RouteAnswer;
  /** Beside those every route may answer with. */
  errors: readonly ErrorCode[];
  /** Answered while the bridge is still loading its records. */
  whileStarting: boolean;
  handle: (
    context: RouteContext,
    input: RouteInput<unknown, unknown, unknown>
  ) => Promise<RouteReply> | RouteReply;
};

type Definition<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType
> = {
  method: Method;
  path: string;
  name: string;
  summary: string;
  params?: P;
  query?: Q;
  body?: B;
  bodyOptional?: boolean;
  requestHeaders?: Record<string, string>;
  answer: RouteAnswer;
  errors?: readonly ErrorCode[];
  whileStarting?: boolean;
  handle: (
    context: RouteContext,
    input: RouteInput<z.output<P>, z.output<Q>, z.output<B>>
  ) => Promise<RouteReply> | RouteReply;
};

/** One route; the handler's input has the types of its schemas. */
export function route<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType
>(definition: Definition<P, Q, B>): Route {
  return {
    method: definition.method,
    path: definition.path,
    name: definition.name,
    summary: definition.summary,
    params: definition.params ?? null,
    query: definition.query ?? null,
    body: definition.body ?? null,
    bodyOptional: definition.bodyOptional ?? false,
    requestHeaders: definition.requestHeaders ?? {},
    answer: definition.answer,
    errors: definition.errors ?? [],
    whileStarting: definition.whileStarting ?? false,
    // The server parses with these very schemas before it calls: the one place where types are trusted.
    handle: definition.handle as Route['handle']
  };
}
