/** The quiet connect and disconnect code of a notebook, and the reading of its answer. */
import type { ConnectionView } from '../../protocol/index.js';
import { KERNEL_PROGRAM } from './kernel-program.js';

/** Seconds a kernel waits for the scheduler to answer; the user's next cell waits with it. */
const CONNECT_TIMEOUT = 15;

export type KernelTask =
  | {
      do: 'connect';
      name: string;
      connection: Pick<ConnectionView, 'address' | 'security'>;
    }
  | { do: 'disconnect' }
  /** Which scheduler does the kernel's own client lead to? Nothing is changed. */
  | { do: 'find' };

/** What the kernel says it did. */
export type KernelReport =
  /** `named`: the variable `client` leads to the cluster. */
  | { state: 'connected'; named: boolean }
  /** The user has a live client of their own under that name; it stays. */
  | { state: 'kept' }
  | { state: 'no-dask'; message: string }
  | { state: 'disconnected' }
  | {
      state: 'found';
      address: string;
      security: ConnectionView['security'];
    }
  | { state: 'none' }
  | { state: 'failed'; message: string };

/**
 * One Python expression. Program and values travel as JSON inside one string literal each and are
 * decoded in the kernel, so that no name or path can become code; the program's own names stay in
 * a dictionary of their own and not in the user's namespace.
 */
export function kernelCode(task: KernelTask): string {
  const args =
    task.do === 'connect'
      ? {
          do: 'connect',
          name: task.name,
          address: task.connection.address,
          security: task.connection.security,
          timeout: CONNECT_TIMEOUT
        }
      : { do: task.do };
  return (
    '__import__("builtins").exec(' +
    `${decoded(KERNEL_PROGRAM)}, ` +
    `{"__name__": "_muster_notebook", "user": globals(), "args": ${decoded(args)}})`
  );
}

/** Evaluated after the code; the reply carries its value. */
export const REPORT_EXPRESSIONS = {
  muster: '__import__("sys").modules["_muster_notebook"].report'
};

/** The report in `content.user_expressions` of an execute reply, or what is wrong with it. */
export function readReport(expressions: unknown): KernelReport {
  const text = reportText(expressions);
  if (text === null) {
    return { state: 'failed', message: 'The kernel gave no answer.' };
  }
  const report: unknown = JSON.parse(text);
  if (typeof report === 'object' && report !== null && 'state' in report) {
    const message =
      'message' in report && typeof report.message === 'string'
        ? report.message
        : '';
    switch (report.state) {
      case 'connected':
        return {
          state: 'connected',
          named: 'named' in report && report.named === true
        };
      case 'found':
        return foundReport(report);
      case 'kept':
      case 'disconnected':
      case 'none':
        return { state: report.state };
      case 'no-dask':
      case 'failed':
        return { state: report.state, message };
    }
  }
  return { state: 'failed', message: 'The kernel gave an unknown answer.' };
}

function foundReport(report: object): KernelReport {
  const { address, security } = report as Record<string, unknown>;
  if (typeof address !== 'string') {
    return { state: 'none' };
  }
  return {
    state: 'found',
    address,
    security:
      typeof security === 'object'
        ? (security as ConnectionView['security'])
        : null
  };
}

/** The report is hexadecimal, so that its Python representation is itself between quotes. */
function reportText(expressions: unknown): string | null {
  const shown = (
    expressions as
      | { muster?: { status?: string; data?: Record<string, unknown> } }
      | undefined
  )?.muster?.data?.['text/plain'];
  const match =
    typeof shown === 'string' ? /^'((?:[0-9a-f]{2})+)'$/.exec(shown) : null;
  if (match?.[1] === undefined) {
    return null;
  }
  const bytes = match[1].match(/../g)?.map(pair => parseInt(pair, 16)) ?? [];
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/**
 * A Python expression for a JSON value. Encoded twice: the inner text is pure ASCII without
 * control characters, and of such a text the JSON literal is a Python literal too.
 */
function decoded(value: unknown): string {
  const inner = JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
  );
  return `__import__("json").loads(${JSON.stringify(inner)})`;
}
