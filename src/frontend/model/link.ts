/** From the Jupyter half's answer to the state the panel shows. Pure. */
import { PROTOCOL_VERSION } from '../../protocol/index.js';
import type { Link } from '../tokens.js';
import type { HalfView } from './bridge-client.js';

/**
 * @param half what `GET muster/api/half` answered; null: 404.
 * @returns null where the bridge runs and the event stream can be opened.
 */
export function linkOfHalf(half: HalfView | null): Link | null {
  if (half === null) {
    return { state: 'half-missing' };
  }
  if (half.protocol !== PROTOCOL_VERSION) {
    return {
      state: 'version-mismatch',
      panel: PROTOCOL_VERSION,
      server: half.protocol
    };
  }
  const { state, seconds, log, error } = half.bridge;
  switch (state) {
    case 'running':
      return null;
    case 'absent':
      return { state: 'starting', seconds: 0, log };
    case 'starting':
      return { state: 'starting', seconds, log };
    case 'failed':
      return failure(error ?? null, log);
    default:
      return { state: 'starting', seconds: 0, log: unknownState(state) };
  }
}

/**
 * Why there is no bridge, as the Jupyter half says it: `details` as in its errors.py (`kind`,
 * `tried`, `log`).
 */
export function failure(
  error: {
    message: string;
    hint?: string | undefined;
    details?: unknown;
  } | null,
  log: string
): Link {
  const message = error?.message ?? '';
  const hint = error?.hint ?? null;
  const { kind, tried, log: told } = detailsOf(error?.details);
  return kind === 'node-missing'
    ? { state: 'node-missing', message, hint, tried }
    : {
        state: 'failed',
        kind: kind === 'older-bridge' || kind === 'newer-bridge' ? kind : null,
        message,
        hint,
        log: log === '' ? told : log
      };
}

function unknownState(state: never): string {
  return String(state);
}

function detailsOf(details: unknown): {
  kind: string;
  tried: string[];
  log: string;
} {
  const { kind, tried, log } = (details ?? {}) as Record<string, unknown>;
  return {
    kind: typeof kind === 'string' ? kind : '',
    tried: Array.isArray(tried) ? tried.map(String) : [],
    log: typeof log === 'string' ? log : ''
  };
}
