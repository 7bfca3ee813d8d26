/**
 * The daemon's program: `serve`, `--version`, and the store's thread, which enters the same file
 * again. The `muster` command is a program of its own in the bundle (cli/index.ts): it must start in
 * a blink, and reading this one takes ten times as long as starting Node.
 */
import { isMainThread, workerData } from 'node:worker_threads';
import { VERSION } from './version.js';

const role = (workerData as { role?: unknown } | null)?.role;

if (!isMainThread && role === 'store') {
  const { runStoreWorker } = await import('./store/store-thread.js');
  runStoreWorker();
} else {
  await run(process.argv.slice(2));
}

async function run(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  switch (command) {
    case '--version':
      process.stdout.write(`${VERSION}\n`);
      return;
    case 'serve':
      await serve(rest);
      return;
    default:
      process.stderr.write(
        'usage: bridge.mjs serve … | cli … | --version (normally started by muster or Jupyter)\n'
      );
      process.exitCode = 2;
  }
}

async function serve(args: readonly string[]): Promise<void> {
  const { serveOptions, SERVE_USAGE, UsageError } =
    await import('./serve-options.js');
  let options;
  try {
    options = serveOptions(args);
  } catch (error) {
    if (!(error instanceof UsageError)) {
      throw error;
    }
    process.stderr.write(`${error.message}\n${SERVE_USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  const { runBridge } = await import('./main.js');
  await runBridge(options);
  // Whatever a library still holds open must not keep a bridge that has ended.
  process.exit();
}
