/** The WebSocket hub of `api/v1/events`: one subscription below, many clients above. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { MusterError } from '../../protocol/index.js';
import type { ClusterId } from '../../protocol/index.js';
import type { ClusterService } from '../clusters/cluster-service.js';
import { CLOSE_RESTART, EventClient } from './event-client.js';
import { startingError } from './routes.js';

/** Bytes of one frame a client may send (S23). */
export const FRAME_LIMIT = 256 * 1024;
/** Milliseconds: proxies cut a silent connection after 60 s. */
export const PING_EVERY = 20_000;
/** Milliseconds without a pong after which a client is taken for gone. */
const SILENCE = 65_000;

export class EventHub {
  constructor(
    private readonly options: {
      service: ClusterService;
      bridge: string;
      pingEvery?: number;
    }
  ) {
    this.unsubscribe = options.service.onDelta(delta => {
      for (const client of this.clients) {
        client.take(delta);
      }
    });
    this.pinger = setInterval(() => {
      for (const client of this.clients) {
        client.ping(SILENCE);
      }
    }, options.pingEvery ?? PING_EVERY);
    this.pinger.unref();
  }

  /** Open streams: as long as there is one, somebody is looking. */
  get size(): number {
    return this.clients.size;
  }

  /**
   * Takes over an authenticated upgrade.
   * @throws MusterError before anything was written to the socket.
   */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.options.service.ready) {
      throw startingError();
    }
    const resume = resumeOf(request.url ?? '');
    this.server.handleUpgrade(request, socket, head, webSocket => {
      const client: EventClient = new EventClient({
        socket: webSocket,
        service: this.options.service,
        bridge: this.options.bridge,
        resume,
        onWatch: (id, on) => {
          this.watch(id, on);
        },
        onClosed: () => {
          this.clients.delete(client);
        }
      });
      this.clients.add(client);
      client.start().catch(() => {
        client.close(1011, 'the bridge could not read its records');
      });
    });
  }

  /** Tells every client that the bridge goes; what does not answer within 500 ms is cut. */
  async close(): Promise<void> {
    this.unsubscribe();
    clearInterval(this.pinger);
    for (const client of this.clients) {
      client.close(CLOSE_RESTART, 'the bridge is restarting');
    }
    const until = performance.now() + 500;
    while (this.clients.size > 0 && performance.now() < until) {
      await new Promise(resolve => setTimeout(resolve, 10));
    }
    for (const client of this.clients) {
      client.terminate();
    }
    this.server.close();
  }

  private watch(id: ClusterId, on: boolean): void {
    const before = this.watchers.get(id) ?? 0;
    const after = before + (on ? 1 : -1);
    if (after <= 0) {
      this.watchers.delete(id);
    } else {
      this.watchers.set(id, after);
    }
    if ((before === 0) !== after <= 0) {
      try {
        this.options.service.watchWorkers(id, on);
      } catch {
        // The cluster is gone; so is whatever observed it.
      }
    }
  }

  private readonly clients = new Set<EventClient>();
  private readonly watchers = new Map<ClusterId, number>();
  private readonly server = new WebSocketServer({
    noServer: true,
    maxPayload: FRAME_LIMIT,
    perMessageDeflate: false,
    clientTracking: false
  });
  private readonly unsubscribe: () => void;
  private readonly pinger: NodeJS.Timeout;
}

function resumeOf(
  url: string
): { after: number; stream: string | null } | null {
  const query = new URL(url, 'http://bridge').searchParams;
  const after = query.get('after');
  if (after === null) {
    return null;
  }
  if (!/^\d{1,16}$/.test(after)) {
    throw new MusterError({
      code: 'spec-invalid',
      message: 'after: must be a whole number',
      path: 'after'
    });
  }
  return { after: Number(after), stream: query.get('stream') };
}
