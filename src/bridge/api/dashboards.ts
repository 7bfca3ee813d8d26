/**
 * The relay of `/dashboards/{cluster}/…` to that cluster's dashboard and to nothing else: HTTP and
 * WebSocket, streamed, without credentials.
 *
 * Confinement: a relay that lets `/dashboards/{id}/~<ticket>/…` through without its own cookies
 * says so with the header `X-Muster-Tickets: yes`. It is then sent on to a ticketed path, whose
 * pages get an opaque origin (`Content-Security-Policy: sandbox`): the plots work there, Jupyter is
 * out of their reach. Without that header pages keep the relay's origin, confined by
 * `connect-src 'self'`.
 */
import { request as httpRequest } from 'node:http';
import type {
  ClientRequest,
  IncomingMessage,
  RequestOptions,
  ServerResponse
} from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { MusterError } from '../../protocol/index.js';
import type { ClusterId } from '../../protocol/index.js';
import type {
  ClusterService,
  DashboardTarget
} from '../clusters/cluster-service.js';
import {
  policyHeaders,
  relativeLocation,
  relativePath,
  requestHeaders,
  responseHeaders,
  upgradeHeaders,
  upgradeResponseHeaders
} from './dashboard-headers.js';
import type { Confinement } from './dashboard-headers.js';
import { DashboardTickets } from './dashboard-tickets.js';
import { writeUpgradeRefusal } from './upgrade-refusal.js';
import { startingError } from './routes.js';

export const DASHBOARDS_PREFIX = '/dashboards/';
/** Request header by which a relay says that it serves ticketed paths without cookies. */
export const TICKETS_HEADER = 'x-muster-tickets';
/** Milliseconds until a dashboard must have begun to answer. */
const ANSWER_DEADLINE = 30_000;

type Place = {
  cluster: ClusterId;
  target: DashboardTarget;
  authority: string;
  /** The dashboard's own path, beginning with `/`. */
  path: string;
  /** With its `?`, or empty. */
  query: string;
  confinement: Confinement;
  /** null: not below a ticket. */
  ticket: string | null;
  /** The address ended with the cluster: relative links would miss it. */
  bare: boolean;
};

export class DashboardRelay {
  constructor(
    private readonly service: ClusterService,
    private readonly tickets = new DashboardTickets()
  ) {}

  /** Upgraded connections that are open. */
  get size(): number {
    return this.open.size;
  }

  /** @throws MusterError while nothing was sent; afterwards failures end the connection. */
  async relay(
    request: IncomingMessage,
    response: ServerResponse
  ): Promise<void> {
    const place = this.find(request.url ?? '');
    refuseServiceWorker(request);
    if (place.bare) {
      redirect(response, `${lastSegment(request.url ?? '')}/${place.query}`);
      return;
    }
    if (place.confinement === 'sandboxed') {
      readingOnly(request);
    } else if (
      request.headers[TICKETS_HEADER] !== undefined &&
      request.method === 'GET'
    ) {
      const ticket = this.tickets.issue(place.cluster);
      redirect(
        response,
        `${relativePath(place.path, `/~${ticket}${place.path}`)}${place.query}`
      );
      return;
    }
    const upstream = httpRequest({
      ...dial(place),
      method: request.method ?? 'GET',
      headers: requestHeaders(request.headers, place.authority)
    });
    response.once('close', () => upstream.destroy());
    pipeline(request, upstream, () => {
      // Whichever side broke: `answerOf` hears of the dashboard's, `close` above of the browser's.
    });
    const answer = await answerOf(upstream, place);
    this.answer(answer, response, place);
  }

  /** Dials the dashboard first: a failed dial is an HTTP error, not a stream that closes at once. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const place = this.find(request.url ?? '');
    const upstream = httpRequest({
      ...dial(place),
      headers: upgradeHeaders(request.headers, place.authority)
    });
    const fail = (error: MusterError) => {
      upstream.destroy();
      writeUpgradeRefusal(socket, error);
    };
    const abandoned = () => upstream.destroy();
    socket.once('close', abandoned);
    upstream.setTimeout(ANSWER_DEADLINE, () => {
      fail(unreachable(place, 'no answer within 30 s'));
    });
    upstream.once('error', error => {
      fail(unreachable(place, error.message));
    });
    upstream.once('response', answer => {
      answer.resume();
      fail(
        answer.statusCode === 404
          ? noSuchPage()
          : unreachable(place, `it answered ${answer.statusCode ?? 'nothing'}`)
      );
    });
    upstream.once('upgrade', (answer, other, otherHead) => {
      socket.off('close', abandoned);
      other.setTimeout(0);
      const lines = Object.entries(upgradeResponseHeaders(answer.headers)).map(
        ([name, value]) => `${name}: ${value}\r\n`
      );
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
      this.join({
        browser: socket,
        head,
        dashboard: other,
        dashboardHead: otherHead,
        ticket: place.ticket
      });
    });
    upstream.end();
  }

  close(): void {
    for (const socket of this.open) {
      socket.destroy();
    }
  }

  private join(ends: {
    browser: Duplex;
    head: Buffer;
    dashboard: Duplex;
    dashboardHead: Buffer;
    ticket: string | null;
  }): void {
    const { browser, head, dashboard, dashboardHead, ticket } = ends;
    let release = ticket === null ? null : this.tickets.hold(ticket);
    this.open.add(browser);
    if (head.length > 0) {
      dashboard.write(head);
    }
    if (dashboardHead.length > 0) {
      browser.write(dashboardHead);
    }
    const ended = () => {
      this.open.delete(browser);
      release?.();
      release = null;
      browser.destroy();
      dashboard.destroy();
    };
    pipeline(browser, dashboard, ended);
    pipeline(dashboard, browser, ended);
  }

  private answer(
    answer: IncomingMessage,
    response: ServerResponse,
    place: Place
  ): void {
    const headers = responseHeaders(answer.headers, place.confinement);
    const { location } = answer.headers;
    if (location !== undefined) {
      const relative = relativeLocation(location, place.path, place.authority);
      if (relative === null) {
        answer.destroy();
        throw new MusterError({
          code: 'forbidden',
          message:
            'the dashboard redirects to another host; that is not followed'
        });
      }
      headers['location'] = relative;
      headers['cache-control'] = 'no-store';
    }
    response.writeHead(passing(answer.statusCode ?? 502), headers);
    response.flushHeaders();
    pipeline(answer, response, () => {
      // Broken half-way: the browser sees a cut answer, as it would without us.
    });
  }

  /** @throws MusterError for an unknown cluster, one without a dashboard, or a dead ticket. */
  private find(url: string): Place {
    if (!this.service.ready) {
      throw startingError();
    }
    const match = /^\/dashboards\/([^/?#]{1,64})(\/[^?#]*)?(\?[^#]*)?$/.exec(
      url
    );
    const ref = decoded(match?.[1] ?? '');
    const rest = match?.[2];
    if (match === null || ref === null || hasDots(rest ?? '')) {
      throw noSuchPage();
    }
    const cluster = this.service.get(ref).id;
    const ticketed = /^\/~([0-9a-z]{1,64})(\/.*)$/.exec(rest ?? '');
    if (ticketed !== null && !this.tickets.admits(ticketed[1] ?? '', cluster)) {
      throw new MusterError({
        code: 'unauthorized',
        message: 'this view of the dashboard has expired',
        hint: 'close the pane and open it again'
      });
    }
    const target = this.service.dashboardTarget(ref);
    if (target === null) {
      throw new MusterError({
        code: 'backend-unavailable',
        message: 'this cluster has no dashboard at the moment'
      });
    }
    return {
      cluster,
      target,
      authority: `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`,
      path: ticketed?.[2] ?? rest ?? '/',
      query: match[3] ?? '',
      confinement: ticketed === null ? 'confined' : 'sandboxed',
      ticket: ticketed?.[1] ?? null,
      bare: rest === undefined
    };
  }

  private readonly open = new Set<Duplex>();
}

function dial(place: Place): RequestOptions {
  return {
    host: place.target.host,
    port: place.target.port,
    path: `${place.path}${place.query}`,
    agent: false,
    // No name in a redirect or header of the dashboard ever changes where we connect to.
    setHost: false
  };
}

function answerOf(
  upstream: ClientRequest,
  place: Place
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      upstream.destroy(new Error('no answer within 30 s'));
    }, ANSWER_DEADLINE);
    upstream.once('response', answer => {
      clearTimeout(late);
      resolve(answer);
    });
    upstream.once('error', error => {
      clearTimeout(late);
      reject(unreachable(place, error.message));
    });
    upstream.once('close', () => {
      clearTimeout(late);
      reject(unreachable(place, 'it closed the connection'));
    });
  });
}

/** A ticket passes: no browser shall remember for ever where a redirect below it led. */
function passing(status: number): number {
  return status === 301 ? 302 : status === 308 ? 307 : status;
}

function redirect(response: ServerResponse, location: string): void {
  response
    .writeHead(307, {
      location,
      'cache-control': 'no-store',
      ...policyHeaders('confined')
    })
    .end();
}

/** A worker script registered on Jupyter's origin would outlive the pane and see its requests. */
function refuseServiceWorker(request: IncomingMessage): void {
  if (
    request.headers['service-worker'] !== undefined ||
    request.headers['sec-fetch-dest'] === 'serviceworker'
  ) {
    throw new MusterError({
      code: 'forbidden',
      message: 'dashboards may not install service workers'
    });
  }
}

function readingOnly(request: IncomingMessage): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new MusterError({
      code: 'forbidden',
      message: 'a ticket lets one look at a dashboard, not change anything'
    });
  }
}

function unreachable(place: Place, why: string): MusterError {
  return new MusterError({
    code: 'backend-unavailable',
    message: 'the dashboard of this cluster does not answer',
    details: { tried: place.authority, why }
  });
}

function noSuchPage(): MusterError {
  return new MusterError({
    code: 'not-found',
    message: 'there is no such page of this dashboard'
  });
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function hasDots(path: string): boolean {
  return (
    path.includes('\\') ||
    path
      .replace(/%2e/gi, '.')
      .replace(/%2f|%5c/gi, '/')
      .split('/')
      .some(part => part === '..' || part === '.')
  );
}

function lastSegment(url: string): string {
  return (url.split('?')[0] ?? '').split('/').at(-1) ?? '';
}
