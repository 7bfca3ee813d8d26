/**
 * One comm: a connected socket whose peer has said hello (distributed/comm/core.py). A connected
 * socket alone proves nothing: with TLS 1.3 a refused client certificate shows only afterwards.
 */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { LinkSecurity } from '../scheduler-link.js';
import { parseAddress, type CommAddress } from './address.js';
import { LinkError } from './errors.js';
import {
  encodeFrames,
  FRAME_LIMITS,
  FrameReader,
  type FrameLimits
} from './framing.js';
import { decodeMessage, encodeMessage, isMap } from './messages.js';
import { socketFault, type CommStage } from './socket-fault.js';

export type CommOptions = {
  address: string;
  /** Null: plain tcp, by explicit choice. */
  security: LinkSecurity | null;
  connectTimeoutMs?: number;
  helloTimeoutMs?: number;
  limits?: FrameLimits;
  signal?: AbortSignal;
};

const CONNECT_TIMEOUT_MS = 10_000;
const HELLO_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 10_000;
/** Ours are small messages; a peer that reads none of them is not alive. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

/**
 * Connects and shakes hands.
 * @throws LinkError `connect`, `tls`, `handshake`, `protocol`, `deadline` or `unsupported`.
 */
export async function openComm(options: CommOptions): Promise<Comm> {
  const address = parseAddress(options.address);
  if ((address.scheme === 'tls') !== (options.security !== null)) {
    throw new LinkError({
      kind: 'unsupported',
      message:
        address.scheme === 'tls'
          ? `The scheduler at ${options.address} is encrypted, and there are no certificates for it`
          : `The scheduler at ${options.address} is not encrypted, but this cluster has certificates: it is not spoken to`
    });
  }
  if (options.signal?.aborted === true) {
    throw new LinkError({
      kind: 'closed',
      message: `The link to ${options.address} has been closed`
    });
  }
  const socket = openSocket(address, options.security);
  const comm = new Comm(socket, options);
  const abort = (): void => comm.destroy();
  options.signal?.addEventListener('abort', abort, { once: true });
  try {
    await comm.established(
      address.scheme === 'tls' ? 'secureConnect' : 'connect'
    );
  } catch (error) {
    comm.destroy();
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', abort);
  }
  return comm;
}

function openSocket(
  address: CommAddress,
  security: LinkSecurity | null
): Socket {
  const socket =
    security === null
      ? connectTcp({ host: address.host, port: address.port })
      : connectTls({
          host: address.host,
          port: address.port,
          ca: security.ca,
          cert: security.cert,
          key: security.key,
          servername: security.servername,
          minVersion: 'TLSv1.2'
        });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return socket;
}

export class Comm {
  /** Use `openComm`. */
  constructor(socket: Socket, options: CommOptions) {
    this._socket = socket;
    this._options = options;
    this._reader = new FrameReader(options.limits ?? FRAME_LIMITS);
    // From the first tick to the end: an error without a listener would end the process.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this._lastError = error;
    });
    socket.on('close', () => {
      this._end(this._fault());
    });
    socket.on('data', (chunk: Buffer) => {
      this._receive(chunk);
    });
    // A peer that has ended its half says nothing more.
    socket.on('end', () => {
      socket.destroy();
    });
  }

  /** Resolves when the peer's hello has been read. */
  async established(connectEvent: 'connect' | 'secureConnect'): Promise<void> {
    const { address } = this._options;
    const hello = this._nextMessage();
    // It may fail while the connection is still waited for.
    hello.catch(() => undefined);
    let onConnect = (): void => undefined;
    const connected = new Promise<void>(resolve => {
      onConnect = resolve;
      this._socket.once(connectEvent, onConnect);
    });
    try {
      await this._within(
        Promise.race([connected, hello]),
        this._options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
        `The scheduler at ${address} did not answer`
      );
    } finally {
      this._socket.removeListener(connectEvent, onConnect);
    }
    this._stage = 'hello';
    // Both sides send first. No compression: that always yields none. The other two keys must be
    // there, or the peer says hello and then hangs for ever.
    this.send({ compression: null, 'pickle-protocol': 5 });
    const theirs = await this._within(
      hello,
      this._options.helloTimeoutMs ?? HELLO_TIMEOUT_MS,
      `The peer at ${address} did not say hello: it is no Dask scheduler, or it hangs`
    );
    if (
      !isMap(theirs) ||
      !('pickle-protocol' in theirs) ||
      !('compression' in theirs)
    ) {
      throw new LinkError({
        kind: 'handshake',
        message: `The peer at ${address} did not say hello as a Dask scheduler does`
      });
    }
    this._stage = 'open';
  }

  get closed(): boolean {
    return this._ended !== null;
  }

  /** Messages that came before it are handed over at once. */
  onMessage(listener: (message: unknown) => void): void {
    this._onMessage = listener;
    for (const message of this._inbox.splice(0)) {
      listener(message);
    }
  }

  /** Called once, with the reason; at once when it is closed already. */
  onClose(listener: (reason: LinkError) => void): void {
    if (this._ended !== null) {
      listener(this._ended);
    } else {
      this._onClose.push(listener);
    }
  }

  /** @throws LinkError `closed`, or `protocol` for what may not be sent. */
  send(message: unknown): void {
    if (this._ended !== null) {
      throw this._ended;
    }
    this._socket.write(encodeFrames(encodeMessage(message)));
    if (this._socket.writableLength > MAX_UNSENT_BYTES) {
      this.destroy();
    }
  }

  /** Polite end of an RPC comm: nothing is waited for. */
  close(farewell: unknown = { op: 'close', reply: false }): void {
    if (this._ended !== null) {
      return;
    }
    this.send(farewell);
    this._socket.destroySoon();
    this._end(this._fault());
  }

  destroy(reason: LinkError | null = null): void {
    this._socket.destroy();
    this._end(reason ?? this._fault());
  }

  private _receive(chunk: Buffer): void {
    if (this._ended !== null) {
      return;
    }
    try {
      for (const frames of this._reader.push(chunk)) {
        const message = decodeMessage(frames);
        if (this._onMessage === null) {
          this._inbox.push(message);
        } else {
          this._onMessage(message);
        }
      }
    } catch (error) {
      if (error instanceof LinkError) {
        this.destroy(error);
      } else {
        throw error;
      }
    }
  }

  private _nextMessage(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.onClose(reject);
      this.onMessage(message => {
        // What follows the hello waits in the inbox for the next listener.
        this._onMessage = null;
        resolve(message);
      });
    });
  }

  private async _within<T>(
    promise: Promise<T>,
    timeoutMs: number,
    message: string
  ): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(
          new LinkError({
            kind: 'deadline',
            message: `${message} within ${timeoutMs / 1000} s`
          })
        );
      }, timeoutMs);
    });
    try {
      return await Promise.race([promise, deadline]);
    } finally {
      clearTimeout(timer);
    }
  }

  private _fault(): LinkError {
    return socketFault({
      stage: this._stage,
      error: this._lastError,
      address: this._options.address,
      encrypted: this._options.security !== null
    });
  }

  private _end(reason: LinkError): void {
    if (this._ended === null) {
      this._ended = reason;
      for (const listener of this._onClose.splice(0)) {
        listener(reason);
      }
    }
  }

  private readonly _socket: Socket;
  private readonly _options: CommOptions;
  private readonly _reader: FrameReader;
  private readonly _inbox: unknown[] = [];
  private readonly _onClose: ((reason: LinkError) => void)[] = [];
  private _onMessage: ((message: unknown) => void) | null = null;
  private _stage: CommStage = 'connecting';
  private _lastError: NodeJS.ErrnoException | null = null;
  private _ended: LinkError | null = null;
}
