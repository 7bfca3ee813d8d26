/** The API's errors: one closed list (specs/api.md §1, "Errors"). */
import { z } from 'zod';

/** Code → HTTP status. */
export const ERROR_STATUS = {
  'spec-invalid': 400,
  unauthorized: 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  'too-large': 413,
  'too-many-requests': 429,
  policy: 422,
  'backend-unavailable': 503,
  'submit-rejected': 422,
  'bridge-starting': 503,
  'bridge-unavailable': 503,
  internal: 500
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export const errorCodeSchema = z.enum(
  Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]]
);

export const errorBodySchema = z.object({
  error: z.object({
    code: errorCodeSchema,
    message: z.string(),
    path: z.string().optional(),
    hint: z.string().optional(),
    details: z.record(z.string(), z.unknown()).optional()
  })
});

export type ErrorBody = z.infer<typeof errorBodySchema>;

export type MusterErrorOptions = {
  code: ErrorCode;
  /** A sentence a user can act on. */
  message: string;
  /** The field of the request it concerns, e.g. `groups[0].worker.memory`. */
  path?: string;
  /** What to write or do instead. */
  hint?: string;
  /** The foreign system's own words and numbers, kept beside ours. */
  details?: Record<string, unknown>;
  cause?: unknown;
};

/** An error of the closed list, made once, at the edge that knows. */
export class MusterError extends Error {
  constructor(options: MusterErrorOptions) {
    super(
      options.message,
      options.cause === undefined ? undefined : { cause: options.cause }
    );
    this.name = 'MusterError';
    this.code = options.code;
    this.path = options.path;
    this.hint = options.hint;
    this.details = options.details;
  }

  readonly code: ErrorCode;
  readonly path: string | undefined;
  readonly hint: string | undefined;
  readonly details: Record<string, unknown> | undefined;

  get status(): number {
    return ERROR_STATUS[this.code];
  }

  toBody(): ErrorBody {
    return {
      error: {
        code: this.code,
        message: this.message,
        ...(this.path === undefined ? {} : { path: this.path }),
        ...(this.hint === undefined ? {} : { hint: this.hint }),
        ...(this.details === undefined ? {} : { details: this.details })
      }
    };
  }
}

/** `['groups', 0, 'worker', 'memory']` → `groups[0].worker.memory`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') {
      text += `[${part}]`;
    } else {
      text += text === '' ? String(part) : `.${String(part)}`;
    }
  }
  return text;
}

const KINDS: Record<string, string> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'text',
  number: 'a number',
  boolean: 'true or false'
};

/** zod's own words in ours; messages the schemas give themselves stay as they are. */
function wordsOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.startsWith('Invalid input')
        ? `must be ${KINDS[issue.expected] ?? issue.expected}`
        : issue.message;
    case 'too_big':
      return issue.message.startsWith('Too big')
        ? `must be ${String(issue.maximum)} ${issue.origin === 'string' ? 'characters' : issue.origin === 'array' ? 'entries' : ''} or less`.replace(
            /  +/,
            ' '
          )
        : issue.message;
    case 'invalid_key':
      return issue.issues[0]?.code === 'too_big'
        ? 'the name of this field is too long'
        : (issue.issues[0]?.message ?? issue.message);
    default:
      return issue.message;
  }
}

/**
 * The first problem zod found, as `spec-invalid` naming the field; all problems are in
 * `details.problems` as `{path, message}`.
 */
export function specInvalid(error: z.ZodError): MusterError {
  const problems = error.issues.flatMap(issue => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map(key => ({
        path: formatPath([...issue.path, key]),
        message: 'is not a field of this request',
        hint: 'check the spelling, or leave it out'
      }));
    }
    const params =
      'params' in issue
        ? (issue.params as { hint?: string } | undefined)
        : undefined;
    return [
      {
        path: formatPath(issue.path),
        message: wordsOf(issue),
        hint: params?.hint
      }
    ];
  });
  const first = problems[0] ?? {
    path: '',
    message: 'is not valid',
    hint: undefined
  };
  return new MusterError({
    code: 'spec-invalid',
    message:
      first.path === '' ? first.message : `${first.path}: ${first.message}`,
    path: first.path,
    ...(first.hint === undefined ? {} : { hint: first.hint }),
    details: { problems }
  });
}
