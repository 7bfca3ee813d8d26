/** `muster connect`: what a notebook or a shell needs. */
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { ConnectionView } from '../../../protocol/index.js';
import type { CliContext } from '../context.js';
import { CliFailure, EXIT, usage } from '../failure.js';
import { printable, printableLines } from '../printable.js';
import { path } from './look.js';
import type { Run } from './look.js';

export function addConnectCommand(program: Command, run: Run): void {
  program
    .command('connect <cluster>')
    .description('print what a notebook or a shell needs')
    .option('--python', 'Python code that connects (default)')
    .option('--env', 'variables for a shell: eval "$(muster connect C --env)"')
    .option('--file <file>', 'write it there (0600) instead of printing it')
    .action(
      (
        ref: string,
        flags: { python?: boolean; env?: boolean; file?: string }
      ) => run(context => connect(context, ref, flags))
    );
}

async function connect(
  context: CliContext,
  ref: string,
  flags: { python?: boolean; env?: boolean; file?: string }
): Promise<void> {
  if (flags.python === true && flags.env === true) {
    throw usage('say --python or --env, not both');
  }
  const client = await context.bridge();
  const connection = await client.get<ConnectionView>(
    `clusters/${path(ref)}/connection`
  );
  const { python, env } = connection.snippets;
  const text = `${(flags.env === true ? env : python).trimEnd()}\n`;
  if (flags.file === undefined) {
    context.answer(connection, () => printableLines(text));
    return;
  }
  const { file } = flags;
  try {
    await writeFile(file, text, { mode: 0o600 });
  } catch (error) {
    throw new CliFailure(EXIT.failed, `--file: ${(error as Error).message}`);
  }
  context.answer(connection, () => `written to ${printable(file)}\n`);
}
