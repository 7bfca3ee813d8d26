/** Finds the living bridge through its record, and starts one through the Python half. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import {
  errorBodySchema,
  MusterError,
  PROTOCOL_VERSION
} from '../../protocol/index.js';
import type { HealthView } from '../../protocol/index.js';
import { readBridgeRecord } from '../security/secret.js';
import { ApiClient } from './api-client.js';
import type { Target } from './api-client.js';
import { CliFailure, EXIT, usage } from './failure.js';

export type FinderOptions = {
  socket: string | undefined;
  url: string | undefined;
  token: string | undefined;
  environment: NodeJS.ProcessEnv;
  /** Told while something is waited for. */
  onProgress: (message: string) => void;
};

/** Where to ask; null: no record of a bridge. */
export function targetOf(options: FinderOptions): Target | null {
  const { environment } = options;
  const url =
    options.url ??
    (options.socket === undefined ? environment['MUSTER_URL'] : undefined);
  if (url !== undefined && url !== '') {
    if (options.socket !== undefined) {
      throw usage('say --socket or --url, not both');
    }
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
      throw usage(`--url: '${url}' is not an http address`);
    }
    const token = options.token ?? environment['MUSTER_TOKEN'] ?? '';
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw usage('--url needs --token (or MUSTER_TOKEN)');
    }
    return { type: 'url', url: new URL(url), token };
  }
  const folder = runtimeFolder(options);
  const record = folder === null ? null : readBridgeRecord(folder);
  return record === null || folder === null
    ? null
    : {
        type: 'socket',
        path: options.socket ?? join(folder, 'bridge.sock'),
        secret: record.secret
      };
}

function runtimeFolder(options: FinderOptions): string | null {
  if (options.socket !== undefined) {
    return join(options.socket, '..');
  }
  return options.environment['MUSTER_RUNTIME_DIR'] ?? null;
}

/** A client of the living bridge, or null where there is none. */
export async function findBridge(
  options: FinderOptions
): Promise<{ client: ApiClient; health: HealthView } | null> {
  const target = targetOf(options);
  if (target === null) {
    return null;
  }
  const client = new ApiClient(target, {
    onWaiting: () => {
      options.onProgress('the bridge is reading its records');
    }
  });
  let health: HealthView;
  try {
    health = await client.get<HealthView>('health');
  } catch (error) {
    if (
      target.type === 'socket' &&
      error instanceof MusterError &&
      error.code === 'bridge-unavailable'
    ) {
      return null; // a record without a bridge: it was killed
    }
    throw error;
  }
  if (health.protocol !== PROTOCOL_VERSION) {
    throw new CliFailure(
      EXIT.unreachable,
      `the bridge speaks protocol ${String(health.protocol)} (version ${health.version}), this command ${PROTOCOL_VERSION}`,
      health.protocol < PROTOCOL_VERSION
        ? 'the Muster that started it is older: `muster shutdown` there, clusters stay'
        : 'upgrade this Muster'
    );
  }
  return { client, health };
}

/** The living bridge, started where there is none and that is wanted. */
export async function needBridge(
  options: FinderOptions,
  mayStart: boolean
): Promise<ApiClient> {
  const found = await findBridge(options);
  if (found !== null) {
    return found.client;
  }
  if (!mayStart || options.socket !== undefined) {
    throw new CliFailure(
      EXIT.unreachable,
      'no bridge is running',
      mayStart
        ? 'leave out --socket, and one is started'
        : 'leave out --no-start, and one is started'
    );
  }
  await startBridge(options);
  const started = await findBridge(options);
  if (started === null) {
    throw new CliFailure(
      EXIT.unreachable,
      'the bridge was started but does not answer',
      'muster doctor looks for the reason'
    );
  }
  return started.client;
}

async function startBridge(options: FinderOptions): Promise<void> {
  const argv = starterOf(options.environment);
  options.onProgress('starting the bridge');
  const [program = '', ...args] = argv;
  const { stdout, failed } = await new Promise<{
    stdout: string;
    failed: string | null;
  }>(resolve => {
    execFile(
      program,
      args,
      { encoding: 'utf8', env: options.environment, maxBuffer: 1024 * 1024 },
      (error, out, errors) => {
        resolve({
          stdout: out,
          failed:
            error === null
              ? null
              : (errors.trim().split('\n').at(-1) ?? error.message)
        });
      }
    );
  });
  if (failed === null) {
    return;
  }
  const last = stdout.trim().split('\n').at(-1) ?? '';
  let body: unknown = null;
  try {
    body = JSON.parse(last);
  } catch {
    // Said with its own words below.
  }
  const said = errorBodySchema.safeParse(body);
  throw said.success
    ? new CliFailure(
        EXIT.unreachable,
        said.data.error.message,
        said.data.error.hint ?? null,
        said.data
      )
    : new CliFailure(
        EXIT.unreachable,
        `the bridge cannot be started: ${failed === '' ? 'no reason given' : failed}`,
        'muster doctor looks for the reason'
      );
}

function starterOf(environment: NodeJS.ProcessEnv): string[] {
  try {
    const argv: unknown = JSON.parse(environment['MUSTER_STARTER'] ?? '');
    if (
      Array.isArray(argv) &&
      argv.length > 0 &&
      argv.every(part => typeof part === 'string')
    ) {
      return argv;
    }
  } catch {
    // Falls to the message below.
  }
  throw new CliFailure(
    EXIT.unreachable,
    'no bridge is running, and this command does not know how to start one',
    'run it as `muster`, the command that comes with the Python package'
  );
}
