/** One WebSocket of the event stream: hello, snapshot or resume, then coalesced deltas. */
import type { WebSocket } from 'ws';
import { clientMessageSchema, PROTOCOL_VERSION } from '../../protocol/index.js';
import type {
  BackendView,
  ClusterId,
  ServerMessage
} from '../../protocol/index.js';
import type {
  ClusterDelta,
  ClusterService
} from '../clusters/cluster-service.js';
import { EventOutbox, MAXIMUM_EVENTS } from './event-outbox.js';
import { RateLimit } from './rate-limit.js';

/** Frames to one client within any one second. */
export const FRAMES_PER_SECOND = 20;
/** Bytes handed to the socket and not yet taken: above, nothing more is handed over. */
export const BUFFER_LIMIT = 1024 * 1024;
/** How often a client that does not read is looked at again, ms. */
const STALL_LOOK = 100;
/** Clusters one client may watch. */
const MAXIMUM_WATCHED = 64;
const BACKENDS_DEADLINE = 2000;

export const CLOSE_POLICY = 1008;
export const CLOSE_RESTART = 1012;

export type EventClientOptions = {
  socket: WebSocket;
  service: ClusterService;
  bridge: string;
  /** Where to resume; null: from a snapshot. */
  resume: { after: number; stream: string | null } | null;
  /** A cluster's worker rows are wanted, or not any more. */
  onWatch: (id: ClusterId, on: boolean) => void;
  onClosed: () => void;
  now?: () => number;
};

export class EventClient {
  constructor(private readonly options: EventClientOptions) {
    this.now = options.now ?? (() => performance.now());
    const { socket } = options;
    this.lastPong = this.now();
    socket.on('message', (data, binary) => {
      // ws hands text over as one Buffer (binaryType 'nodebuffer').
      this.receive((data as Buffer).toString(), binary);
    });
    socket.on('pong', () => {
      this.lastPong = this.now();
    });
    socket.on('error', () => {
      socket.terminate(); // too large a frame, bad UTF-8, …: ws has already chosen the close code
    });
    socket.on('close', () => {
      this.ended();
    });
  }

  /** Says hello, then what is. Deltas that come meanwhile wait in the outbox. */
  async start(): Promise<void> {
    const { service, bridge, resume } = this.options;
    this.send({
      type: 'hello',
      protocol: PROTOCOL_VERSION,
      bridge,
      stream: service.stream,
      epoch: service.epoch,
      seq: service.seq
    });
    await this.loadBackends();
    if (resume === null || !(await this.resumed(resume))) {
      this.snapshotDue = true;
    }
    this.started = true;
    this.pump();
  }

  take(delta: ClusterDelta): void {
    if (delta.type === 'removed' && this.watched.delete(delta.id)) {
      this.options.onWatch(delta.id, false);
    }
    this.outbox.add(delta, this.watched);
    this.pump();
  }

  /** @returns false where the client has not answered for `silenceMs`; it is cut. */
  ping(silenceMs: number): boolean {
    const { socket } = this.options;
    if (this.now() - this.lastPong > silenceMs) {
      socket.terminate();
      return false;
    }
    socket.ping();
    if (socket.bufferedAmount <= BUFFER_LIMIT) {
      this.send({ type: 'ping' });
    }
    return true;
  }

  close(code: number, reason: string): void {
    this.options.socket.close(code, reason.slice(0, 100));
  }

  /** Ends without waiting for the other side. */
  terminate(): void {
    this.options.socket.terminate();
  }

  private async loadBackends(): Promise<void> {
    // A probe that hangs must not hide the clusters: they are shown, the backends follow.
    const loading = this.options.service.backends().then(
      backends => {
        this.backends = backends;
        return true;
      },
      () => true
    );
    const inTime = await Promise.race([
      loading,
      new Promise<boolean>(resolve => {
        setTimeout(resolve, BACKENDS_DEADLINE, false).unref();
      })
    ]);
    if (!inTime) {
      void loading.then(() => {
        this.snapshotDue = true;
        this.pump();
      });
    }
  }

  private async resumed(resume: {
    after: number;
    stream: string | null;
  }): Promise<boolean> {
    const { service } = this.options;
    if (
      (resume.stream !== null && resume.stream !== service.stream) ||
      resume.after > service.seq
    ) {
      return false;
    }
    const events = await service.eventsSince(resume.after, MAXIMUM_EVENTS);
    if (events.length >= MAXIMUM_EVENTS) {
      return false;
    }
    const changed = service.changedSince(resume.after);
    if (changed === null) {
      return false;
    }
    const { seq } = service;
    this.send({
      type: 'snapshot',
      seq: resume.after,
      clusters: changed.clusters,
      backends: this.backends,
      partial: true
    });
    for (const id of changed.removed) {
      this.outbox.add({ type: 'removed', seq, id }, this.watched);
    }
    for (const event of events) {
      this.outbox.add({ type: 'event', seq: event.seq, event }, this.watched);
    }
    return true;
  }

  private receive(text: string, binary: boolean): void {
    if (!this.inbound.take(this.now())) {
      this.close(CLOSE_POLICY, 'more than 50 messages a second');
      return;
    }
    if (binary) {
      this.close(CLOSE_POLICY, 'messages must be JSON text');
      return;
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.close(CLOSE_POLICY, 'the message is not JSON');
      return;
    }
    const message = clientMessageSchema.safeParse(value);
    if (!message.success) {
      const issue = message.error.issues[0];
      this.close(
        CLOSE_POLICY,
        `${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? 'not a message'}`.replace(
          /[^\x20-\x7e]/g,
          '?'
        )
      );
      return;
    }
    if (message.data.type === 'watch') {
      this.watch(message.data.id, message.data.workers);
    }
  }

  private watch(id: ClusterId, on: boolean): void {
    const { service, onWatch } = this.options;
    if (!on) {
      if (this.watched.delete(id)) {
        this.outbox.dropWorkers(id);
        onWatch(id, false);
      }
      return;
    }
    if (this.watched.size >= MAXIMUM_WATCHED && !this.watched.has(id)) {
      this.close(CLOSE_POLICY, `at most ${MAXIMUM_WATCHED} watched clusters`);
      return;
    }
    let rows;
    try {
      rows = service.workers(id);
    } catch {
      return; // gone meanwhile: `removed` has said so, or will
    }
    if (!this.watched.has(id)) {
      this.watched.add(id);
      onWatch(id, true);
    }
    this.outbox.addWorkers(id, rows, []);
    this.pump();
  }

  private pump(): void {
    const { socket } = this.options;
    if (
      !this.started ||
      this.timer !== null ||
      socket.readyState !== socket.OPEN
    ) {
      return;
    }
    while (this.snapshotDue || this.outbox.overflown || !this.outbox.empty) {
      if (socket.bufferedAmount > BUFFER_LIMIT) {
        this.later(STALL_LOOK);
        return;
      }
      const wait = this.untilNextFrame();
      if (wait > 0) {
        this.later(wait);
        return;
      }
      const message = this.nextMessage();
      if (message === null) {
        return;
      }
      this.send(message);
    }
  }

  private nextMessage(): ServerMessage | null {
    if (!this.snapshotDue && !this.outbox.overflown) {
      return this.outbox.next();
    }
    const { service } = this.options;
    const { seq } = service;
    this.snapshotDue = false;
    this.outbox.clear(seq);
    return {
      type: 'snapshot',
      seq,
      clusters: service.list(),
      backends: this.backends
    };
  }

  /** Milliseconds until one more frame keeps to the rate. */
  private untilNextFrame(): number {
    const oldest = this.sentAt[this.sentAt.length - FRAMES_PER_SECOND];
    return oldest === undefined ? 0 : Math.max(0, oldest + 1000 - this.now());
  }

  private later(delay: number): void {
    this.timer = setTimeout(
      () => {
        this.timer = null;
        this.pump();
      },
      Math.max(1, Math.ceil(delay))
    );
  }

  private send(message: ServerMessage): void {
    const { socket } = this.options;
    if (socket.readyState !== socket.OPEN) {
      return;
    }
    this.sentAt.push(this.now());
    if (this.sentAt.length > FRAMES_PER_SECOND) {
      this.sentAt.shift();
    }
    socket.send(JSON.stringify(message));
  }

  private ended(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    this.started = false;
    for (const id of this.watched) {
      this.options.onWatch(id, false);
    }
    this.watched.clear();
    this.options.onClosed();
  }

  private readonly now: () => number;
  private readonly outbox = new EventOutbox();
  private readonly watched = new Set<ClusterId>();
  private readonly inbound = new RateLimit(50, 100);
  private backends: BackendView[] = [];
  private started = false;
  private snapshotDue = false;
  private timer: NodeJS.Timeout | null = null;
  private sentAt: number[] = [];
  private lastPong: number;
}
