/**
 * The bridge's API on its listeners. One gate, one set of limits and one route table, whatever the
 * listener: the socket file now, a loopback port later.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { MusterError } from '../../protocol/index.js';
import type { ClusterService } from '../clusters/cluster-service.js';
import { API_PREFIX, buildApp } from './app.js';
import { refusal, SOCKET_HOSTS } from './auth-gate.js';
import type { GatePolicy } from './auth-gate.js';
import { addDashboardRoutes } from './dashboard-routes.js';
import { DASHBOARDS_PREFIX, DashboardRelay } from './dashboards.js';
import { EventHub } from './events.js';
import { failureOf, noSuchRoute, tooManyRequests } from './failure.js';
import { RateLimit } from './rate-limit.js';
import type { BridgeIdentity } from './route.js';
import { listenOnSocket, socketIdentity } from './unix-socket.js';
import { writeUpgradeRefusal } from './upgrade-refusal.js';

/** Connections that are not dashboards (S23). */
const CONNECTION_LIMIT = 64;
/** All connections; above, the kernel's queue is all that a newcomer gets. */
const HARD_CONNECTION_LIMIT = 256;
const REQUESTS_PER_SECOND = 100;
const REQUEST_BURST = 500;
/** Default of `socketLook`; a vanished file must be noticed within 30 s. */
const SOCKET_LOOK = 10_000;

export type ApiServerOptions = {
  service: ClusterService;
  identity: BridgeIdentity;
  /** The bearer secret of bridge.json. */
  secret: string;
  /** Called once a `shutdown` was answered. */
  onShutdown: () => void;
  logger: FastifyBaseLogger | null;
  /** Names a Host header may carry; default: those of the socket. */
  hosts?: ReadonlySet<string>;
  /** Milliseconds between looks at the socket file. */
  socketLook?: number;
};

export type ListenTarget =
  { path: string } | { host: '127.0.0.1' | '::1'; port: number };

export class ApiServer {
  static async create(options: ApiServerOptions): Promise<ApiServer> {
    const policy: GatePolicy = {
      secret: options.secret,
      hosts: options.hosts ?? SOCKET_HOSTS
    };
    const rate = new RateLimit(REQUESTS_PER_SECOND, REQUEST_BURST);
    const relay = new DashboardRelay(options.service);
    const app = await buildApp({
      service: options.service,
      identity: options.identity,
      shutdown: options.onShutdown,
      logger: options.logger,
      policy,
      rate
    });
    await addDashboardRoutes(app, relay);
    await app.ready();
    const hub = new EventHub({
      service: options.service,
      bridge: options.identity.bridge
    });
    return new ApiServer(
      app,
      hub,
      relay,
      policy,
      rate,
      options.socketLook ?? SOCKET_LOOK
    );
  }

  private constructor(
    /** For tests: `inject`, and the routes that are really there. */
    readonly app: FastifyInstance,
    private readonly hub: EventHub,
    private readonly relay: DashboardRelay,
    private readonly policy: GatePolicy,
    private readonly rate: RateLimit,
    private readonly socketLook: number
  ) {}

  /** Event streams and dashboard panes that are open: somebody is looking. */
  get clients(): number {
    return this.hub.size + this.relay.size;
  }

  /** Open connections of any kind: a call counts as a client while it lasts. */
  get connections(): number {
    return this.sockets.size;
  }

  /**
   * Listens. A socket file that disappears (logout cleans runtime folders) is made again.
   * @param onGone called when the file had vanished and was made again: the folder's other files
   *   are gone too.
   */
  async listen(
    target: ListenTarget,
    onGone: () => Promise<void> | void = () => undefined
  ): Promise<void> {
    const server = this.newServer();
    if ('path' in target) {
      await listenOnSocket(server, target.path);
      await this.watchSocket(server, target.path, onGone);
    } else {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(target.port, target.host, () => {
          server.off('error', reject);
          resolve();
        });
      });
    }
  }

  /** Stops listening, says goodbye to streams (1012), lets requests in flight end for 2 s. */
  async close(): Promise<void> {
    this.closing = true;
    for (const timer of this.looks) {
      clearInterval(timer);
    }
    const stopped = [...this.servers].map(
      server =>
        new Promise<void>(resolve => {
          server.close(() => {
            resolve();
          });
          server.closeIdleConnections();
        })
    );
    await this.hub.close();
    this.relay.close();
    const cut = setTimeout(() => {
      for (const socket of this.sockets) {
        socket.destroy();
      }
    }, 2000);
    await Promise.all(stopped);
    clearTimeout(cut);
    await this.app.close();
  }

  private newServer(): Server {
    const server = createServer(
      {
        maxHeaderSize: 32 * 1024,
        headersTimeout: 15_000,
        requestTimeout: 60_000,
        keepAliveTimeout: 65_000
      },
      (request, response) => {
        if (this.crowded()) {
          const error = tooManyRequests(
            `more than ${CONNECTION_LIMIT} connections`
          );
          const body = JSON.stringify(error.toBody());
          response
            .writeHead(error.status, {
              'content-type': 'application/json; charset=utf-8',
              connection: 'close'
            })
            .end(body);
          return;
        }
        this.app.routing(request, response);
      }
    );
    server.maxConnections = HARD_CONNECTION_LIMIT;
    server.on('connection', (socket: Socket) => {
      socket.setNoDelay(true);
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.on('upgrade', (request, socket, head) => {
      this.upgrade(request, socket, head);
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      writeUpgradeRefusal(
        socket,
        new MusterError({
          code:
            error.code === 'HPE_HEADER_OVERFLOW' ? 'too-large' : 'spec-invalid',
          message: 'this is not a request the bridge can read'
        })
      );
    });
    this.servers.add(server);
    server.once('close', () => this.servers.delete(server));
    return server;
  }

  private crowded(): boolean {
    return this.sockets.size - this.relay.size > CONNECTION_LIMIT;
  }

  /** The same gate as for requests, before anything else is looked at. */
  private upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer
  ): void {
    socket.on('error', () => socket.destroy());
    try {
      if (!this.rate.take(performance.now())) {
        throw tooManyRequests('more than 100 requests a second');
      }
      const refused = refusal(request.headers, this.policy);
      if (refused !== null) {
        throw refused;
      }
      if (this.crowded()) {
        throw tooManyRequests(`more than ${CONNECTION_LIMIT} connections`);
      }
      const url = request.url ?? '';
      if (url.split('?')[0] === `${API_PREFIX}events`) {
        this.hub.accept(request, socket, head);
      } else if (url.startsWith(DASHBOARDS_PREFIX)) {
        this.relay.upgrade(request, socket, head);
      } else {
        throw noSuchRoute('WebSocket', url);
      }
    } catch (error) {
      writeUpgradeRefusal(socket, failureOf(error));
    }
  }

  private async watchSocket(
    server: Server,
    path: string,
    onGone: () => Promise<void> | void
  ): Promise<void> {
    const mine = await socketIdentity(path);
    const timer = setInterval(() => {
      void this.look(server, path, mine, timer, onGone);
    }, this.socketLook);
    timer.unref();
    this.looks.add(timer);
  }

  private async look(
    server: Server,
    path: string,
    mine: string | null,
    timer: NodeJS.Timeout,
    onGone: () => Promise<void> | void
  ): Promise<void> {
    const found = await socketIdentity(path);
    if (this.closing || found === mine || this.remaking) {
      return;
    }
    if (found !== null) {
      return; // another bridge listens here now; the lease decides between us, not the file
    }
    this.remaking = true;
    try {
      await onGone();
      // First the old one: libuv removes the file by its name when a listener closes.
      server.close();
      const next = this.newServer();
      await listenOnSocket(next, path);
      await this.watchSocket(next, path, onGone);
      clearInterval(timer);
      this.looks.delete(timer);
    } catch (error) {
      this.app.log.warn(
        { err: error },
        'the socket file is gone and cannot be made again yet'
      );
    } finally {
      this.remaking = false;
    }
  }

  private closing = false;
  private remaking = false;
  private readonly servers = new Set<Server>();
  private readonly sockets = new Set<Socket>();
  private readonly looks = new Set<NodeJS.Timeout>();
}
