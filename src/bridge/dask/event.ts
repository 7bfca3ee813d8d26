/**
 * Events of the scheduler's topics (§2.3), read one field at a time: what is known by its `action`
 * is taken, the rest (`gather`, `run-function` with its pickled function, …) is dropped unread.
 */
import { isMap } from './wire/messages.js';

export type SchedulerEvent =
  | { type: 'add-worker'; address: string }
  | { type: 'remove-worker'; address: string; removal: Removal }
  | { type: 'status'; address: string; status: string; reason: string | null }
  | { type: 'add-client' | 'remove-client'; client: string };

/** How a worker left, as its `remove-worker` event tells; nothing else is proof (H17). */
export type Removal = {
  /** The scheduler was told beforehand. */
  expected: boolean;
  /** Results that were only there: computed ones are computed again, scattered ones are gone. */
  lostResults: number;
  /** Tasks that were assigned to it; they start again elsewhere, suspicious unless expected. */
  interruptedTasks: number;
};

/** It left politely and nothing was lost. */
export function isClean(removal: Removal): boolean {
  return removal.expected && removal.lostResults === 0;
}

/** Results lost, and tasks that died with it: those of an expected removal just move. */
export function lostTasksOf(removal: Removal): number {
  return (
    removal.lostResults + (removal.expected ? 0 : removal.interruptedTasks)
  );
}

/** Null for everything that is not ours to know. */
export function readEvent(
  topic: string,
  message: unknown
): SchedulerEvent | null {
  if (!isMap(message)) {
    return null;
  }
  const text = (key: string): string | null =>
    typeof message[key] === 'string' ? message[key] : null;
  const action = text('action');
  if (topic === 'all') {
    const worker = text('worker');
    const client = text('client');
    if (action === 'add-worker' && worker !== null) {
      return { type: 'add-worker', address: worker };
    }
    if (action === 'remove-worker' && worker !== null) {
      return {
        type: 'remove-worker',
        address: worker,
        removal: {
          expected: message['expected'] === true,
          lostResults:
            sizeOf(message['lost-computed-tasks']) +
            sizeOf(message['lost-scattered-tasks']),
          interruptedTasks: sizeOf(message['processing-tasks'])
        }
      };
    }
    if (
      (action === 'add-client' || action === 'remove-client') &&
      client !== null
    ) {
      return { type: action, client };
    }
    return null;
  }
  const status = text('status');
  if (action === 'worker-status-change' && status !== null) {
    return { type: 'status', address: topic, status, reason: null };
  }
  if (action === 'closing-worker') {
    return {
      type: 'status',
      address: topic,
      status: 'closing',
      reason: text('reason')
    };
  }
  return null;
}

function sizeOf(value: unknown): number {
  return value instanceof Set
    ? value.size
    : Array.isArray(value)
      ? value.length
      : 0;
}
