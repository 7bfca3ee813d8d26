/** The API as the command uses it: over the socket, or over a URL with a token. */
import { request as httpRequest } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import {
  errorBodySchema,
  MusterError,
  NEXT_OFFSET_HEADER
} from '../../protocol/index.js';
import type { Page } from '../../protocol/index.js';

export type Target =
  | { type: 'socket'; path: string; secret: string }
  | { type: 'url'; url: URL; token: string };

/** Milliseconds a bridge may take to read its records before a request is given up. */
const STARTING_PATIENCE = 60_000;
/** Items of one page: the most the API gives. */
const PAGE = 10_000;
/** Milliseconds without a byte. */
const SILENCE = 120_000;

export class ApiClient {
  constructor(
    private readonly target: Target,
    private readonly options: { onWaiting?: () => void } = {}
  ) {}

  /** True where the bridge runs on this host, under this user. */
  get local(): boolean {
    return this.target.type === 'socket';
  }

  async get<T>(path: string): Promise<T> {
    return (await this.send('GET', path)) as T;
  }

  async post<T>(
    path: string,
    body: unknown = {},
    headers: Record<string, string> = {}
  ): Promise<T> {
    return (await this.send('POST', path, body, headers)) as T;
  }

  async patch<T>(path: string, body: unknown): Promise<T> {
    return (await this.send('PATCH', path, body)) as T;
  }

  async delete<T>(path: string): Promise<T> {
    return (await this.send('DELETE', path)) as T;
  }

  /** All pages of a list. */
  async all<T>(path: string): Promise<T[]> {
    const items: T[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<T> = await this.get(
        `${path}?limit=${PAGE}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
      );
      items.push(...page.items);
      cursor = page.next;
    } while (cursor !== null);
    return items;
  }

  async text(path: string): Promise<{ text: string; nextOffset: number }> {
    const answer = await this.patient('GET', path);
    return {
      text: answer.body,
      nextOffset: Number(answer.headers[NEXT_OFFSET_HEADER] ?? 0)
    };
  }

  private async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {}
  ): Promise<unknown> {
    const answer = await this.patient(method, path, body, headers);
    return answer.body === '' ? null : parsed(answer.body);
  }

  /** A bridge that is reading its records is waited for. */
  private async patient(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {}
  ): Promise<Answer> {
    const until = performance.now() + STARTING_PATIENCE;
    for (;;) {
      const answer = await this.once(method, path, body, headers);
      if (answer.status < 400) {
        return answer;
      }
      const error = errorOf(answer);
      const again =
        error.code === 'bridge-starting' || error.code === 'too-many-requests';
      if (!again || performance.now() > until) {
        throw error;
      }
      this.options.onWaiting?.();
      await new Promise(resolve => setTimeout(resolve, 300));
    }
  }

  private async once(
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string>
  ): Promise<Answer> {
    const payload = body === undefined ? null : JSON.stringify(body);
    const { send, options } = await this.connection(path);
    return new Promise((resolve, reject) => {
      const request = send(
        {
          ...options,
          method,
          agent: false,
          headers: {
            ...options.headers,
            ...headers,
            ...(payload === null
              ? {}
              : {
                  'content-type': 'application/json',
                  'content-length': Buffer.byteLength(payload)
                })
          }
        },
        response => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (part: string) => (text += part));
          response.on('error', error => {
            reject(unreachable(error));
          });
          response.on('end', () => {
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: text
            });
          });
        }
      );
      request.setTimeout(SILENCE, () => {
        request.destroy(new Error('no answer within 120 s'));
      });
      request.on('error', error => {
        reject(unreachable(error));
      });
      request.end(payload ?? undefined);
    });
  }

  private async connection(path: string): Promise<{
    send: typeof httpRequest;
    options: Omit<RequestOptions, 'headers'> & {
      headers: Record<string, string>;
    };
  }> {
    const { target } = this;
    const below = `/api/v1/${path}`;
    if (target.type === 'socket') {
      return {
        send: httpRequest,
        options: {
          socketPath: target.path,
          path: below,
          headers: {
            host: 'localhost',
            authorization: `Bearer ${target.secret}`
          }
        }
      };
    }
    const { url } = target;
    const secure = url.protocol === 'https:';
    return {
      send: secure ? (await import('node:https')).request : httpRequest,
      options: {
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port === '' ? (secure ? 443 : 80) : url.port,
        path: `${url.pathname.replace(/\/+$/, '')}${below}`,
        headers: { authorization: `Bearer ${target.token}` }
      }
    };
  }
}

type Answer = {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MusterError({
      code: 'bridge-unavailable',
      message: 'what answers there is not a Muster bridge'
    });
  }
}

function errorOf(answer: Answer): MusterError {
  let body: unknown = null;
  try {
    body = JSON.parse(answer.body);
  } catch {
    // Something between us and the bridge has answered; said below.
  }
  const error = errorBodySchema.safeParse(body);
  if (error.success) {
    const { code, message, path, hint, details } = error.data.error;
    return new MusterError({
      code,
      message,
      ...(path === undefined ? {} : { path }),
      ...(hint === undefined ? {} : { hint }),
      ...(details === undefined ? {} : { details })
    });
  }
  const message = (body as { message?: unknown } | null)?.message;
  return new MusterError({
    code:
      answer.status === 401
        ? 'unauthorized'
        : answer.status === 403
          ? 'forbidden'
          : answer.status === 404
            ? 'not-found'
            : 'bridge-unavailable',
    message: `HTTP ${answer.status}${typeof message === 'string' ? `: ${message}` : ''}`
  });
}

function unreachable(error: Error): MusterError {
  return new MusterError({
    code: 'bridge-unavailable',
    message: `the bridge cannot be reached: ${error.message}`,
    cause: error
  });
}
