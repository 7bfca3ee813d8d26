/**
 * The store's interface: the only way to durable state (specs/reliability-and-security.md R9).
 * An operation is acknowledged (its promise resolves) only after COMMIT; operations that arrive
 * together share a transaction. No SQL outside `store/`.
 */
import type { ClusterEvent, ClusterId, JobId } from '../../protocol/index.js';
import type { ClusterRecord, JobRecord } from './records.js';

export type StoreOperation =
  | { type: 'put-cluster'; cluster: ClusterRecord }
  /** Removes the cluster, its jobs, events and idempotency keys. */
  | { type: 'delete-cluster'; id: ClusterId }
  | { type: 'put-job'; job: JobRecord }
  | { type: 'delete-job'; id: JobId }
  | { type: 'append-event'; event: ClusterEvent }
  | {
      type: 'put-idempotency';
      key: string;
      bodyHash: string;
      cluster: ClusterId;
      createdAt: string;
    }
  | { type: 'delete-idempotency-before'; time: string }
  /** Keeps the newest `keep` events of each cluster. */
  | { type: 'prune-events'; keep: number }
  /** Raises the durable upper bound of `seq`; never lowers it. */
  | { type: 'raise-seq'; to: number }
  /** What `restored` asked for (discovery from all backends) is done; it is null from the next opening on. */
  | { type: 'acknowledge-restore' };

export type StoreSnapshot = {
  /** Changes when the store was restored from a backup or made anew. */
  stream: string;
  /** This opening's epoch: the previous one + 1. */
  epoch: number;
  /** No seq above this was ever handed out by an earlier bridge. */
  seq: number;
  clusters: ClusterRecord[];
  jobs: JobRecord[];
  idempotency: {
    key: string;
    bodyHash: string;
    cluster: ClusterId;
    createdAt: string;
  }[];
  /** Why the store is not the one that was closed (restored, made anew after corruption); else null. */
  restored: string | null;
};

export interface Store {
  readonly epoch: number;
  load(): Promise<StoreSnapshot>;
  /** All or nothing; resolves after COMMIT. Rejects with MusterError `backend-unavailable` where the disk refuses. */
  transaction(operations: readonly StoreOperation[]): Promise<void>;
  /** Events of one cluster (or all: null) with seq > after, oldest first. */
  events(query: {
    cluster: ClusterId | null;
    after: number;
    limit: number;
  }): Promise<ClusterEvent[]>;
  /** Newest `limit` events of a cluster, oldest first. */
  latestEvents(query: {
    cluster: ClusterId;
    limit: number;
  }): Promise<ClusterEvent[]>;
  close(): Promise<void>;
}
