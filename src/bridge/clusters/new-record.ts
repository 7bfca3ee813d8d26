/** The record of a cluster that does not exist yet. */
import path from 'node:path';
import type { ClusterId, ResolvedSpec } from '../../protocol/index.js';
import type { ClusterRecord } from '../store/records.js';
import { newId, now } from './context.js';

/** Dask's own default: a pool started ahead of time serves every cluster that keeps it. */
const HASH_SEED = 6640;

export function newRecord(options: {
  spec: ResolvedSpec;
  client: ClusterRecord['client'];
  /** Absolute; one folder a cluster. */
  clustersFolder: string;
}): ClusterRecord {
  const id = newId() as ClusterId;
  return {
    id,
    spec: options.spec,
    phase: 'creating',
    createdAt: now(),
    startedAt: null,
    stoppedAt: null,
    client: options.client,
    folder: path.join(options.clustersFolder, id),
    targets: {},
    failingGroups: {},
    cause: null,
    reasons: [],
    scheduler: null,
    revision: 0,
    life: 1,
    then: 'stopped',
    force: false,
    hashSeed: HASH_SEED
  };
}
