/** The set of clusters: what the API asks for becomes a change of what is desired, written down, then a pass. */
import { mkdir, rm } from 'node:fs/promises';
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
  ResolvedSpec,
  WorkerView
} from '../../protocol/index.js';
import { MusterError, parseWorkerId } from '../../protocol/index.js';
import type { Store, StoreOperation, StoreSnapshot } from '../store/store.js';
import { backendViews } from './backend-views.js';
import type { ClientRegistry } from './clients.js';
import type {
  ClusterDelta,
  ClusterService,
  CreateRequest,
  DashboardTarget,
  LogQuery
} from './cluster-service.js';
import { ClusterState } from './cluster-state.js';
import { ClusterSet } from './cluster-set.js';
import { connectionView } from './connection.js';
import {
  backendOf,
  beginStop,
  commitDesire,
  liveJobs,
  now
} from './context.js';
import type { Context } from './context.js';
import type { Controller } from './controller.js';
import { DashboardList } from './dashboard-list.js';
import { Housekeeping } from './housekeeping.js';
import { IdempotencyKeys } from './idempotency.js';
import { isOver } from './lifecycle.js';
import { jobOfReference } from './log-reference.js';
import { freeName } from './names.js';
import { newRecord } from './new-record.js';
import { applyPatch } from './patch.js';
import { previewView } from './preview.js';
import { resolveSpec } from './resolve-spec.js';
import { beginDrain } from './retirement.js';
import { Turns } from './turns.js';
import { clusterView, jobView, workerViews } from './views.js';

/** After a create, the next pool is made when the cluster has most likely started. */
const NEXT_POOL_MS = 5_000;
const LOG_LIMIT = 1024 * 1024;

export type ClusterManagerOptions = {
  store: Store;
  controller: Controller;
  clients: ClientRegistry;
  /** Absolute; one folder a cluster. */
  clustersFolder: string;
};

export class ClusterManager implements ClusterService {
  constructor(options: ClusterManagerOptions) {
    this._store = options.store;
    this._controller = options.controller;
    this._clients = options.clients;
    this._folder = options.clustersFolder;
  }

  get ready(): boolean {
    return this._ready;
  }

  get stream(): string {
    return this._stream;
  }

  get epoch(): number {
    return this._store.epoch;
  }

  get seq(): number {
    return this._books.seq;
  }

  /** Clusters that have not ended. */
  get active(): number {
    return this._set.active.length;
  }

  /** Load what was written, look at every backend once, then begin to act. */
  async start(snapshot: StoreSnapshot): Promise<void> {
    this._stream = snapshot.stream;
    await this._books.open();
    for (const record of snapshot.clusters) {
      const jobs = snapshot.jobs.filter(job => job.cluster === record.id);
      for (const job of jobs) {
        if (job.phase === 'submitting') {
          // The bridge ended between intent and answer: it may or may not exist.
          job.phase = 'uncertain';
          job.reason = 'the bridge ended before the answer came';
        }
      }
      const state = new ClusterState(record, jobs);
      if (!isOver(record.phase)) {
        state.setReason(
          'not-observed',
          { message: 'Not looked at since the bridge started' },
          now()
        );
        if (snapshot.restored !== null) {
          state.setReason(
            'store-restored',
            { message: snapshot.restored },
            now()
          );
        }
      }
      this._set.add(state);
      this._books.publish(state);
    }
    this._keys.load(snapshot.idempotency);
    this._ready = true;
    for (const state of this._set.all) {
      this._controller.add(state);
    }
    await this._controller.observeAll();
    for (const state of this._set.all) {
      if (!isOver(state.record.phase)) {
        await this._books.commit(state, {
          jobs: liveJobs(state),
          events: [
            this._books.event(
              state,
              'recovered',
              'The bridge started again and found this cluster'
            )
          ]
        });
      }
    }
    this._housekeeping = new Housekeeping({
      context: this._context,
      store: this._store,
      set: this._set,
      clients: this._clients,
      forget: ({ id }) =>
        this._inTurn(id, async state => {
          if (isOver(state.record.phase)) {
            await this._forget(state);
          }
        }),
      sweepKeys: () => this._keys.sweep()
    });
  }

  async close(): Promise<void> {
    this._housekeeping?.close();
    for (const timer of this._timers) {
      clearTimeout(timer);
    }
    await this._controller.close();
    this._books.close();
  }

  backends(): Promise<BackendView[]> {
    return backendViews(this._context.backends);
  }

  environments(): Promise<EnvironmentView[]> {
    return this._context.environments.list();
  }

  profiles(): Promise<ProfileView[]> {
    return Promise.resolve(this._context.configuration.profiles());
  }

  async preview(spec: ParsedSpec, body: unknown): Promise<PreviewView> {
    const resolved = await this._resolve(spec, body);
    this._prepareNext(resolved, 0);
    return previewView(
      this._context,
      newRecord({ spec: resolved, client: null, clustersFolder: this._folder })
    );
  }

  create(request: CreateRequest): Promise<ClusterView> {
    return request.idempotencyKey === null
      ? this._create(request, null)
      : this._keys.once(
          request.idempotencyKey,
          request.body,
          cluster => this.get(cluster),
          remember => this._create(request, remember)
        );
  }

  list(): ClusterView[] {
    return this._set.all.map(state => this._view(state));
  }

  get(ref: string): ClusterView {
    return this._view(this._set.find(ref));
  }

  patch(ref: string, patch: ParsedPatch): Promise<ClusterView> {
    return this._inTurn(ref, state => this._patch(state, patch));
  }

  private async _patch(
    state: ClusterState,
    patch: ParsedPatch
  ): Promise<ClusterView> {
    if (isOver(state.record.phase) || state.record.phase === 'stopping') {
      throw wrongPhase(state, 'changed');
    }
    if (patch.name !== undefined && patch.name !== state.record.spec.name) {
      this._set.checkName(patch.name, state.id);
    }
    const change = applyPatch(
      state.record,
      patch,
      this._context.configuration.limits()
    );
    if (change.events.length > 0) {
      const { spec, targets } = state.record;
      state.record = {
        ...state.record,
        spec: change.spec,
        targets: change.targets
      };
      const takeBack = (): void => {
        Object.assign(state.record, { spec, targets });
      };
      await commitDesire(this._context, state, takeBack, {
        events: change.events.map(event =>
          this._books.event(state, event.kind, event.message, {
            data: event.data
          })
        )
      });
      if (patch.scale !== undefined) {
        this._controller.keeper(state.id)?.scaleChanged();
        void this._controller
          .keeper(state.id)
          ?.tellSpec()
          .catch((error: unknown) => {
            this._context.log.debug(
              { err: error },
              'the scheduler was not told'
            );
          });
      }
      this._context.enqueue(state.id);
    }
    return this._books.publish(state);
  }

  stop(ref: string, options: { force: boolean }): Promise<ClusterView> {
    return this._inTurn(ref, state => this._stop(state, options));
  }

  private async _stop(
    state: ClusterState,
    options: { force: boolean }
  ): Promise<ClusterView> {
    if (isOver(state.record.phase)) {
      return this._view(state);
    }
    // A second stop joins the first; it may add force, or turn a restart into a stop.
    if (
      state.record.phase !== 'stopping' ||
      (options.force && !state.record.force) ||
      state.record.then === 'restart'
    ) {
      const failed =
        state.record.phase === 'stopping' && state.record.then === 'failed';
      if (failed) {
        state.record.force ||= options.force;
        await this._books.commit(state, {});
        this._context.enqueue(state.id);
      } else {
        await beginStop(this._context, state, {
          then: 'stopped',
          force: options.force,
          cause: null
        });
      }
    }
    return this._books.publish(state);
  }

  restart(ref: string): Promise<ClusterView> {
    return this._inTurn(ref, state => this._restart(state));
  }

  private async _restart(state: ClusterState): Promise<ClusterView> {
    if (isOver(state.record.phase)) {
      this._set.checkName(state.record.spec.name, state.id);
    }
    // An ended cluster passes through `stopping` too: whatever may be left of it is put away first.
    await beginStop(this._context, state, {
      then: 'restart',
      force: false,
      cause: null
    });
    return this._books.publish(state);
  }

  async resume(ref: string): Promise<ClusterView> {
    const state = this._set.find(ref);
    if (isOver(state.record.phase)) {
      throw wrongPhase(state, 'resumed');
    }
    const groups = Object.keys(state.record.failingGroups);
    if (groups.length > 0) {
      const { failingGroups } = state.record;
      const resumedAt = new Map(state.resumedAt);
      for (const group of groups) {
        state.resumedAt.set(group, Date.now());
      }
      state.record.failingGroups = {};
      const takeBack = (): void => {
        state.record.failingGroups = failingGroups;
        for (const group of groups) {
          state.resumedAt.set(group, resumedAt.get(group) ?? 0);
        }
      };
      await commitDesire(this._context, state, takeBack, {
        events: [
          this._books.event(state, 'resumed', `Resumed: ${groups.join(', ')}`, {
            data: { groups }
          })
        ]
      });
    }
    return this._books.publish(state);
  }

  forget(ref: string): Promise<void> {
    return this._inTurn(ref, async state => {
      if (!isOver(state.record.phase)) {
        throw wrongPhase(state, 'forgotten', 'stop it first');
      }
      await this._forget(state);
    });
  }

  /** Requests that change one cluster follow each other; after it was forgotten it is not found. */
  private async _inTurn<Result>(
    ref: string,
    work: (state: ClusterState) => Promise<Result>
  ): Promise<Result> {
    const { id } = this._set.find(ref);
    return this._turns.take(id, () => work(this._set.find(id)));
  }

  workers(ref: string): WorkerView[] {
    return workerViews(this._set.find(ref));
  }

  jobs(ref: string): JobView[] {
    return [...this._set.find(ref).jobs.values()].map(jobView);
  }

  async events(
    ref: string,
    query: { after: number; limit: number }
  ): Promise<Page<ClusterEvent>> {
    const state = this._set.find(ref);
    const items =
      query.after < 0
        ? await this._store.latestEvents({
            cluster: state.id,
            limit: query.limit
          })
        : await this._store.events({
            cluster: state.id,
            after: query.after,
            limit: query.limit
          });
    const last = items.at(-1);
    return {
      items,
      next:
        items.length === query.limit && last !== undefined
          ? String(last.seq)
          : null
    };
  }

  eventsSince(after: number, limit: number): Promise<ClusterEvent[]> {
    return this._store.events({ cluster: null, after, limit });
  }

  changedSince(
    after: number
  ): { clusters: ClusterView[]; removed: ClusterId[] } | null {
    const change = this._books.changedSince(after);
    if (change === null) {
      return null;
    }
    return {
      clusters: change.changed.flatMap(id => {
        const state = this._set.byId(id);
        return state === null ? [] : [this._view(state)];
      }),
      removed: change.removed
    };
  }

  async retire(
    ref: string,
    worker: string,
    options: { deadlineSeconds: number | null }
  ): Promise<WorkerView> {
    const state = this._set.find(ref);
    const parsed = parseWorkerId(worker);
    const view = workerViews(state).find(row => row.id === worker);
    const job = parsed === null ? undefined : state.jobs.get(parsed.job);
    if (view === undefined || job === undefined) {
      throw new MusterError({
        code: 'not-found',
        message: `${state.record.spec.name} has no worker '${worker}'`
      });
    }
    if (!state.draining.has(job.id) && !job.endedByUs) {
      await beginDrain(
        this._context,
        state,
        [job],
        options.deadlineSeconds === null
          ? undefined
          : options.deadlineSeconds * 1000
      );
    }
    return workerViews(state).find(row => row.id === worker) ?? view;
  }

  async logs(
    ref: string,
    query: LogQuery
  ): Promise<{ text: string; nextOffset: number }> {
    const state = this._set.find(ref);
    const found = jobOfReference(state, query.what);
    if (found === null) {
      throw new MusterError({
        code: 'not-found',
        message: `${state.record.spec.name} has no log '${query.what}'`,
        hint: "say 'scheduler', a job id or a worker id"
      });
    }
    if (found.job.handle === null) {
      return { text: '', nextOffset: 0 };
    }
    return backendOf(this._context, state).logs({
      handle: found.job.handle,
      launch: found.launch,
      folder: state.record.folder,
      stream: query.stream,
      offset: query.offset,
      limit: Math.min(query.limit, LOG_LIMIT)
    });
  }

  connection(ref: string): Promise<ConnectionView> {
    const state = this._set.find(ref);
    const { record } = state;
    if (record.scheduler === null) {
      throw new MusterError({
        code: 'conflict',
        message: isOver(record.phase)
          ? `${record.spec.name} has ended (${record.phase}); there is nothing to connect to`
          : `${record.spec.name} is pending: its scheduler is not up yet`,
        hint: isOver(record.phase) ? 'start it again' : 'wait until it runs'
      });
    }
    return Promise.resolve(
      connectionView({
        address: record.scheduler.address,
        dashboard: this._view(state).scheduler.dashboard,
        tls: record.spec.security.tls
          ? this._context.certificates.files(record.folder)
          : null
      })
    );
  }

  async dashboards(ref: string): Promise<DashboardView[]> {
    const state = this._set.find(ref);
    const port = state.record.scheduler?.dashboardPort ?? null;
    if (port === null) {
      return [];
    }
    try {
      return await this._plots.get(state.id, port);
    } catch (error) {
      throw new MusterError({
        code: 'backend-unavailable',
        message: `the dashboard of ${state.record.spec.name} does not answer`,
        cause: error
      });
    }
  }

  dashboardTarget(ref: string): DashboardTarget | null {
    const port = this._set.find(ref).record.scheduler?.dashboardPort ?? null;
    return port === null ? null : { host: '127.0.0.1', port };
  }

  putClient(id: string, registration: ClientRegistration): void {
    this._clients.put(id, registration);
  }

  deleteClient(id: string): void {
    this._clients.delete(id);
    for (const state of this._set.all) {
      if (state.record.client?.id === id) {
        this._context.enqueue(state.id);
      }
    }
  }

  watchWorkers(ref: string, on: boolean): void {
    const state = this._set.find(ref);
    state.watchers = Math.max(0, state.watchers + (on ? 1 : -1));
    if (on) {
      this._controller.keeper(state.id)?.watch();
    }
    this._books.changed(state);
  }

  onDelta(listener: (delta: ClusterDelta) => void): () => void {
    return this._books.onDelta(listener);
  }

  private async _create(
    request: CreateRequest,
    remember: ((cluster: ClusterId, createdAt: string) => StoreOperation) | null
  ): Promise<ClusterView> {
    const { name } = request.spec;
    const release =
      name === undefined ? () => undefined : this._set.reserve(name);
    try {
      const spec = await this._resolve(request.spec, request.body);
      release();
      this._set.checkName(spec.name, null);
      const record = newRecord({
        spec,
        client: this._clientOf(request.client),
        clustersFolder: this._folder
      });
      const state = new ClusterState(record);
      // Nothing of it was there before: there is nothing to look for before it is started.
      state.observed = true;
      // Known before it is started: nothing lives that is not listed.
      this._set.add(state);
      try {
        await mkdir(record.folder, { recursive: true, mode: 0o700 });
        await this._books.commit(state, {
          events: [
            this._books.event(
              state,
              'created',
              `${spec.name} created on ${spec.backend}`
            )
          ],
          operations:
            remember === null ? [] : [remember(record.id, record.createdAt)]
        });
      } catch (error) {
        this._set.delete(record.id);
        await rm(record.folder, { recursive: true, force: true });
        throw error;
      }
      this._controller.add(state);
      this._prepareNext(spec, NEXT_POOL_MS);
      return this._books.publish(state);
    } finally {
      release();
    }
  }

  private _clientOf(id: string | null): { id: string; baseUrl: string } | null {
    const baseUrl = id === null ? null : this._clients.baseUrlOf(id);
    return id === null || baseUrl === null ? null : { id, baseUrl };
  }

  /** The next cluster of this environment starts warm; not while this one takes the cores. */
  private _prepareNext(spec: ResolvedSpec, delayMs: number): void {
    const backend = this._context.backends.get(spec.backend);
    const { python, variables } = spec.environment;
    const timer = setTimeout(() => {
      this._timers.delete(timer);
      backend?.prepare?.({ python, variables }).catch((error: unknown) => {
        this._context.log.warn(
          { err: error },
          'nothing could be prepared for the next cluster'
        );
      });
    }, delayMs);
    timer.unref();
    this._timers.add(timer);
  }

  private _resolve(spec: ParsedSpec, body: unknown): Promise<ResolvedSpec> {
    return resolveSpec({
      spec,
      body,
      backends: this._context.backends,
      configuration: this._context.configuration,
      environments: this._context.environments,
      makeName: () => freeName(this._set.names, Math.random)
    });
  }

  private _view(state: ClusterState): ClusterView {
    return clusterView(state, this._books.owner);
  }

  private async _forget(state: ClusterState): Promise<void> {
    await this._controller.remove(state.id);
    await this._books.remove(state);
    this._set.delete(state.id);
    this._keys.drop(state.id);
    this._plots.drop(state.id);
    await rm(state.record.folder, { recursive: true, force: true });
  }

  private get _context(): Context {
    return this._controller.context;
  }

  private get _books(): Context['books'] {
    return this._controller.context.books;
  }

  private readonly _store: Store;
  private readonly _controller: Controller;
  private readonly _clients: ClientRegistry;
  private readonly _folder: string;
  private readonly _set = new ClusterSet();
  private readonly _keys = new IdempotencyKeys<ClusterView>();
  private readonly _plots = new DashboardList();
  private readonly _turns = new Turns();
  private readonly _timers = new Set<NodeJS.Timeout>();
  private _housekeeping: Housekeeping | null = null;
  private _ready = false;
  private _stream = '';
}

function wrongPhase(
  state: ClusterState,
  verb: string,
  hint?: string
): MusterError {
  return new MusterError({
    code: 'conflict',
    message: `${state.record.spec.name} is ${state.record.phase} and cannot be ${verb}`,
    ...(hint === undefined ? {} : { hint })
  });
}
