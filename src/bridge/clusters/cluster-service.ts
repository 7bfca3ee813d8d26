/** What the API may ask of the clusters; the only door from `api/` into `clusters/`. */
import type {
  BackendView,
  ClientRegistration,
  ClusterEvent,
  ClusterId,
  ClusterView,
  ConnectionView,
  DashboardView,
  EnvironmentView,
  JobView,
  Page,
  ParsedPatch,
  ParsedSpec,
  PreviewView,
  ProfileView,
  WorkerId,
  WorkerView
} from '../../protocol/index.js';

/** Deltas for the WebSocket hub; `seq` is global, durable and only grows. */
export type ClusterDelta =
  | { type: 'cluster'; seq: number; cluster: ClusterView }
  | { type: 'removed'; seq: number; id: ClusterId }
  | { type: 'event'; seq: number; event: ClusterEvent }
  | {
      type: 'workers';
      seq: number;
      id: ClusterId;
      upsert: WorkerView[];
      remove: WorkerId[];
    };

export type CreateRequest = {
  spec: ParsedSpec;
  /** The body as sent, for comparison under the same key. */
  body: unknown;
  idempotencyKey: string | null;
  /** Client id of the Jupyter server it came through, if any. */
  client: string | null;
};

/** Where a dashboard request goes; never chosen by the URL. */
export type DashboardTarget = { host: string; port: number };

export type LogQuery = {
  what: string;
  stream: 'stdout' | 'stderr';
  /** Negative: from the end. */
  offset: number;
  limit: number;
};

/** Every method throws MusterError (`not-found`, `conflict`, `policy`, …). `ref` is an id or a name. */
export interface ClusterService {
  /** False until the store is loaded: the API answers `bridge-starting`. */
  readonly ready: boolean;
  /** Changes when the store was restored. */
  readonly stream: string;
  readonly epoch: number;
  /** The newest seq handed out. */
  readonly seq: number;

  backends(): Promise<BackendView[]>;
  environments(): Promise<EnvironmentView[]>;
  profiles(): Promise<ProfileView[]>;
  /** `body`: the request as sent; a profile's fields lie under it. */
  preview(spec: ParsedSpec, body: unknown): Promise<PreviewView>;
  create(request: CreateRequest): Promise<ClusterView>;
  list(): ClusterView[];
  /** An id, or a name: the newest cluster of that name. */
  get(ref: string): ClusterView;
  patch(ref: string, patch: ParsedPatch): Promise<ClusterView>;
  stop(ref: string, options: { force: boolean }): Promise<ClusterView>;
  forget(ref: string): Promise<void>;
  resume(ref: string): Promise<ClusterView>;
  restart(ref: string): Promise<ClusterView>;
  workers(ref: string): WorkerView[];
  jobs(ref: string): JobView[];
  events(
    ref: string,
    query: { after: number; limit: number }
  ): Promise<Page<ClusterEvent>>;
  /** Events of all clusters after a seq, for a resumed stream. */
  eventsSince(after: number, limit: number): Promise<ClusterEvent[]>;
  /** Views changed after a seq; null where that is not known any more (send a snapshot). */
  changedSince(
    after: number
  ): { clusters: ClusterView[]; removed: ClusterId[] } | null;
  retire(
    ref: string,
    worker: string,
    options: { deadlineSeconds: number | null }
  ): Promise<WorkerView>;
  logs(
    ref: string,
    query: LogQuery
  ): Promise<{ text: string; nextOffset: number }>;
  connection(ref: string): Promise<ConnectionView>;
  dashboards(ref: string): Promise<DashboardView[]>;
  dashboardTarget(ref: string): DashboardTarget | null;
  putClient(id: string, registration: ClientRegistration): void;
  deleteClient(id: string): void;
  /** Worker rows of this cluster are wanted (a panel shows them): observe metrics more often. */
  watchWorkers(ref: string, on: boolean): void;
  /** Returns the function that ends the subscription. */
  onDelta(listener: (delta: ClusterDelta) => void): () => void;
}
