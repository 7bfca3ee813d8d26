/** The typed door to the bridge, through the Jupyter server's relay. */
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type {
  BackendView,
  ClusterEvent,
  ClusterPatch,
  ClusterSpec,
  ClusterView,
  ConnectionView,
  DashboardView,
  EnvironmentView,
  JobView,
  Page,
  PreviewView,
  ProfileView,
  WorkerView
} from '../../protocol/index.js';
import { NEXT_OFFSET_HEADER } from '../../protocol/index.js';
import { offlineError, responseError } from './response-error.js';

/** What the Jupyter half says of itself and of the bridge; never starts anything. */
export type HalfView = {
  version: string;
  protocol: number;
  client: string;
  bridge: {
    state: 'absent' | 'starting' | 'running' | 'failed';
    seconds: number;
    log: string;
    error?: { message: string; hint?: string; details?: unknown } | null;
  };
};

export type LogSlice = { text: string; nextOffset: number };

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Every method rejects with `MusterError`, whatever went wrong. */
export class BridgeClient {
  constructor(options: BridgeClient.IOptions) {
    this._settings = options.serverSettings;
  }

  get serverSettings(): ServerConnection.ISettings {
    return this._settings;
  }

  /** null where this server has no Muster at all (404). */
  async half(): Promise<HalfView | null> {
    const response = await this._fetch('GET', 'api/half');
    if (response.status === 404) {
      return null;
    }
    return (await this._read(response)) as HalfView;
  }

  restartBridge(): Promise<unknown> {
    return this._json('POST', 'api/restart-bridge', {});
  }

  health(): Promise<unknown> {
    return this._json('GET', 'api/v1/health');
  }

  backends(): Promise<BackendView[]> {
    return this._list('api/v1/backends');
  }

  profiles(): Promise<ProfileView[]> {
    return this._list('api/v1/profiles');
  }

  /**
   * Does this bridge have the route? Its OpenAPI document promises no other; what it does not offer
   * is not shown. False also where the document cannot be had.
   * @param path as the document has it, with its parameters' names: `/api/v1/profiles/{name}`.
   */
  async offers(method: 'put' | 'post', path: RegExp): Promise<boolean> {
    try {
      const document = await this._json<{
        paths?: Record<string, Record<string, unknown>>;
      }>('GET', 'api/v1/openapi.json');
      return Object.entries(document.paths ?? {}).some(
        ([route, operations]) => path.test(route) && method in operations
      );
    } catch {
      return false;
    }
  }

  putProfile(name: string, spec: ClusterSpec): Promise<unknown> {
    return this._json('PUT', `api/v1/profiles/${part(name)}`, spec);
  }

  environments(): Promise<EnvironmentView[]> {
    return this._list('api/v1/environments');
  }

  clusters(): Promise<ClusterView[]> {
    return this._list('api/v1/clusters');
  }

  preview(spec: ClusterSpec): Promise<PreviewView> {
    return this._json('POST', 'api/v1/preview', spec);
  }

  /** The key makes a repeat after a lost answer harmless: it answers with the same cluster. */
  create(spec: ClusterSpec, idempotencyKey: string): Promise<ClusterView> {
    return this._json('POST', 'api/v1/clusters', spec, {
      'Idempotency-Key': idempotencyKey
    });
  }

  adopt(request: {
    name?: string;
    address: string;
    security?: { caFile: string; certFile: string; keyFile: string };
  }): Promise<ClusterView> {
    return this._json('POST', 'api/v1/clusters/adopt', request);
  }

  patch(id: string, patch: ClusterPatch): Promise<ClusterView> {
    return this._json('PATCH', cluster(id), patch);
  }

  stop(id: string, force: boolean): Promise<ClusterView> {
    return this._json('DELETE', cluster(id) + (force ? '?force=true' : ''));
  }

  async forget(id: string): Promise<void> {
    await this._json('POST', `${cluster(id)}/forget`, {});
  }

  resume(id: string): Promise<ClusterView> {
    return this._json('POST', `${cluster(id)}/resume`, {});
  }

  restart(id: string): Promise<ClusterView> {
    return this._json('POST', `${cluster(id)}/restart`, {});
  }

  workers(id: string): Promise<WorkerView[]> {
    return this._list(`${cluster(id)}/workers`);
  }

  jobs(id: string): Promise<JobView[]> {
    return this._list(`${cluster(id)}/jobs`);
  }

  events(
    id: string,
    query: { after: number; limit: number }
  ): Promise<Page<ClusterEvent>> {
    return this._json(
      'GET',
      `${cluster(id)}/events?after=${query.after}&limit=${query.limit}`
    );
  }

  retire(id: string, worker: string): Promise<WorkerView> {
    return this._json(
      'POST',
      `${cluster(id)}/workers/${part(worker)}/retire`,
      {}
    );
  }

  connection(id: string): Promise<ConnectionView> {
    return this._json('GET', `${cluster(id)}/connection`);
  }

  dashboards(id: string): Promise<DashboardView[]> {
    return this._list(`${cluster(id)}/dashboards`);
  }

  /** @param query.offset bytes; negative: from the end. */
  async logs(
    id: string,
    what: string,
    query: { stream: 'stdout' | 'stderr'; offset: number; limit: number }
  ): Promise<LogSlice> {
    const response = await this._fetch(
      'GET',
      `${cluster(id)}/logs/${part(what)}?stream=${query.stream}` +
        `&offset=${query.offset}&limit=${query.limit}`
    );
    if (!response.ok) {
      throw await responseError(response);
    }
    const text = await response.text();
    const next = Number(response.headers.get(NEXT_OFFSET_HEADER));
    const bytes = new TextEncoder().encode(text).length;
    return {
      text,
      nextOffset:
        response.headers.has(NEXT_OFFSET_HEADER) && Number.isFinite(next)
          ? next
          : Math.max(0, query.offset) + bytes
    };
  }

  /** The relayed address of a plot; always same-origin with JupyterLab. */
  dashboardUrl(id: string, path: string): string {
    return URLExt.join(
      this._settings.baseUrl,
      'muster/dashboards',
      part(id),
      path.replace(/^\/+/, '')
    );
  }

  private async _list<T>(path: string): Promise<T[]> {
    const items: T[] = [];
    let next: string | null = null;
    do {
      const query: string =
        next === null ? '' : `?cursor=${encodeURIComponent(next)}`;
      const page: Page<T> = await this._json('GET', path + query);
      items.push(...page.items);
      // A server that hands out the cursor it was given would make us ask for ever.
      next = page.next === next ? null : page.next;
    } while (next !== null);
    return items;
  }

  private async _json<T>(
    method: Method,
    path: string,
    body?: unknown,
    headers?: Record<string, string>
  ): Promise<T> {
    return (await this._read(
      await this._fetch(method, path, body, headers)
    )) as T;
  }

  private async _read(response: Response): Promise<unknown> {
    if (!response.ok) {
      throw await responseError(response);
    }
    const text = await response.text();
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  }

  private async _fetch(
    method: Method,
    path: string,
    body?: unknown,
    headers?: Record<string, string>
  ): Promise<Response> {
    const url = URLExt.join(this._settings.baseUrl, 'muster') + '/' + path;
    try {
      return await ServerConnection.makeRequest(
        url,
        {
          method,
          // With "no-store", ServerConnection appends the time as a parameter without a name, and
          // the bridge refuses parameters it does not know.
          cache: 'no-cache',
          ...(body === undefined
            ? {}
            : {
                body: JSON.stringify(body),
                headers: { 'Content-Type': 'application/json', ...headers }
              })
        },
        this._settings
      );
    } catch (error) {
      throw offlineError(error);
    }
  }

  private _settings: ServerConnection.ISettings;
}

export namespace BridgeClient {
  export interface IOptions {
    /** Of the application's service manager; base URL, token and fetch come from it alone. */
    serverSettings: ServerConnection.ISettings;
  }
}

const part = (text: string): string => encodeURIComponent(text);
const cluster = (id: string): string => `api/v1/clusters/${part(id)}`;
