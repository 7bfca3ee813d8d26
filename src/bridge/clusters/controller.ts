/**
 * The one controller: a keyed queue of passes over the clusters. A pass reads what is desired and
 * observed, calls the pure plan and carries it out. Events only say "look again at this cluster".
 */
import type {
  BackendEvent,
  Handle,
  Observation
} from '../../backends/resource-manager.js';
import type { ClusterId } from '../../protocol/index.js';
import type { JobRecord } from '../store/records.js';
import { applyBackendEvent } from './backend-events.js';
import { checkBinding } from './binding-check.js';
import type { ClientRegistry } from './clients.js';
import { GRACE_MS } from './clients.js';
import type { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { beginStop, liveJobs, now } from './context.js';
import { carryOut } from './effects.js';
import { planGroups } from './group-gate.js';
import { refreshReasons } from './health.js';
import { afterEnds } from './job-ends.js';
import { isOver } from './lifecycle.js';
import { lifetimeVerdict } from './lifetime.js';
import { LinkKeeper } from './link-keeper.js';
import { applyToCluster } from './observations.js';
import type { ObserverQuery } from './observer.js';
import { Observer } from './observer.js';
import type { PlanLimits } from './reconcile.js';
import { DEFAULT_LIMITS, plan } from './reconcile.js';
import { SchedulerWait } from './scheduler-wait.js';
import { WorkQueue } from './work-queue.js';

export type Timings = {
  limits: PlanLimits;
  /** A lower adaptive target must hold this long; by backend. */
  downAfterMs: (backend: string) => number;
  adaptiveIntervalMs: number;
};

export const DEFAULT_TIMINGS: Timings = {
  limits: DEFAULT_LIMITS,
  downAfterMs: backend => (backend === 'local' ? 5_000 : 60_000),
  adaptiveIntervalMs: 1_000
};

type Parts = { state: ClusterState; keeper: LinkKeeper; wait: SchedulerWait };

export type ControllerOptions = {
  /** Everything but what the controller itself provides. */
  context: Omit<Context, 'enqueue' | 'observeSoon' | 'closed'>;
  clients: ClientRegistry;
  timings: Timings;
};

export class Controller {
  constructor(options: ControllerOptions) {
    this._clients = options.clients;
    this._timings = options.timings;
    this._context = {
      ...options.context,
      enqueue: (id, delayMs) => {
        this._queue.enqueue(id, delayMs);
      },
      observeSoon: backend => {
        this._observers.get(backend)?.soon();
      },
      closed: () => this._closed
    };
    this._queue = new WorkQueue({
      work: id => this._pass(id as ClusterId),
      onError: (id, error) => {
        this._context.log.error(
          { err: error, cluster: id },
          'a pass failed; it is tried again'
        );
      }
    });
    for (const [name, backend] of this._context.backends) {
      const observer = new Observer({
        backend,
        query: () => this._query(name),
        onObservation: observation => this._onObservation(name, observation),
        onEvent: event => {
          this._onBackendEvent(name, event).catch((error: unknown) => {
            this._context.log.error(
              { err: error, backend: name },
              'a backend event could not be applied'
            );
            this._context.observeSoon(name);
          });
        },
        onUnreachable: message => {
          this._onUnreachable(name, message);
        }
      });
      this._observers.set(name, observer);
    }
  }

  get context(): Context {
    return this._context;
  }

  /** Begin to look after a cluster. */
  add(state: ClusterState): void {
    const wait = new SchedulerWait(this._context, state);
    this._parts.set(state.id, { state, keeper: this._makeKeeper(state), wait });
    this._queue.enqueue(state.id);
  }

  /** One look at every backend: at start, before anything is created or deleted. */
  async observeAll(): Promise<void> {
    await Promise.all(
      [...this._observers.values()].map(observer => observer.look())
    );
  }

  keeper(id: ClusterId): LinkKeeper | null {
    return this._parts.get(id)?.keeper ?? null;
  }

  async remove(id: ClusterId): Promise<void> {
    const parts = this._parts.get(id);
    this._parts.delete(id);
    this._queue.drop(id);
    await parts?.keeper.close();
  }

  async close(): Promise<void> {
    this._closed = true;
    await Promise.all(
      [...this._observers.values()].map(observer => observer.close())
    );
    await this._queue.close();
    await Promise.all(
      [...this._parts.values()].map(parts => parts.keeper.close())
    );
  }

  private _makeKeeper(state: ClusterState): LinkKeeper {
    const { books, openLink, certificates, log } = this._context;
    return new LinkKeeper({
      state,
      books,
      openLink,
      loadSecurity: (folder, cluster) => certificates.load(folder, cluster),
      enqueue: () => {
        this._queue.enqueue(state.id);
      },
      onError: error => {
        if (!this._closed) {
          log.warn(
            { err: error, cluster: state.id },
            'the line to the scheduler had a fault'
          );
        }
      },
      downAfterMs: this._timings.downAfterMs(state.record.spec.backend),
      adaptiveIntervalMs: this._timings.adaptiveIntervalMs
    });
  }

  private async _pass(id: ClusterId): Promise<void> {
    const parts = this._parts.get(id);
    if (
      parts === undefined ||
      this._closed ||
      isOver(parts.state.record.phase)
    ) {
      return;
    }
    const { state } = parts;
    const { record } = state;
    if (state.unwritten > 0) {
      // Whoever writes asks for a pass when it is written.
      return;
    }
    if (!(await this._seen(state))) {
      this._queue.enqueue(id, 2_000);
      return;
    }
    this._follow(parts);
    if (record.phase !== 'stopping' && (await this._endOfLife(state))) {
      return;
    }
    const result = plan({
      now: Date.now(),
      phase: record.phase,
      force: record.force,
      schedulerAddress: record.scheduler !== null,
      linkUp: state.linkState === 'up' && state.link?.connected === true,
      terminatedAt: state.terminatedAt,
      groups: await planGroups(this._context, state),
      jobs: state.planJobs(),
      limits: this._timings.limits
    });
    if (result.actions.length > 0) {
      await carryOut(this._context, state, parts.keeper, result.actions);
      if (state.keeperSpent) {
        // A restart begins with a line of its own.
        state.keeperSpent = false;
        parts.keeper = this._makeKeeper(state);
      }
      this._follow(parts);
    }
    for (const again of [result.recheckInMs, refreshReasons(state)]) {
      if (again !== null) {
        this._queue.enqueue(id, again);
      }
    }
    this._checkBindings(state);
    this._context.books.changed(state);
  }

  /** The sockets of what came up since the last pass; never in the way of a start. */
  private _checkBindings(state: ClusterState): void {
    for (const job of liveJobs(state)) {
      const up =
        job.group === null
          ? state.record.scheduler !== null
          : job.connected.length > 0;
      if (up && !state.checked.has(job.id)) {
        checkBinding(this._context, state, job).catch((error: unknown) => {
          this._context.log.warn(
            { err: error, job: job.id },
            'its sockets could not be looked at'
          );
        });
      }
    }
  }

  /** Nothing is started, and nobody asked for is ended, before the backend was looked at once. */
  private async _seen(state: ClusterState): Promise<boolean> {
    if (
      !state.observed &&
      liveJobs(state).some(job => job.phase !== 'submitting')
    ) {
      await this._observers.get(state.record.spec.backend)?.look();
      return this._mayPass(state);
    }
    return true;
  }

  /**
   * A stop goes on where the look gave no answer: it ends exactly what it holds handles of, each
   * verified by the backend, and does not finish before all of it is known to be gone.
   */
  private _mayPass({ observed, record }: ClusterState): boolean {
    return observed || record.phase === 'stopping';
  }

  /** Wait for the scheduler's address, hold the line to it. */
  private _follow({ state, keeper, wait }: Parts): void {
    const { record } = state;
    if (state.schedulerJob === null) {
      return;
    }
    if (record.scheduler !== null) {
      keeper.open();
    } else if (record.phase === 'creating') {
      wait.begin(() => {
        keeper.open();
      });
    }
  }

  private async _endOfLife(state: ClusterState): Promise<boolean> {
    const { record } = state;
    const verdict = lifetimeVerdict({
      now: Date.now(),
      startedAt:
        record.startedAt === null ? null : Date.parse(record.startedAt),
      idleTimeoutSeconds: record.spec.lifetime.idleTimeout,
      maximumAgeSeconds: record.spec.lifetime.maximumAge,
      idleSince: state.idleSince,
      jupyterGoneSince:
        record.spec.lifetime.onJupyterStop === 'keep'
          ? null
          : this._absentSince(state),
      jupyterGraceMs: GRACE_MS
    });
    if ('end' in verdict) {
      await beginStop(this._context, state, {
        then: 'stopped',
        force: false,
        cause: { code: 'needs-attention', message: verdict.end }
      });
      return true;
    }
    if (verdict.checkAgainInMs !== null) {
      this._queue.enqueue(state.id, Math.min(verdict.checkAgainInMs, 60_000));
    }
    return false;
  }

  private _absentSince(state: ClusterState): number | null {
    const { client } = state.record;
    if (client === null) {
      return null;
    }
    const { goneForMs, heir } = this._clients.absence(client);
    if (heir !== null) {
      state.record.client = { id: heir, baseUrl: client.baseUrl };
    }
    return goneForMs === null ? null : Date.now() - goneForMs;
  }

  private _query(backend: string): ObserverQuery {
    const query: ObserverQuery = { handles: [], tokens: [], pending: false };
    for (const state of this._on(backend)) {
      for (const job of liveJobs(state)) {
        if (job.handle !== null) {
          query.handles.push(job.handle);
          query.pending ||=
            job.phase !== 'running' || state.missing.has(job.id);
        } else if (job.phase === 'uncertain') {
          query.tokens.push({ token: job.token, folder: state.record.folder });
          query.pending = true;
        }
      }
    }
    return query;
  }

  /** Clusters of this backend that have not ended. */
  private _on(backend: string): ClusterState[] {
    return [...this._parts.values()]
      .map(parts => parts.state)
      .filter(
        state =>
          state.record.spec.backend === backend && !isOver(state.record.phase)
      );
  }

  private async _onObservation(
    backend: string,
    observation: Observation
  ): Promise<void> {
    for (const state of this._on(backend)) {
      try {
        await afterEnds(
          this._context,
          state,
          await applyToCluster(this._context, state, observation)
        );
        this._queue.enqueue(state.id);
      } catch (error) {
        // One cluster's fault never spoils the batch (BK-30).
        this._context.log.error(
          { err: error, cluster: state.id },
          'an observation could not be applied'
        );
      }
    }
  }

  private _onUnreachable(backend: string, message: string): void {
    for (const state of this._on(backend)) {
      state.setReason('backend-unreachable', { message }, now());
      this._context.books.changed(state);
    }
  }

  private async _onBackendEvent(
    backend: string,
    event: BackendEvent
  ): Promise<void> {
    if (event.type === 'changed') {
      const state =
        event.note === undefined
          ? undefined
          : this._parts.get(event.note.cluster)?.state;
      if (state !== undefined && event.note !== undefined) {
        state.setReason(
          event.note.code,
          { message: event.note.message },
          now()
        );
        this._context.books.changed(state);
      }
      return;
    }
    const match = this._find(backend, event.handle);
    if (match === null) {
      // Known in a moment: the answer to our request is still on its way into the record.
      this._context.observeSoon(backend);
      return;
    }
    await applyBackendEvent(this._context, match.state, match.job, event);
  }

  private _find(
    backend: string,
    handle: Handle
  ): { state: ClusterState; job: JobRecord } | null {
    for (const { state } of this._parts.values()) {
      if (state.record.spec.backend === backend) {
        for (const job of state.jobs.values()) {
          if (
            job.handle?.nativeId === handle.nativeId &&
            job.handle.nativeCluster === handle.nativeCluster
          ) {
            return { state, job };
          }
        }
      }
    }
    return null;
  }

  private readonly _context: Context;
  private readonly _clients: ClientRegistry;
  private readonly _timings: Timings;
  private readonly _queue: WorkQueue;
  private readonly _observers = new Map<string, Observer>();
  private readonly _parts = new Map<ClusterId, Parts>();
  private _closed = false;
}
