/** What a socket's failure means to a person (specs/dask-wire-protocol.md §5, the table of faults). */
import { LinkError } from './errors.js';

const TLS_FAULTS: Record<string, string> = {
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    'it asks for a client certificate and got none',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA:
    'it does not trust the authority of our client certificate',
  ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR: 'it could not verify our signature',
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: 'it refused our client certificate',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: 'our client certificate has expired',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it speaks plain tcp, not tls',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another cluster',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is of another authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is of another authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is of another authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is of another authority',
  CERT_SIGNATURE_FAILURE: 'its certificate is of another authority',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID:
    'its certificate is not valid yet: are the clocks of both hosts right?'
};

const CONNECT_FAULTS: Record<string, string> = {
  ECONNREFUSED: 'nobody listens there',
  ETIMEDOUT: 'it did not answer',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be looked up'
};

/** Where the comm was when it failed. */
export type CommStage = 'connecting' | 'hello' | 'open';

export type SocketFault = {
  stage: CommStage;
  /** The last error of the socket; null when it was just closed. */
  error: NodeJS.ErrnoException | null;
  address: string;
  encrypted: boolean;
};

/** The error of a comm that ended by its socket. Before the hello the last TLS error is the message. */
export function socketFault(fault: SocketFault): LinkError {
  const code = fault.error?.code;
  const tls =
    code !== undefined && (code in TLS_FAULTS || code.startsWith('ERR_SSL_'))
      ? (TLS_FAULTS[code] ?? 'encryption failed')
      : null;
  if (tls !== null) {
    return new LinkError({
      kind: 'tls',
      message: `The scheduler at ${fault.address} cannot be spoken to: ${tls}`,
      hint: 'check the scheme, the CA and the client certificate',
      systemCode: code,
      cause: fault.error
    });
  }
  const raw = { systemCode: code, cause: fault.error ?? undefined };
  switch (fault.stage) {
    case 'connecting': {
      const why =
        (code === undefined ? undefined : CONNECT_FAULTS[code]) ??
        (fault.error === null ? 'it hung up' : fault.error.message);
      return new LinkError({
        kind: 'connect',
        message: `The scheduler at ${fault.address} cannot be reached: ${why}`,
        ...raw
      });
    }
    case 'hello':
      return new LinkError({
        kind: 'handshake',
        message: `The peer at ${fault.address} hung up before it said hello`,
        hint: fault.encrypted
          ? 'check the scheme, the CA and the client certificate'
          : 'check the scheme: a tls port hangs up on plain tcp',
        ...raw
      });
    case 'open':
      return new LinkError({
        kind: 'closed',
        message: `The connection to the scheduler at ${fault.address} was lost${
          code === undefined ? '' : ` (${code})`
        }`,
        ...raw
      });
  }
}
