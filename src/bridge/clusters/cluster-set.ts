/** The clusters by id and by name. Names are unique among those that have not ended. */
import type { ClusterId } from '../../protocol/index.js';
import { MusterError, isId } from '../../protocol/index.js';
import type { ClusterState } from './cluster-state.js';
import { isOver } from './lifecycle.js';

export class ClusterSet {
  /** Newest first. */
  get all(): ClusterState[] {
    return [...this._states.values()].sort((a, b) =>
      b.record.createdAt.localeCompare(a.record.createdAt)
    );
  }

  /** Those that have not ended. */
  get active(): ClusterState[] {
    return this.all.filter(state => !isOver(state.record.phase));
  }

  /** Names that a made-up one must not be. */
  get names(): Set<string> {
    return new Set([
      ...[...this._states.values()].map(state => state.record.spec.name),
      ...this._reserved
    ]);
  }

  add(state: ClusterState): void {
    this._states.set(state.id, state);
  }

  delete(id: ClusterId): void {
    this._states.delete(id);
  }

  byId(id: ClusterId): ClusterState | null {
    return this._states.get(id) ?? null;
  }

  /** @param ref an id, or a name: the newest cluster of that name. @throws MusterError `not-found`. */
  find(ref: string): ClusterState {
    const byId = isId(ref) ? this._states.get(ref as ClusterId) : undefined;
    const state = byId ?? this.all.find(one => one.record.spec.name === ref);
    if (state === undefined) {
      throw new MusterError({
        code: 'not-found',
        message: `there is no cluster '${ref.slice(0, 80)}'`
      });
    }
    return state;
  }

  /** @throws MusterError `conflict` where a cluster that has not ended has this name. */
  checkName(name: string, except: ClusterId | null): void {
    const holder = this.active.find(
      state => state.record.spec.name === name && state.id !== except
    );
    if (holder !== undefined || this._reserved.has(name)) {
      throw new MusterError({
        code: 'conflict',
        path: 'name',
        message: `name: '${name}' is the name of a cluster that has not ended`,
        hint: 'choose another name, or stop that cluster',
        ...(holder === undefined ? {} : { details: { cluster: holder.id } })
      });
    }
  }

  /** Two creates of one name at once: the second gets 409 before anything starts. Returns the release. */
  reserve(name: string): () => void {
    this.checkName(name, null);
    this._reserved.add(name);
    return () => {
      this._reserved.delete(name);
    };
  }

  private readonly _states = new Map<ClusterId, ClusterState>();
  private readonly _reserved = new Set<string>();
}
