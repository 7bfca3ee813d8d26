/**
 * The database's schema as forward-only steps: step i leads from `user_version` i to i + 1. A step
 * that was released is never edited; a change is a new step.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE epoch (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    value INTEGER NOT NULL
  ) STRICT;
  INSERT INTO epoch (id, value) VALUES (1, 0);

  CREATE TABLE clusters (
    id TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL CHECK (json_valid(record))
  ) STRICT;

  CREATE TABLE jobs (
    id TEXT NOT NULL UNIQUE,
    cluster TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    record TEXT NOT NULL CHECK (json_valid(record))
  ) STRICT;
  CREATE INDEX jobs_by_cluster ON jobs (cluster);

  -- No foreign key: an event must never be the reason why an intent is refused.
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    cluster TEXT NOT NULL,
    record TEXT NOT NULL CHECK (json_valid(record))
  ) STRICT;
  CREATE INDEX events_by_cluster ON events (cluster, seq);

  CREATE TABLE idempotency (
    key TEXT PRIMARY KEY,
    body_hash TEXT NOT NULL,
    cluster TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    created_at TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_cluster ON idempotency (cluster);
  CREATE INDEX idempotency_by_time ON idempotency (created_at);
  `
];

/** Keys of the table `meta`. */
export const META = {
  /** Random; changes when the store was restored or made anew. */
  stream: 'stream',
  /** Upper bound of the seqs handed out. */
  seq: 'seq',
  /** Version of the Muster that opened it last. */
  writtenBy: 'written-by',
  /** JSON `{note, at}`: why the store is not the one that was closed, until acknowledged. */
  restored: 'restored'
} as const;
