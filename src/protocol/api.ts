/** The API's routes and WebSocket messages (specs/api.md §2). */
import { z } from 'zod';
import { clusterIdSchema } from './ids.js';
import type { ClusterId, WorkerId } from './ids.js';
import type {
  BackendView,
  ClusterEvent,
  ClusterView,
  WorkerView
} from './view.js';

/** Only this integer blocks; the package version is shown. */
export const PROTOCOL_VERSION = 1;

export type Page<T> = { items: T[]; next: string | null };

/** An interpreter behind a kernelspec, resolved to an absolute path by the Jupyter half. */
export const kernelspecSchema = z.strictObject({
  name: z.string().min(1).max(255),
  displayName: z.string().max(255),
  language: z.string().max(64),
  python: z.string().max(4096).regex(/^\//).nullable()
});
export type Kernelspec = z.infer<typeof kernelspecSchema>;

/** PUT clients/{id}: a Jupyter server says it is here, every 20 s. */
export const clientSchema = z.strictObject({
  pid: z.number().int().positive(),
  baseUrl: z.string().max(2048),
  /** The interpreter the server itself runs on. */
  python: z.string().max(4096).regex(/^\//).optional(),
  kernelspecs: z.array(kernelspecSchema).max(500).default([]),
  /** A fixed allow-list of variables that go stale in a daemon (SSH_AUTH_SOCK, KRB5CCNAME, KUBECONFIG). */
  environment: z.record(z.string().max(64), z.string().max(4096)).default({})
});
export type ClientRegistration = z.output<typeof clientSchema>;

/** Header by which a request names the Jupyter server it came through (lifetime.onJupyterStop). */
export const CLIENT_HEADER = 'x-muster-client';
/** Header of the answer of the logs route: where to read on. */
export const NEXT_OFFSET_HEADER = 'x-next-offset';

export const clientMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('watch'),
    id: clusterIdSchema,
    workers: z.boolean()
  }),
  z.strictObject({ type: z.literal('pong') })
]);
export type ClientMessage = z.infer<typeof clientMessageSchema>;

export type ServerMessage =
  | {
      type: 'hello';
      protocol: number;
      bridge: string;
      stream: string;
      epoch: number;
      seq: number;
    }
  | {
      type: 'snapshot';
      seq: number;
      clusters: ClusterView[];
      backends: BackendView[];
      partial?: boolean;
    }
  | { type: 'cluster'; seq: number; cluster: ClusterView }
  | { type: 'removed'; seq: number; id: ClusterId }
  | { type: 'event'; seq: number; event: ClusterEvent }
  | {
      type: 'workers';
      seq: number;
      id: ClusterId;
      upsert: WorkerView[];
      remove: WorkerId[];
    }
  | { type: 'ping' };
