/** Answers that are no success, and no answer at all, as `MusterError`s. */
import type { ErrorCode } from '../../protocol/index.js';
import { errorBodySchema, MusterError } from '../../protocol/index.js';

const CODE_OF_STATUS: ReadonlyMap<number, ErrorCode> = new Map([
  [400, 'spec-invalid'],
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not-found'],
  [409, 'conflict'],
  [413, 'too-large'],
  [422, 'policy'],
  [429, 'too-many-requests'],
  [502, 'bridge-unavailable'],
  [503, 'bridge-unavailable'],
  [504, 'bridge-unavailable']
]);

/**
 * Ours where the body is ours; else Jupyter's `{message, reason}` (authentication, XSRF); else the
 * status line. The server's own words are kept, a cause is never guessed (IPP #622).
 */
export async function responseError(response: Response): Promise<MusterError> {
  const text = await response.text().catch(() => '');
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // An HTML page of a proxy or the hub: the status line has to do.
  }
  const ours = errorBodySchema.safeParse(body);
  if (ours.success) {
    const { code, message, path, hint, details } = ours.data.error;
    return new MusterError({
      code,
      message,
      ...(path === undefined ? {} : { path }),
      ...(hint === undefined ? {} : { hint }),
      ...(details === undefined ? {} : { details })
    });
  }
  const theirs = body as { message?: unknown; reason?: unknown } | null;
  const said = [theirs?.message, theirs?.reason].filter(
    word => typeof word === 'string' && word !== ''
  );
  return new MusterError({
    code: CODE_OF_STATUS.get(response.status) ?? 'internal',
    message:
      said.length > 0
        ? said.join(': ')
        : `${response.status} ${response.statusText}`.trim(),
    details: { status: response.status }
  });
}

/** The Jupyter server itself gave no answer. */
export function offlineError(cause: unknown): MusterError {
  return new MusterError({
    code: 'bridge-unavailable',
    message: 'The Jupyter server does not answer.',
    details: { offline: true },
    cause
  });
}

/** Was it the network, not the bridge? */
export function isOffline(error: unknown): boolean {
  return error instanceof MusterError && error.details?.['offline'] === true;
}
