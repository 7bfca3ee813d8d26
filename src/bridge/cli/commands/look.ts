/** Commands that look: lists, one cluster, events, logs. */
import type { Command } from 'commander';
import { formatBytes, formatDuration } from '../../../protocol/index.js';
import type {
  BackendView,
  ClusterEvent,
  ClusterView,
  EnvironmentView,
  JobView,
  Page,
  ProfileView,
  WorkerView
} from '../../../protocol/index.js';
import { whole } from '../amounts.js';
import type { ApiClient } from '../api-client.js';
import type { CliContext } from '../context.js';
import { usage } from '../failure.js';
import { printable, printableLines } from '../printable.js';
import { since } from '../table.js';
import type { Cell, Tone } from '../table.js';
import { causes, connectedOf, targetOf } from '../waiting.js';

export type Run = (
  action: (context: CliContext) => Promise<void>
) => Promise<void>;

/** Milliseconds between looks of `-f`. */
const FOLLOW_EVERY = 500;
const LOG_CHUNK = 1024 * 1024;
const LOG_TAIL = 64 * 1024;

export const path = (text: string) => encodeURIComponent(text);

export function addLookCommands(program: Command, run: Run): void {
  program
    .command('backends')
    .description('resource managers, usable or not and why')
    .action(() => run(listBackends));
  program
    .command('profiles')
    .description('named beginnings of a cluster')
    .action(() => run(listProfiles));
  program
    .command('environments')
    .description('Python interpreters found, usable or not and why')
    .action(() => run(listEnvironments));
  program
    .command('list')
    .alias('ls')
    .description('all clusters')
    .action(() => run(listClusters));
  program
    .command('show <cluster>')
    .description('one cluster')
    .action((ref: string) => run(context => showCluster(context, ref)));
  program
    .command('workers <cluster>')
    .description('its workers')
    .action((ref: string) => run(context => listWorkers(context, ref)));
  program
    .command('jobs <cluster>')
    .description('its jobs')
    .action((ref: string) => run(context => listJobs(context, ref)));
  program
    .command('events <cluster>')
    .description('what happened to it')
    .option('-f, --follow', 'go on with what happens')
    .option('--after <seq>', 'only events after this number')
    .action((ref: string, flags: { follow?: boolean; after?: string }) =>
      run(context => showEvents(context, ref, flags))
    );
  program
    .command('logs <cluster> [what]')
    .description("text of 'scheduler' (default), a job or a worker")
    .option('-f, --follow', 'go on with what is written')
    .option('--stream <name>', 'stdout or stderr', 'stderr')
    .option('--all', 'from the beginning, not only the end')
    .action(
      (
        ref: string,
        what: string | undefined,
        flags: { follow?: boolean; stream: string; all?: boolean }
      ) => run(context => showLog(context, ref, what ?? 'scheduler', flags))
    );
}

async function listBackends(context: CliContext): Promise<void> {
  const client = await context.bridge();
  const items = await client.all<BackendView>('backends');
  context.answer({ items, next: null }, () =>
    context.table(
      ['NAME', 'TITLE', 'AVAILABLE', 'WHY NOT'],
      items.map(backend => [
        backend.name,
        backend.title,
        yesNo(backend.available),
        backend.reason ?? ''
      ])
    )
  );
}

async function listProfiles(context: CliContext): Promise<void> {
  const client = await context.bridge();
  const items = await client.all<ProfileView>('profiles');
  context.answer({ items, next: null }, () =>
    context.table(
      ['NAME', 'SOURCE', 'BACKEND', 'TITLE'],
      items.map(profile => [
        profile.name,
        profile.source,
        typeof profile.spec['backend'] === 'string'
          ? profile.spec['backend']
          : 'local',
        profile.title ?? ''
      ])
    )
  );
}

async function listEnvironments(context: CliContext): Promise<void> {
  const client = await context.bridge();
  const items = await client.all<EnvironmentView>('environments');
  context.answer({ items, next: null }, () =>
    context.table(
      ['NAME', 'FROM', 'PYTHON', 'DASK', 'USABLE', 'PATH', 'WHY NOT'],
      items.map(found => [
        found.name,
        found.source,
        found.pythonVersion,
        found.dask,
        yesNo(found.usable),
        found.python,
        found.whyNot ?? ''
      ])
    )
  );
}

async function listClusters(context: CliContext): Promise<void> {
  const client = await context.bridge();
  const items = await client.all<ClusterView>('clusters');
  const now = Date.now();
  context.answer({ items, next: null }, () =>
    items.length === 0
      ? 'no clusters; `muster create` makes one\n'
      : context.table(
          ['NAME', 'ID', 'BACKEND', 'PHASE', 'HEALTH', 'WORKERS', 'AGE', ''],
          items.map(cluster => [
            cluster.name,
            cluster.id,
            cluster.backend,
            phase(cluster.phase),
            health(cluster.health),
            `${connectedOf(cluster)}/${targetOf(cluster)}`,
            age(cluster.createdAt, now),
            causes(cluster).trim()
          ])
        )
  );
}

async function showCluster(context: CliContext, ref: string): Promise<void> {
  const client = await context.bridge();
  const cluster = await client.get<ClusterView>(`clusters/${path(ref)}`);
  context.answer(cluster, () => describeCluster(context, cluster));
}

export function describeCluster(
  context: CliContext,
  cluster: ClusterView
): string {
  const now = Date.now();
  const { scheduler, load } = cluster;
  const pairs: [string, Cell][] = [
    ['name', cluster.name],
    ['id', cluster.id],
    ['backend', cluster.backend],
    ['phase', phase(cluster.phase)],
    ['health', health(cluster.health)],
    ...cluster.reasons.map((reason): [string, Cell] => [
      '',
      {
        text:
          reason.hint === undefined
            ? reason.message
            : `${reason.message} (${reason.hint})`,
        tone: 'warn'
      }
    ]),
    ['age', age(cluster.createdAt, now)],
    ['python', cluster.spec.environment.python],
    [
      'scheduler',
      `${scheduler.phase}${scheduler.host === null ? '' : ` on ${scheduler.host}`}`
    ],
    ['address', scheduler.address],
    ['dask', scheduler.version],
    ['clients', scheduler.clients],
    ...(load === null
      ? []
      : ([
          [
            'tasks',
            `${load.tasks.processing} processing, ${load.tasks.queued + load.tasks.waiting} waiting, ${load.tasks.memory} in memory, ${load.tasks.erred} erred`
          ],
          [
            'memory',
            `${formatBytes(load.memoryUsed)} of ${formatBytes(load.memoryLimit)}`
          ]
        ] as [string, Cell][]))
  ];
  const groups = context.table(
    [
      'GROUP',
      'SCALE',
      'TARGET',
      'CONNECTED',
      'STARTING',
      'QUEUED',
      'REQUESTED',
      'RETIRING',
      'WAITING FOR'
    ],
    cluster.groups.map(group => [
      group.name,
      scaleText(group.scale),
      group.target,
      group.counts.connected,
      group.counts.starting,
      group.counts.queued,
      group.counts.requested + group.counts.uncertain,
      group.counts.retiring,
      group.pendingReasons
        .map(pending => `${pending.jobs}: ${pending.reason}`)
        .join('; ')
    ])
  );
  return `${context.facts(pairs)}\n${groups}`;
}

function scaleText(scale: ClusterView['groups'][number]['scale']): string {
  const text = (amount: object): string =>
    'workers' in amount
      ? String(amount.workers)
      : 'cores' in amount
        ? `${String(amount.cores)} cores`
        : 'memory' in amount
          ? formatBytes(Number(amount.memory))
          : '?';
  return scale.type === 'fixed'
    ? text(scale)
    : `${text(scale.minimum)}..${text(scale.maximum)}`;
}

async function listWorkers(context: CliContext, ref: string): Promise<void> {
  const client = await context.bridge();
  const items = await client.all<WorkerView>(`clusters/${path(ref)}/workers`);
  context.answer({ items, next: null }, () =>
    context.table(
      [
        'WORKER',
        'GROUP',
        'HOST',
        'STATUS',
        'CORES',
        'CPU',
        'MEMORY',
        'LIMIT',
        'TASKS',
        'RECLAIM'
      ],
      items.map(worker => [
        worker.id,
        worker.group,
        worker.host,
        {
          text: worker.status,
          tone:
            worker.status === 'running'
              ? 'good'
              : worker.status === 'lost'
                ? 'bad'
                : 'warn'
        },
        worker.cores,
        worker.cpu === null ? null : `${Math.round(worker.cpu * 100)}%`,
        worker.memoryUsed === null ? null : formatBytes(worker.memoryUsed),
        worker.memoryLimit === null ? 'none' : formatBytes(worker.memoryLimit),
        worker.tasks.executing,
        worker.reclaimAt ?? ''
      ])
    )
  );
}

async function listJobs(context: CliContext, ref: string): Promise<void> {
  const client = await context.bridge();
  const items = await client.all<JobView>(`clusters/${path(ref)}/jobs`);
  const order = (job: JobView) => job.submittedAt ?? '~';
  context.answer({ items, next: null }, () =>
    context.table(
      ['JOB', 'GROUP', 'NATIVE ID', 'PHASE', 'STATE', 'HOST', 'EXIT', 'REASON'],
      [...items]
        .sort((a, b) => (order(a) < order(b) ? -1 : 1))
        .map(job => [
          job.id,
          job.group ?? 'scheduler',
          job.handle?.nativeId ?? null,
          {
            text:
              job.outcome === undefined
                ? job.phase
                : `${job.phase} (${job.outcome})`,
            tone: jobTone(job)
          },
          job.nativeState,
          job.host,
          job.exit === null ? null : (job.exit.signal ?? job.exit.code),
          job.reason ?? ''
        ])
    )
  );
}

async function showEvents(
  context: CliContext,
  ref: string,
  flags: { follow?: boolean; after?: string }
): Promise<void> {
  const client = await context.bridge();
  let after = flags.after === undefined ? 0 : whole(flags.after, '--after');
  // The id once: a newer cluster of the same name must not slip in between.
  const { id } = await client.get<ClusterView>(`clusters/${path(ref)}`);
  const read = async (): Promise<ClusterEvent[]> => {
    const events: ClusterEvent[] = [];
    for (;;) {
      const page = await client.get<Page<ClusterEvent>>(
        `clusters/${id}/events?after=${after}`
      );
      events.push(...page.items);
      after = Math.max(after, ...page.items.map(event => event.seq));
      if (page.items.length === 0 || page.next === null) {
        return events;
      }
    }
  };
  if (flags.follow !== true) {
    const items = await read();
    context.answer({ items, next: null }, () =>
      items.map(event => eventLine(context, event)).join('')
    );
    return;
  }
  for (;;) {
    for (const event of await read()) {
      context.answer(event, () => eventLine(context, event));
    }
    const { phase: now } = await client.get<ClusterView>(`clusters/${id}`);
    if (now === 'stopped' || now === 'failed') {
      for (const event of await read()) {
        context.answer(event, () => eventLine(context, event));
      }
      return; // nothing more can happen to it
    }
    await pause(FOLLOW_EVERY);
  }
}

function eventLine(context: CliContext, event: ClusterEvent): string {
  const tone: Tone =
    event.severity === 'error'
      ? 'bad'
      : event.severity === 'warning'
        ? 'warn'
        : 'plain';
  const kind = context.tone(event.kind.padEnd(20), tone);
  return `${context.tone(event.time, 'faint')}  ${kind}  ${printable(event.message)}\n`;
}

async function showLog(
  context: CliContext,
  ref: string,
  what: string,
  flags: { follow?: boolean; stream: string; all?: boolean }
): Promise<void> {
  if (flags.stream !== 'stdout' && flags.stream !== 'stderr') {
    throw usage("--stream must be 'stdout' or 'stderr'");
  }
  const client = await context.bridge();
  const { id } = await client.get<ClusterView>(`clusters/${path(ref)}`);
  let offset = flags.all === true ? 0 : -LOG_TAIL;
  for (;;) {
    const { text, nextOffset } = await client.text(
      `clusters/${id}/logs/${path(what)}?stream=${flags.stream}&offset=${offset}&limit=${LOG_CHUNK}`
    );
    if (text !== '') {
      context.answer({ text, nextOffset }, () => printableLines(text));
    }
    const stuck = nextOffset === offset;
    offset = nextOffset;
    if (text !== '' && !stuck) {
      continue;
    }
    if (flags.follow !== true || (await ended(client, id))) {
      return;
    }
    await pause(FOLLOW_EVERY);
  }
}

async function ended(client: ApiClient, id: string): Promise<boolean> {
  const { phase: now } = await client.get<ClusterView>(`clusters/${id}`);
  return now === 'stopped' || now === 'failed';
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}

export function age(time: string | null, now: number): string | null {
  const seconds = since(time, now);
  return seconds === null ? null : formatDuration(seconds);
}

function yesNo(yes: boolean): Cell {
  return yes ? { text: 'yes', tone: 'good' } : { text: 'no', tone: 'bad' };
}

function phase(text: ClusterView['phase']): Cell {
  return {
    text,
    tone:
      text === 'running'
        ? 'good'
        : text === 'failed'
          ? 'bad'
          : text === 'stopped'
            ? 'faint'
            : 'warn'
  };
}

function health(text: ClusterView['health']): Cell {
  return {
    text,
    tone: text === 'ok' ? 'good' : text === 'degraded' ? 'warn' : 'bad'
  };
}

function jobTone(job: JobView): Tone {
  if (job.phase === 'running') {
    return 'good';
  }
  if (job.phase !== 'ended') {
    return 'warn';
  }
  return job.outcome === undefined ||
    job.outcome === 'completed' ||
    job.outcome === 'cancelled'
    ? 'faint'
    : 'bad';
}
