/** What can go wrong on the line to a scheduler, as one closed list of kinds. */
import { MusterError, type ErrorCode } from '../../../protocol/index.js';

/**
 * - `connect`: nobody listens, or no route
 * - `tls`: encryption was refused by one side
 * - `handshake`: connected, but no Dask hello came
 * - `deadline`: ours passed; the comm is destroyed and nothing is known of the outcome
 * - `closed`: the peer or the network ended the comm; nothing is known of the outcome
 * - `protocol`: bytes that are no message of Dask
 * - `remote`: the scheduler's handler raised; it has the exception's text
 * - `unsupported`: a version, address or byte order we do not speak
 * - `other-scheduler`: somebody else's scheduler answers at this address
 */
export type LinkErrorKind =
  | 'connect'
  | 'tls'
  | 'handshake'
  | 'deadline'
  | 'closed'
  | 'protocol'
  | 'remote'
  | 'unsupported'
  | 'other-scheduler';

export type LinkErrorOptions = {
  kind: LinkErrorKind;
  message: string;
  /** Node's or OpenSSL's code, e.g. `ECONNREFUSED`. */
  systemCode?: string | undefined;
  hint?: string | undefined;
  /** The remote traceback: for diagnostics, it names files of the scheduler's environment. */
  traceback?: string | undefined;
  cause?: unknown;
};

const CODES: Record<LinkErrorKind, ErrorCode> = {
  connect: 'backend-unavailable',
  tls: 'backend-unavailable',
  handshake: 'backend-unavailable',
  deadline: 'backend-unavailable',
  closed: 'backend-unavailable',
  protocol: 'backend-unavailable',
  remote: 'internal',
  unsupported: 'policy',
  'other-scheduler': 'conflict'
};

export class LinkError extends MusterError {
  constructor(options: LinkErrorOptions) {
    super({
      code: CODES[options.kind],
      message: options.message,
      ...(options.hint === undefined ? {} : { hint: options.hint }),
      details: {
        kind: options.kind,
        ...(options.systemCode === undefined
          ? {}
          : { systemCode: options.systemCode }),
        ...(options.traceback === undefined
          ? {}
          : { traceback: options.traceback })
      },
      ...(options.cause === undefined ? {} : { cause: options.cause })
    });
    this.name = 'LinkError';
    this.kind = options.kind;
    this.systemCode = options.systemCode ?? null;
  }

  readonly kind: LinkErrorKind;
  readonly systemCode: string | null;

  /** After these nothing is known of what the scheduler did with the request (H10). */
  get outcomeUnknown(): boolean {
    return (
      this.kind === 'deadline' ||
      this.kind === 'closed' ||
      this.kind === 'protocol'
    );
  }
}
