/** Does a bridge answer on this host's socket? Says hello with the secret of its record. */
import http from 'node:http';
import path from 'node:path';
import { MusterError } from '../protocol/index.js';
import { socketPathFits } from './security/private-files.js';
import { readBridgeRecord } from './security/secret.js';

const DEADLINE_MS = 2_000;

/**
 * The socket of a runtime folder. Node cuts a path that is too long silently, so it is refused; the
 * half that starts the bridge chooses a folder short enough.
 */
export function socketOf(runtimeFolder: string): string {
  const socket = path.join(runtimeFolder, 'bridge.sock');
  if (!socketPathFits(socket)) {
    throw new MusterError({
      code: 'bridge-unavailable',
      message: `the path of the socket is too long: ${socket}`,
      hint: 'set MUSTER_RUNTIME_DIR to a short path on a local disk'
    });
  }
  return socket;
}

/** The answer of `GET api/v1/health`, or null where nobody answers as a bridge within 2 s. */
export async function askHealth(
  runtimeFolder: string
): Promise<Record<string, unknown> | null> {
  const record = readBridgeRecord(runtimeFolder);
  if (record === null) {
    return null;
  }
  const { secret } = record;
  return new Promise(resolve => {
    const request = http.get(
      {
        socketPath: socketOf(runtimeFolder),
        path: '/api/v1/health',
        headers: { host: 'localhost', authorization: `Bearer ${secret}` },
        agent: false,
        signal: AbortSignal.timeout(DEADLINE_MS)
      },
      response => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('error', () => {
          resolve(null);
        });
        response.on('end', () => {
          resolve(parseHealth(text));
        });
      }
    );
    request.on('error', () => {
      resolve(null);
    });
  });
}

function parseHealth(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'protocol' in value
      ? value
      : null;
  } catch {
    return null;
  }
}
