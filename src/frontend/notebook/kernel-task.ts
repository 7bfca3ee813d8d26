/** Runs our code in a kernel without a trace in its history or counters. */
import type { Kernel } from '@jupyterlab/services';
import { kernelCode, readReport, REPORT_EXPRESSIONS } from './kernel-code.js';
import type { KernelReport, KernelTask } from './kernel-code.js';

/**
 * A cell that fails makes the kernel drop what is queued behind it, ours too (`aborted`). More
 * failing runs than this in a row, and the user is told instead.
 */
const MAXIMUM_ATTEMPTS = 10;

/**
 * The request is made before this returns, so that a caller who calls in time is first in line. A
 * busy kernel simply takes it later.
 * @returns null where the kernel went away or was restarted before it answered.
 */
export async function runInKernel(
  kernel: Kernel.IKernelConnection,
  task: KernelTask
): Promise<KernelReport | null> {
  const code = kernelCode(task);
  for (let attempt = 1; attempt <= MAXIMUM_ATTEMPTS; attempt += 1) {
    let reply;
    try {
      const future = kernel.requestExecute(
        {
          code,
          silent: true,
          store_history: false,
          allow_stdin: false,
          stop_on_error: false,
          user_expressions: REPORT_EXPRESSIONS
        },
        true
      );
      reply = await future.done;
    } catch {
      // The future was cancelled with the kernel's old life, or the kernel is dead; whoever
      // watches the kernel hears of the new one.
      return null;
    }
    const { content } = reply;
    switch (content.status) {
      case 'ok':
        return readReport(content.user_expressions);
      case 'error':
        return {
          state: 'failed',
          message: `${content.ename}: ${content.evalue}`
        };
      default:
        continue;
    }
  }
  return {
    state: 'failed',
    message: 'The kernel dropped the request again and again.'
  };
}
