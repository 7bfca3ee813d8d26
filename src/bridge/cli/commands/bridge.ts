/** Commands about the bridge itself: status, shutdown, serve. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Command } from 'commander';
import { Option } from 'commander';
import { MusterError } from '../../../protocol/index.js';
import { LOG_LEVELS } from '../../options.js';
import type { CliContext } from '../context.js';
import { CliFailure, EXIT } from '../failure.js';
import { waitFor } from '../waiting.js';
import { age } from './look.js';
import type { Run } from './look.js';

export function addBridgeCommands(
  program: Command,
  run: Run,
  end: (code: number) => void
): void {
  program
    .command('status')
    .description('is a bridge running, and how is it')
    .action(() => run(status));
  program
    .command('shutdown')
    .description('stop the bridge; clusters stay')
    .action(() => run(shutdown));
  program
    .command('serve')
    .description('run the bridge in the foreground')
    .option(
      '--idle-timeout <seconds>',
      'end after so long without clusters and clients; 0: never',
      '0'
    )
    .addOption(
      new Option('--log-level <level>').choices(LOG_LEVELS).default('info')
    )
    .action((flags: { idleTimeout: string; logLevel: string }) =>
      run(async context => {
        end(await serve(context, flags));
      })
    );
}

async function status(context: CliContext): Promise<void> {
  const found = await context.look();
  if (found === null) {
    throw new CliFailure(
      EXIT.unreachable,
      'no bridge is running',
      'the next command that needs one starts it'
    );
  }
  const { health } = found;
  context.answer(health, () =>
    context.facts([
      ['bridge', { text: 'running', tone: 'good' }],
      ['version', health.version],
      ['host', health.host],
      ['pid', health.pid],
      ['up', age(health.startedAt, Date.now())],
      ['node', health.node],
      ['clusters', health.clusters]
    ])
  );
}

async function shutdown(context: CliContext): Promise<void> {
  const found = await context.look();
  if (found === null) {
    context.answer({}, () => 'no bridge is running\n');
    return;
  }
  await found.client.post('shutdown');
  await waitFor(
    async () => {
      try {
        const next = await context.look();
        // Another one may have been started at once, by a Jupyter server that needs it.
        return next === null || next.health.bridge !== found.health.bridge
          ? true
          : null;
      } catch (error) {
        if (error instanceof MusterError) {
          return null; // it is just closing
        }
        throw error;
      }
    },
    { timeoutSeconds: 30, what: () => 'the bridge to end' }
  );
  context.answer({}, () => 'the bridge has ended; clusters are as they were\n');
}

/** The same program again as a child with our streams; what ends us ends it. */
async function serve(
  context: CliContext,
  flags: { idleTimeout: string; logLevel: string }
): Promise<number> {
  const { environment, program } = context.io;
  const runtime = environment['MUSTER_RUNTIME_DIR'];
  const state = environment['MUSTER_STATE_ROOT'];
  if (program === null || runtime === undefined || state === undefined) {
    throw new CliFailure(
      EXIT.failed,
      'this command does not know its folders',
      'run it as `muster`, the command that comes with the Python package'
    );
  }
  if ((await context.look()) !== null) {
    throw new CliFailure(
      EXIT.failed,
      'a bridge is already running',
      'muster shutdown ends it; clusters stay'
    );
  }
  const python = environment['MUSTER_CLI_PYTHON'];
  const child = spawn(
    process.execPath,
    [
      program,
      'serve',
      '--runtime',
      runtime,
      '--state',
      state,
      ...(python === undefined ? [] : ['--python', python]),
      '--config',
      environment['MUSTER_CONFIG_PATHS'] ?? '',
      '--idle-timeout',
      flags.idleTimeout,
      '--log-level',
      flags.logLevel
    ],
    { stdio: 'inherit', env: environment }
  );
  const pass = (signal: NodeJS.Signals) => {
    child.kill(signal);
  };
  // A terminal's Ctrl-C reaches both by itself; the child's end is what we wait for.
  const ignore = () => undefined;
  process.on('SIGTERM', pass);
  process.on('SIGINT', ignore);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        resolve(
          code ?? 128 + (signal === null ? 0 : constants.signals[signal])
        );
      });
    });
  } finally {
    process.off('SIGTERM', pass);
    process.off('SIGINT', ignore);
  }
}
