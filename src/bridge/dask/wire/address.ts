/** Addresses of Dask: `tcp://10.0.0.1:8786`, `tls://[::1]:8786`. */
import { LinkError } from './errors.js';

export type CommAddress = {
  scheme: 'tcp' | 'tls';
  /** Without brackets. */
  host: string;
  port: number;
};

/** @throws LinkError `unsupported` for another scheme or a text that is no address. */
export function parseAddress(text: string): CommAddress {
  const match =
    /^([a-z]+):\/\/(?:\[([0-9A-Fa-f:.]+)\]|([^[\]:/?#\s]+)):(\d+)$/.exec(text);
  const scheme = match?.[1];
  const host = match?.[2] ?? match?.[3];
  const port = Number(match?.[4]);
  if (
    (scheme !== 'tcp' && scheme !== 'tls') ||
    host === undefined ||
    !(port >= 1 && port <= 65_535)
  ) {
    throw new LinkError({
      kind: 'unsupported',
      message: `"${text}" is no address of a Dask scheduler that can be spoken to`,
      hint: 'give it as tls://host:port or tcp://host:port'
    });
  }
  return { scheme, host, port };
}

/** Of this host only: 127.0.0.0/8, ::1, localhost. */
export function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host === '::1' ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
  );
}
