/** Commands that read what goes on: events and logs. */
import type { Command } from 'commander';
import type {
  ClusterEvent,
  ClusterView,
  Page
} from '../../../protocol/index.js';
import { whole } from '../amounts.js';
import type { ApiClient } from '../api-client.js';
import type { CliContext } from '../context.js';
import { usage } from '../failure.js';
import { printable, printableLines } from '../printable.js';
import type { Tone } from '../table.js';
import { path } from './look.js';
import type { Run } from './look.js';

/** Milliseconds between looks of `-f`. */
const FOLLOW_EVERY = 500;
const LOG_CHUNK = 1024 * 1024;
const LOG_TAIL = 64 * 1024;

export function addFollowCommands(program: Command, run: Run): void {
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
