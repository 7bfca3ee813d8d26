/** The `muster` command (specs/api.md §3): reads its arguments, runs one command, says how it ended. */
import { Command, CommanderError } from 'commander';
import { MusterError } from '../../protocol/index.js';
import { VERSION } from '../version.js';
import { addActCommands } from './commands/act.js';
import { addAllocationCommand } from './commands/allocation.js';
import { addBridgeCommands } from './commands/bridge.js';
import { addConnectCommand } from './commands/connect.js';
import { addDoctorCommand } from './commands/doctor.js';
import { addFollowCommands } from './commands/follow.js';
import { addHeaderCommand } from './commands/header.js';
import { addLaunchLineCommand } from './commands/launch-line.js';
import { addLookCommands } from './commands/look.js';
import { CliContext } from './context.js';
import type { CliIo, GlobalFlags } from './context.js';
import { CliFailure, EXIT, failureOf } from './failure.js';
import { printable } from './printable.js';

export type { CliIo } from './context.js';

/** @returns the exit code: 0 done, 1 failed, 2 usage, 3 bridge not reachable, 4 timed out. */
export async function runCli(
  args: readonly string[],
  io: CliIo = processIo()
): Promise<number> {
  let code: number = EXIT.done;
  const program = newProgram(io);
  const run = async (
    action: (context: CliContext) => Promise<void>
  ): Promise<void> => {
    const context = new CliContext(io, program.opts<GlobalFlags>());
    try {
      await action(context);
    } catch (error) {
      code = reported(error, context);
    } finally {
      context.doneProgress();
    }
  };
  addBridgeCommands(program, run, ended => {
    code = ended;
  });
  addDoctorCommand(program, run);
  addLookCommands(program, run);
  addFollowCommands(program, run);
  addActCommands(program, run);
  addConnectCommand(program, run);
  addHeaderCommand(program, run);
  addLaunchLineCommand(program, run);
  addAllocationCommand(program, run);
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      throw error;
    }
    // Help and version are answers; everything else commander refuses is a matter of usage.
    return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  return code;
}

function newProgram(io: CliIo): Command {
  return new Command('muster')
    .description('Dask clusters on whatever you have')
    .version(VERSION)
    .option('--json', "print the API's own objects")
    .option('--socket <path>', "the bridge's socket")
    .option(
      '--url <url>',
      "a bridge behind a URL, e.g. a Jupyter server's …/muster"
    )
    .option('--token <token>', 'its token (or MUSTER_TOKEN)')
    .option('--no-start', 'do not start a bridge')
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (text, write) => {
        write(`muster: ${printable(text.trim().replace(/^error: /, ''))}\n`);
      },
      getOutHasColors: () => false,
      getErrHasColors: () => false
    })
    .showHelpAfterError('muster --help says what there is');
}

function reported(error: unknown, context: CliContext): number {
  const failure =
    error instanceof CliFailure
      ? error
      : error instanceof MusterError
        ? failureOf(error)
        : null;
  if (failure === null) {
    throw error;
  }
  context.doneProgress();
  if (context.json && failure.exitCode !== EXIT.usage && !failure.answered) {
    context.io.out(`${JSON.stringify(failure.body ?? bodyOf(failure))}\n`);
  }
  context.note(`muster: ${failure.message}`);
  if (failure.hint !== null) {
    context.note(`fix: ${failure.hint}`);
  }
  return failure.exitCode;
}

function bodyOf(failure: CliFailure): unknown {
  return {
    error: {
      code:
        failure.exitCode === EXIT.unreachable
          ? 'bridge-unavailable'
          : 'internal',
      message: failure.message,
      ...(failure.hint === null ? {} : { hint: failure.hint })
    }
  };
}

function processIo(): CliIo {
  // A reader that has seen enough (`muster logs … | head`) is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.failed);
  });
  return {
    out: text => process.stdout.write(text),
    err: text => process.stderr.write(text),
    environment: process.env,
    outIsTerminal: process.stdout.isTTY,
    errIsTerminal: process.stderr.isTTY,
    readStdin: async () => {
      let text = '';
      process.stdin.setEncoding('utf8');
      for await (const part of process.stdin) {
        text += String(part);
      }
      return text;
    },
    program: process.argv[1] ?? null
  };
}
