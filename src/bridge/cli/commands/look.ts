/** Commands that look: lists, and one cluster. */
import type { Command } from 'commander';
import { formatBytes, formatDuration } from '../../../protocol/index.js';
import type {
  BackendView,
  ClusterView,
  EnvironmentView,
  JobView,
  ProfileView,
  WorkerView
} from '../../../protocol/index.js';
import type { CliContext } from '../context.js';
import { since } from '../table.js';
import type { Cell, Tone } from '../table.js';
import { causes, connectedOf, targetOf } from '../waiting.js';

export type Run = (
  action: (context: CliContext) => Promise<void>
) => Promise<void>;

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
