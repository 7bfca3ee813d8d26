/** `muster allocation`: what the job around this command has, and how long is left. */
import type { Command } from 'commander';
import { formatBytes, formatDuration } from '../../../protocol/index.js';
import type {
  Allocation,
  AllocationAnswer,
  Asks,
  TimeLeft
} from '../../../backends/index.js';
import type { CliContext } from '../context.js';
import { CliFailure, EXIT } from '../failure.js';
import type { Run } from './look.js';

export function addAllocationCommand(program: Command, run: Run): void {
  program
    .command('allocation')
    .description(
      'what the job around this command was given, and what time is left'
    )
    .option('--no-ask', 'read variables and files only, ask no batch system')
    .action((flags: { ask: boolean }) =>
      run(context => show(context, flags.ask))
    );
}

/** What is around the command's process. */
export async function allocationHere(
  context: CliContext,
  ask = true
): Promise<{ answer: AllocationAnswer; left: TimeLeft | null }> {
  const { allocation, localRunner } =
    await import('../../../backends/index.js');
  const env = context.io.environment;
  if (allocation.detect(env).length === 0) {
    return { answer: { state: 'none' }, left: null };
  }
  const readFile = allocation.textFile;
  const here = allocation.hereNow();
  if (!ask) {
    return {
      answer: await allocation.inspect({ env, readFile, here, runner: null }),
      left: null
    };
  }
  const runner = await localRunner({ environment: defined(env) });
  try {
    const asks: Asks = runner;
    return {
      answer: await allocation.inspect({ env, readFile, here, runner: asks }),
      left: await allocation.timeLeft(env, {
        readFile,
        runner: asks,
        now: Date.now
      })
    };
  } finally {
    await runner.close();
  }
}

function defined(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (one): one is [string, string] => one[1] !== undefined
    )
  );
}

async function show(context: CliContext, ask: boolean): Promise<void> {
  const { answer, left } = await allocationHere(context, ask);
  context.answer(
    { ...answer, ...(left === null ? {} : { timeLeft: left }) },
    () => {
      switch (answer.state) {
        case 'none':
          return 'not inside an allocation\n';
        case 'inconsistent':
        case 'incomplete':
          return '';
        case 'allocation':
          return shown(context, answer.allocation, left);
      }
    }
  );
  if (answer.state === 'inconsistent' || answer.state === 'incomplete') {
    throw new CliFailure(
      EXIT.failed,
      `${answer.kind} job ${answer.id}: ${answer.why}`,
      null,
      null,
      true
    );
  }
}

function shown(
  context: CliContext,
  given: Allocation,
  left: TimeLeft | null
): string {
  const number = (value: number | null): string =>
    value === null ? '?' : String(value);
  const facts = context.facts([
    ['job', `${given.kind} ${given.id}`],
    ...(given.array === null
      ? []
      : ([['element', `${given.array.index} of ${given.array.id}`]] as const)),
    ...(left === null ? [] : ([['time left', leftText(left)]] as const)),
    ...(given.launchNode === null
      ? []
      : ([['launch node', given.launchNode]] as const)),
    ['read from', given.source.join(', ')],
    ...given.warnings.map(text => ['warning', text] as const)
  ]);
  const nodes = context.table(
    ['HOST', 'TASKS', 'CPUS', 'MEMORY', 'GPUS'],
    given.nodes.map(node => [
      node.host,
      number(node.tasks),
      number(node.cpus),
      node.memBytes === null ? '?' : formatBytes(node.memBytes),
      node.gpus === null ? '?' : node.gpus.join(',') || 'none'
    ])
  );
  return `${facts}\n${nodes}`;
}

function leftText({ seconds, inGrace }: TimeLeft): string {
  if (seconds === 'unknown') {
    return 'unknown';
  }
  if (seconds === null) {
    return 'no deadline';
  }
  return seconds === 0
    ? inGrace
      ? 'none, in grace'
      : 'none'
    : formatDuration(seconds);
}
