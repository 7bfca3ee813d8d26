/** A refused WebSocket upgrade: an HTTP answer of the API's shape instead of the 101. */
import type { Duplex } from 'node:stream';
import { STATUS_CODES } from 'node:http';
import type { MusterError } from '../../protocol/index.js';

/** Writes the answer and ends the connection; harmless on a socket that is already gone. */
export function writeUpgradeRefusal(socket: Duplex, error: MusterError): void {
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(error.toBody());
  socket.once('error', () => socket.destroy());
  socket.end(
    [
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      'cache-control: no-store',
      'x-content-type-options: nosniff',
      'connection: close',
      '',
      body
    ].join('\r\n')
  );
  // A peer that never closes its half must not keep the socket.
  setTimeout(() => socket.destroy(), 1000).unref();
}
