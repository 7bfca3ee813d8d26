/** Commands that change clusters: create, scale, adapt, retire, resume, restart, stop. */
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type {
  ClusterEvent,
  ClusterView,
  Page,
  Scale,
  WorkerView
} from '../../../protocol/index.js';
import { adaptiveScale, duration, fixedScale, whole } from '../amounts.js';
import type { ApiClient } from '../api-client.js';
import type { CliContext } from '../context.js';
import { CliFailure, EXIT, usage } from '../failure.js';
import { printable } from '../printable.js';
import { bridgeSource, specOf } from '../spec-builder.js';
import type { SpecFlags } from '../spec-builder.js';
import {
  causes,
  connectedOf,
  targetOf,
  untilConnected,
  waitFor
} from '../waiting.js';
import { path } from './look.js';
import { preview, previewThere } from './preview.js';
import type { Run } from './look.js';

type WaitFlags = { wait?: boolean; timeout?: string };

export function addActCommands(program: Command, run: Run): void {
  specFlags(program.command('create').description('create a cluster'))
    .option('--wait [n]', 'until n workers are connected (default: all wanted)')
    .option('--timeout <duration>', 'how long --wait waits', '10m')
    .option('--dry-run', 'only show what would be run')
    .action(
      (
        flags: SpecFlags & {
          wait?: string | true;
          timeout: string;
          dryRun?: boolean;
        }
      ) => run(context => create(context, flags))
    );
  specFlags(
    program
      .command('preview')
      .description(
        'the exact scripts, commands or manifests; nothing is started'
      )
  ).action((flags: SpecFlags) => run(context => preview(context, flags)));
  program
    .command('scale <cluster>')
    .description('a fixed size')
    .option('--group <name>', 'worker group, where there are several')
    .option('--workers <n>')
    .option('--cores <n>')
    .option('--memory <size>')
    .action(
      (
        ref: string,
        flags: {
          group?: string;
          workers?: string;
          cores?: string;
          memory?: string;
        }
      ) =>
        run(context => {
          const { workers, cores, memory } = flags;
          const scale = fixedScale({ workers, cores, memory });
          if (scale === null) {
            throw usage('say --workers, --cores or --memory');
          }
          return change(context, ref, flags.group, scale);
        })
    );
  program
    .command('adapt <cluster> <range>')
    .description('as many as the load deserves, e.g. 0..4 or 0..1TB')
    .option('--group <name>', 'worker group, where there are several')
    .action((ref: string, range: string, flags: { group?: string }) =>
      run(context =>
        change(context, ref, flags.group, adaptiveScale(range, 'range'))
      )
    );
  waitFlags(
    program
      .command('retire <cluster> <worker>')
      .description('let a worker go politely')
      .option(
        '--deadline <duration>',
        'how long its running tasks may still take'
      )
  ).action(
    (ref: string, worker: string, flags: WaitFlags & { deadline?: string }) =>
      run(context => retire(context, ref, worker, flags))
  );
  program
    .command('resume <cluster>')
    .description('ask for workers again after too many of them had died')
    .action((ref: string) => run(context => resume(context, ref)));
  waitFlags(
    program
      .command('restart <cluster>')
      .description('scheduler and workers anew under the same id')
  ).action((ref: string, flags: WaitFlags) =>
    run(context => restart(context, ref, flags))
  );
  waitFlags(
    program
      .command('stop [cluster]')
      .description('stop it politely, then surely')
      .option('--all', 'every cluster that has not ended')
      .option('--force', 'give up on parts that cannot be reached')
  ).action(
    (
      ref: string | undefined,
      flags: WaitFlags & { all?: boolean; force?: boolean }
    ) => run(context => stop(context, ref, flags))
  );
}

function waitFlags(command: Command): Command {
  return command
    .option('--no-wait', 'do not wait until it is done')
    .option('--timeout <duration>', 'how long to wait', '10m');
}

function specFlags(command: Command): Command {
  return command
    .option(
      '-f, --file <file>',
      "YAML of a cluster's specification; - for stdin"
    )
    .option('--backend <name>')
    .option('--profile <name>')
    .option('--name <name>')
    .option('--workers <n>', 'fixed size in workers')
    .option('--cores <n>', 'fixed size in cores')
    .option('--memory <size>', 'fixed size in memory of all workers')
    .option('--adapt <range>', 'MIN..MAX, e.g. 0..4 or 0..1TB')
    .option('--worker-cores <n>', 'cores of one worker')
    .option('--worker-memory <size>', 'memory of one worker')
    .option('--worker-gpus <n>', 'GPUs of one worker')
    .option('--workers-per-job <n>', 'workers in one job')
    .option(
      '--python <path>',
      'interpreter of the workers (default: the one of this command)'
    )
    .option('--kernelspec <name>', 'take the interpreter from this kernelspec')
    .option(
      '-o, --option <key=value>',
      "the backend's own options; may be repeated",
      (value: string, before: string[]) => [...before, value],
      [] as string[]
    );
}

async function create(
  context: CliContext,
  flags: SpecFlags & { wait?: string | true; timeout: string; dryRun?: boolean }
): Promise<void> {
  const timeoutSeconds = duration(flags.timeout, '--timeout');
  const wanted =
    flags.wait === undefined || flags.wait === true
      ? null
      : whole(flags.wait, '--wait');
  if (flags.dryRun === true) {
    await previewThere(context, flags);
    return;
  }
  const client = await context.bridge();
  const spec = await specOf(context, bridgeSource(client), flags);
  // One key for one run: an answer lost on the way never makes a second cluster.
  const made = await client.post<ClusterView>('clusters', spec, {
    'idempotency-key': randomUUID()
  });
  const cluster =
    flags.wait === undefined
      ? made
      : await untilConnected(context, client, made.id, {
          workers: wanted,
          timeoutSeconds
        });
  context.answer(
    cluster,
    () =>
      `${printable(cluster.name)} (${cluster.id}): ${cluster.phase}, ${connectedOf(cluster)} of ${targetOf(cluster)} workers connected\n`
  );
}

async function change(
  context: CliContext,
  ref: string,
  group: string | undefined,
  scale: Scale
): Promise<void> {
  const client = await context.bridge();
  const cluster = await client.get<ClusterView>(`clusters/${path(ref)}`);
  const names = cluster.groups.map(one => one.name);
  if (group === undefined && names.length !== 1) {
    throw usage(
      `'${cluster.name}' has several worker groups`,
      `--group with one of: ${names.join(', ')}`
    );
  }
  const name = group ?? names[0] ?? 'default';
  const changed = await client.patch<ClusterView>(`clusters/${cluster.id}`, {
    scale: { [name]: scale }
  });
  const now = changed.groups.find(one => one.name === name);
  context.answer(
    changed,
    () =>
      `${printable(changed.name)}: ${printable(name)} to ${now?.target ?? 0} workers, ${now?.counts.connected ?? 0} connected${printable(causes(changed))}\n`
  );
}

async function retire(
  context: CliContext,
  ref: string,
  worker: string,
  flags: WaitFlags & { deadline?: string }
): Promise<void> {
  const timeoutSeconds = duration(flags.timeout ?? '10m', '--timeout');
  const deadline =
    flags.deadline === undefined
      ? {}
      : { deadline: duration(flags.deadline, '--deadline') };
  const client = await context.bridge();
  const { id } = await client.get<ClusterView>(`clusters/${path(ref)}`);
  const before = await newestSeq(client, id);
  const view = await client.post<WorkerView>(
    `clusters/${id}/workers/${path(worker)}/retire`,
    deadline
  );
  if (flags.wait !== false) {
    await waitFor(() => retired(context, client, id, view.id, before), {
      timeoutSeconds,
      what: () => `worker ${view.id} to retire`
    });
  }
  context.answer(view, () =>
    flags.wait === false
      ? `${view.id} is retiring\n`
      : `${view.id} has retired\n`
  );
}

async function newestSeq(client: ApiClient, id: string): Promise<number> {
  let newest = 0;
  for (;;) {
    const page = await client.get<Page<ClusterEvent>>(
      `clusters/${id}/events?after=${newest}`
    );
    newest = Math.max(newest, ...page.items.map(event => event.seq));
    if (page.items.length === 0 || page.next === null) {
      return newest;
    }
  }
}

async function retired(
  context: CliContext,
  client: ApiClient,
  id: string,
  worker: string,
  after: number
): Promise<true | null> {
  const page = await client.get<Page<ClusterEvent>>(
    `clusters/${id}/events?after=${after}`
  );
  const said = page.items.filter(event => event.worker === worker);
  const refused = said.find(
    event => event.kind === 'retire-refused' || event.kind === 'worker-died'
  );
  if (refused !== undefined) {
    throw new CliFailure(EXIT.failed, refused.message);
  }
  if (said.some(event => event.kind === 'worker-retired')) {
    return true;
  }
  const workers = await client.all<WorkerView>(`clusters/${id}/workers`);
  context.progress(`waiting for ${worker} to retire …`);
  return workers.some(one => one.id === worker) ? null : true;
}

async function resume(context: CliContext, ref: string): Promise<void> {
  const client = await context.bridge();
  const cluster = await client.post<ClusterView>(
    `clusters/${path(ref)}/resume`
  );
  context.answer(
    cluster,
    () => `${printable(cluster.name)}: ${cluster.phase}, asks for workers\n`
  );
}

async function restart(
  context: CliContext,
  ref: string,
  flags: WaitFlags
): Promise<void> {
  const timeoutSeconds = duration(flags.timeout ?? '10m', '--timeout');
  const client = await context.bridge();
  const before = await client.get<ClusterView>(`clusters/${path(ref)}`);
  const begun = await client.post<ClusterView>(`clusters/${before.id}/restart`);
  const cluster =
    flags.wait === false
      ? begun
      : await untilConnected(context, client, begun.id, {
          workers: null,
          timeoutSeconds,
          formerScheduler: before.scheduler.job
        });
  context.answer(
    cluster,
    () =>
      `${printable(cluster.name)}: ${cluster.phase}, ${connectedOf(cluster)} of ${targetOf(cluster)} workers connected\n`
  );
}

async function stop(
  context: CliContext,
  ref: string | undefined,
  flags: WaitFlags & { all?: boolean; force?: boolean }
): Promise<void> {
  if ((ref === undefined) === (flags.all !== true)) {
    throw usage('say which cluster, or --all');
  }
  const timeoutSeconds = duration(flags.timeout ?? '10m', '--timeout');
  const client = await context.bridge();
  const living = async () =>
    (await client.all<ClusterView>('clusters')).filter(
      cluster => cluster.phase !== 'stopped' && cluster.phase !== 'failed'
    );
  const refs =
    ref === undefined ? (await living()).map(cluster => cluster.id) : [ref];
  const query = flags.force === true ? '?force=true' : '';
  const stopping = await Promise.all(
    refs.map(one => client.delete<ClusterView>(`clusters/${path(one)}${query}`))
  );
  const ended =
    flags.wait === false
      ? stopping
      : await Promise.all(
          stopping.map(cluster =>
            untilEnded(context, client, cluster, timeoutSeconds)
          )
        );
  const [first] = ended;
  context.answer(
    ref === undefined ? { items: ended, next: null } : first,
    () =>
      ended.length === 0
        ? 'no cluster is running\n'
        : ended
            .map(cluster => `${printable(cluster.name)}: ${cluster.phase}\n`)
            .join('')
  );
}

function untilEnded(
  context: CliContext,
  client: ApiClient,
  begun: ClusterView,
  timeoutSeconds: number
): Promise<ClusterView> {
  let last = begun;
  return waitFor(
    async () => {
      last = await client.get<ClusterView>(`clusters/${begun.id}`);
      context.progress(`stopping ${last.name} …`);
      return last.phase === 'stopped' || last.phase === 'failed' ? last : null;
    },
    {
      timeoutSeconds,
      what: () => `'${last.name}' to stop${causes(last)}`
    }
  );
}
