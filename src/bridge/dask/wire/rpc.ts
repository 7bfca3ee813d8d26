/**
 * Requests and replies (distributed/core.py). One comm is strictly sequential and replies are
 * matched by order alone: after a missed deadline or a loss the comm is destroyed, never reused,
 * and no call is ever repeated by itself (H10).
 */
import type { Comm } from './comm.js';
import { LinkError } from './errors.js';
import { isMap, type PlainMap } from './messages.js';

export type Request = PlainMap & { op: string };

/** One comm that carries one request at a time. */
export class RpcComm {
  constructor(comm: Comm) {
    this.comm = comm;
    comm.onMessage(message => {
      const pending = this._pending;
      this._pending = null;
      if (pending === null) {
        comm.destroy(
          new LinkError({
            kind: 'protocol',
            message: 'The scheduler answered what was not asked'
          })
        );
      } else {
        pending.resolve(message);
      }
    });
    comm.onClose(reason => {
      this._pending?.reject(reason);
      this._pending = null;
    });
  }

  readonly comm: Comm;

  /**
   * @returns the reply; null proves nothing, an unknown op answers the same (H5).
   * @throws LinkError `remote` when the handler raised; `deadline` or `closed` when the outcome is
   *   not known.
   */
  async call(request: Request, deadlineMs: number): Promise<unknown> {
    if (this._pending !== null) {
      throw new Error('An RPC comm carries one request at a time');
    }
    let timer: NodeJS.Timeout | undefined;
    const reply = new Promise<unknown>((resolve, reject) => {
      this._pending = { resolve, reject };
    });
    try {
      this.comm.send(request);
      timer = setTimeout(() => {
        this.comm.destroy(
          new LinkError({
            kind: 'deadline',
            message: `The scheduler did not answer "${request.op}" within ${deadlineMs / 1000} s`
          })
        );
      }, deadlineMs);
      return raiseRemote(await reply);
    } catch (error) {
      // A request that could not be encoded leaves the comm fit for the next.
      this._pending = null;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private _pending: {
    resolve: (message: unknown) => void;
    reject: (reason: LinkError) => void;
  } | null = null;
}

/** The reply itself, or the exception it carries, made from its text; pickles stay closed. */
export function raiseRemote(reply: unknown): unknown {
  if (
    isMap(reply) &&
    (reply['status'] === 'uncaught-error' || reply['status'] === 'error') &&
    ('exception_text' in reply || 'exception' in reply)
  ) {
    const text = reply['exception_text'];
    const traceback = reply['traceback_text'];
    throw new LinkError({
      kind: 'remote',
      message: `The scheduler refused: ${
        typeof text === 'string' ? text : 'an exception without text'
      }`,
      ...(typeof traceback === 'string' ? { traceback } : {})
    });
  }
  return reply;
}
