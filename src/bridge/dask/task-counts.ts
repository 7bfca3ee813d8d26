/**
 * How many tasks are in which state. The scheduler tells no single op's worth of it: prefix states
 * omit queued and unrunnable tasks, and its `counts.json` (HTTP) has no queued ones either, but
 * `tasks` in all: queued is what is left (§2.1). Where HTTP cannot be reached (the scheduler runs on
 * another host: its dashboard listens there on loopback only), `dump_state` cut down to the state of
 * each task takes its place, at most every ten seconds.
 */
import { get } from 'node:http';
import { z } from 'zod';
import type { Operations } from './operations.js';
import type { TaskCounts } from './scheduler-link.js';
import { isMap } from './wire/messages.js';

const HTTP_DEADLINE_MS = 2_000;
const HTTP_LIMIT_BYTES = 64 * 1024;
/** A count may take this share of the scheduler's time at most: the next one waits accordingly. */
const SHARE = 1 / 20;
const SHORTEST_PERIOD_MS = 500;
const DUMP_PERIOD_MS = 10_000;

/** Counted by the scheduler itself as a client, always there. */
const INTERNAL_CLIENT = 'fire-and-forget';

const countsSchema = z.object({
  tasks: z.number(),
  unrunnable: z.number(),
  clients: z.number()
});

/** What prefix states do not tell. */
type Rest = { queued: number; unrunnable: number; clients: number };

export type TaskCounterOptions = {
  operations: Operations;
  /** Port of the dashboard on 127.0.0.1 of this host; null: not reachable. */
  dashboardPort: () => number | null;
  /** Is this client id the link's own stream? */
  isOurs: (client: string) => boolean;
  /** How many clients our link has registered now. */
  ourClients: () => number;
  now?: () => number;
};

export class TaskCounter {
  constructor(options: TaskCounterOptions) {
    this._options = options;
    this._now = options.now ?? (() => performance.now());
  }

  /** Cached for as long as a count must not be asked again; one at a time. */
  count(): Promise<TaskCounts> {
    if (this._running === null) {
      if (this._cached !== null && this._now() < this._cached.until) {
        return Promise.resolve(this._cached.counts);
      }
      this._running = this._count().finally(() => {
        this._running = null;
      });
    }
    return this._running;
  }

  private async _count(): Promise<TaskCounts> {
    const started = this._now();
    const { operations } = this._options;
    const states = await operations.prefixStates();
    const known = Object.values(states).reduce((sum, count) => sum + count, 0);
    const rest = (await this._restByHttp(known)) ?? (await this._restByDump());
    const counts: TaskCounts = {
      processing: states.processing,
      queued: rest.queued,
      waiting: states.waiting,
      unrunnable: rest.unrunnable,
      erred: states.erred,
      memory: states.memory,
      clients: rest.clients
    };
    const took = this._now() - started;
    this._cached = {
      counts,
      until: this._now() + Math.max(SHORTEST_PERIOD_MS, took / SHARE)
    };
    return counts;
  }

  private async _restByHttp(known: number): Promise<Rest | null> {
    const port = this._options.dashboardPort();
    if (port === null) {
      return null;
    }
    const body = await fetchLoopback(port, '/json/counts.json');
    const parsed = countsSchema.safeParse(parseTolerantly(body));
    if (!parsed.success) {
      return null;
    }
    const { tasks, unrunnable, clients } = parsed.data;
    return {
      // Two looks a moment apart: a difference below zero is that moment.
      queued: Math.max(0, tasks - known - unrunnable),
      unrunnable,
      clients: Math.max(0, clients - 1 - this._options.ourClients())
    };
  }

  private async _restByDump(): Promise<Rest> {
    if (this._dumped !== null && this._now() < this._dumped.until) {
      return this._dumped.rest;
    }
    const started = this._now();
    const dump = await this._options.operations.dumpState(DUMP_EXCLUDES);
    const rest = readDump(dump, this._options.isOurs);
    const took = this._now() - started;
    this._dumped = {
      rest,
      until: this._now() + Math.max(DUMP_PERIOD_MS, took / SHARE)
    };
    return rest;
  }

  private readonly _options: TaskCounterOptions;
  private readonly _now: () => number;
  private _running: Promise<TaskCounts> | null = null;
  private _cached: { counts: TaskCounts; until: number } | null = null;
  private _dumped: { rest: Rest; until: number } | null = null;
}

/** Attributes of scheduler, tasks and clients that are left out of the dump, at every depth. */
export const DUMP_EXCLUDES = [
  'transition_log',
  'task_groups',
  'task_prefixes',
  'events',
  'extensions',
  'memory',
  'workers',
  'log',
  // of tasks
  'actor',
  'annotations',
  'attempt',
  'coming',
  'computation',
  'dependencies',
  'dependents',
  'erred_on',
  'exception',
  'exception_blame',
  'exception_text',
  'group',
  'group_key',
  'has_lost_dependencies',
  'homed',
  'host_restrictions',
  'key',
  'loose_restrictions',
  'metadata',
  'nbytes',
  'prefix',
  'prefix_key',
  'priority',
  'processing_on',
  'queueable',
  'resource_restrictions',
  'retries',
  'rootish',
  'run_id',
  'run_spec',
  'suspicious',
  'traceback',
  'traceback_text',
  'type',
  'waiters',
  'waiting_on',
  'who_has',
  'who_wants',
  'worker_restrictions',
  // of clients
  'wants_what',
  'versions',
  'info',
  'client_key',
  'last_seen'
] as const;

/** Counts of a `dump_state`, whose format is for debugging and not stable. */
export function readDump(
  dump: unknown,
  isOurs: (client: string) => boolean
): Rest {
  const rest = { queued: 0, unrunnable: 0, clients: 0 };
  if (!isMap(dump)) {
    return rest;
  }
  const tasks = isMap(dump['tasks']) ? dump['tasks'] : {};
  for (const task of Object.values(tasks)) {
    const state = isMap(task) ? task['state'] : null;
    if (state === 'queued') {
      rest.queued += 1;
    } else if (state === 'no-worker') {
      rest.unrunnable += 1;
    }
  }
  const clients = isMap(dump['clients']) ? Object.keys(dump['clients']) : [];
  rest.clients = clients.filter(
    client => client !== INTERNAL_CLIENT && !isOurs(client)
  ).length;
  return rest;
}

/** Python writes `NaN` and `Infinity` into its JSON. */
export function parseTolerantly(text: string | null): unknown {
  if (text === null) {
    return null;
  }
  try {
    return JSON.parse(
      text.replace(/(?<=[:,[]\s*)(?:NaN|-?Infinity)(?=\s*[,}\]])/g, 'null')
    ) as unknown;
  } catch {
    // Not JSON at all: the caller has another way.
    return null;
  }
}

/** A page of 127.0.0.1, or null when it is not there in time, too large, or not 200. */
function fetchLoopback(port: number, path: string): Promise<string | null> {
  return new Promise(resolve => {
    const request = get(
      { host: '127.0.0.1', port, path, agent: false },
      response => {
        if (response.statusCode !== 200) {
          response.resume();
          resolve(null);
          return;
        }
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
          if (body.length > HTTP_LIMIT_BYTES) {
            request.destroy();
            resolve(null);
          }
        });
        response.on('end', () => {
          resolve(body);
        });
      }
    );
    const timer = setTimeout(() => {
      request.destroy();
      resolve(null);
    }, HTTP_DEADLINE_MS);
    request.on('error', () => {
      resolve(null);
    });
    request.on('close', () => {
      clearTimeout(timer);
      // A reply cut off in the middle.
      resolve(null);
    });
  });
}
