/** From whatever was thrown to an error of the closed list. Nothing of a stack leaves the bridge. */
import { z } from 'zod';
import { MusterError, specInvalid } from '../../protocol/index.js';

type FrameworkError = { code?: unknown; statusCode?: unknown };

/** A thrown value as one of the API's errors; the unforeseen becomes `internal`. */
export function failureOf(thrown: unknown): MusterError {
  if (thrown instanceof MusterError) {
    return thrown;
  }
  if (thrown instanceof z.ZodError) {
    return specInvalid(thrown);
  }
  const { code, statusCode } = (thrown ?? {}) as FrameworkError;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new MusterError({
        code: 'too-large',
        message: 'the body is larger than 1 MiB'
      });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new MusterError({
        code: 'spec-invalid',
        message: 'the body must be JSON',
        hint: 'Content-Type: application/json'
      });
    case 'FST_ERR_BAD_URL':
      return new MusterError({
        code: 'spec-invalid',
        message: 'the path of this request is not valid'
      });
    default:
  }
  if (statusCode === 413) {
    return new MusterError({
      code: 'too-large',
      message: 'the request is too large'
    });
  }
  if (
    typeof statusCode === 'number' &&
    statusCode >= 400 &&
    statusCode < 500 &&
    typeof code === 'string' &&
    code.startsWith('FST_')
  ) {
    return new MusterError({
      code: 'spec-invalid',
      message: 'the request could not be read'
    });
  }
  return new MusterError({
    code: 'internal',
    message: 'something went wrong in the bridge; its log says what',
    cause: thrown
  });
}

export function tooManyRequests(message: string): MusterError {
  return new MusterError({
    code: 'too-many-requests',
    message,
    hint: 'wait a second, then try again'
  });
}

export function noSuchRoute(method: string, url: string): MusterError {
  const path = (url.split('?')[0] ?? '').slice(0, 200);
  return new MusterError({
    code: 'not-found',
    message: `${method} ${path} is not a route of this API`,
    hint: 'GET /api/v1/openapi.json lists them'
  });
}
