/** Store operations as SQL, prepared once per database. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { META } from './schema.js';
import type { StoreOperation } from './store.js';

export class OperationWriter {
  constructor(database: DatabaseSync) {
    const prepare = (sql: string): StatementSync => database.prepare(sql);
    this.#putCluster = prepare(
      `INSERT INTO clusters (id, record) VALUES (?, ?)
       ON CONFLICT (id) DO UPDATE SET record = excluded.record`
    );
    this.#deleteCluster = prepare('DELETE FROM clusters WHERE id = ?');
    this.#deleteEventsOf = prepare('DELETE FROM events WHERE cluster = ?');
    this.#putJob = prepare(
      `INSERT INTO jobs (id, cluster, record) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET cluster = excluded.cluster, record = excluded.record`
    );
    this.#deleteJob = prepare('DELETE FROM jobs WHERE id = ?');
    this.#appendEvent = prepare(
      'INSERT INTO events (seq, cluster, record) VALUES (?, ?, ?)'
    );
    this.#putIdempotency = prepare(
      `INSERT INTO idempotency (key, body_hash, cluster, created_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET body_hash = excluded.body_hash,
         cluster = excluded.cluster, created_at = excluded.created_at`
    );
    this.#deleteIdempotency = prepare(
      'DELETE FROM idempotency WHERE created_at < ?'
    );
    // Events of clusters that were deleted meanwhile go as well.
    this.#deleteStrayEvents = prepare(
      'DELETE FROM events WHERE cluster NOT IN (SELECT id FROM clusters)'
    );
    this.#crowdedClusters = prepare(
      'SELECT cluster FROM events GROUP BY cluster HAVING count(*) > ?'
    );
    this.#pruneEventsOf = prepare(
      `DELETE FROM events WHERE cluster = ?1 AND seq <= (
         SELECT seq FROM events WHERE cluster = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)`
    );
    this.#raiseSeq = prepare(
      `INSERT INTO meta (key, value) VALUES ('${META.seq}', ?1)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value
       WHERE CAST(excluded.value AS INTEGER) > CAST(value AS INTEGER)`
    );
    this.#acknowledgeRestore = prepare(
      `DELETE FROM meta WHERE key = '${META.restored}'`
    );
  }

  readonly #putCluster: StatementSync;
  readonly #deleteCluster: StatementSync;
  readonly #deleteEventsOf: StatementSync;
  readonly #putJob: StatementSync;
  readonly #deleteJob: StatementSync;
  readonly #appendEvent: StatementSync;
  readonly #putIdempotency: StatementSync;
  readonly #deleteIdempotency: StatementSync;
  readonly #deleteStrayEvents: StatementSync;
  readonly #crowdedClusters: StatementSync;
  readonly #pruneEventsOf: StatementSync;
  readonly #raiseSeq: StatementSync;
  readonly #acknowledgeRestore: StatementSync;

  /** Inside a transaction of the caller. @throws the database's own error. */
  apply(operation: StoreOperation): void {
    switch (operation.type) {
      case 'put-cluster':
        this.#putCluster.run(
          operation.cluster.id,
          JSON.stringify(operation.cluster)
        );
        return;
      case 'delete-cluster':
        // Jobs and idempotency keys go by their foreign keys.
        this.#deleteCluster.run(operation.id);
        this.#deleteEventsOf.run(operation.id);
        return;
      case 'put-job':
        this.#putJob.run(
          operation.job.id,
          operation.job.cluster,
          JSON.stringify(operation.job)
        );
        return;
      case 'delete-job':
        this.#deleteJob.run(operation.id);
        return;
      case 'append-event':
        this.#appendEvent.run(
          operation.event.seq,
          operation.event.cluster,
          JSON.stringify(operation.event)
        );
        return;
      case 'put-idempotency':
        this.#putIdempotency.run(
          operation.key,
          operation.bodyHash,
          operation.cluster,
          operation.createdAt
        );
        return;
      case 'delete-idempotency-before':
        this.#deleteIdempotency.run(operation.time);
        return;
      case 'prune-events':
        this.#prune(operation.keep);
        return;
      case 'raise-seq':
        this.#raiseSeq.run(String(operation.to));
        return;
      case 'acknowledge-restore':
        this.#acknowledgeRestore.run();
        return;
      default: {
        const never: never = operation;
        throw new TypeError(`unknown operation ${JSON.stringify(never)}`);
      }
    }
  }

  #prune(keep: number): void {
    this.#deleteStrayEvents.run();
    for (const row of this.#crowdedClusters.all(keep)) {
      this.#pruneEventsOf.run(String(row['cluster']), keep);
    }
  }
}
