/** The command line of `bridge.mjs serve`. Pure. */
import { isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';
import { DEFAULT_IDLE_TIMEOUT_SECONDS, LOG_LEVELS } from './options.js';
import type { BridgeOptions, LogLevel } from './options.js';

export class UsageError extends Error {}

export const SERVE_USAGE = `usage: bridge.mjs serve --runtime DIR --state ROOT [--host-name NAME] [--python PATH]
                        [--config DIR,DIR…] [--idle-timeout SECONDS] [--log-level LEVEL]`;

/** @throws UsageError saying which option is wrong. */
export function serveOptions(args: readonly string[]): BridgeOptions {
  const values = parse(args);
  const level = values['log-level'] ?? 'info';
  if (!isLogLevel(level)) {
    throw new UsageError(
      `--log-level must be one of ${LOG_LEVELS.join(', ')}, not '${level}'`
    );
  }
  return {
    runtimeFolder: folder('--runtime', values.runtime),
    stateRoot: folder('--state', values.state),
    hostName: hostName(values['host-name']),
    python:
      values.python === undefined || values.python === ''
        ? null
        : folder('--python', values.python),
    configPaths: configPaths(values.config ?? ''),
    idleTimeoutSeconds: seconds(values['idle-timeout']),
    logLevel: level
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      allowPositionals: false,
      options: {
        runtime: { type: 'string' },
        state: { type: 'string' },
        'host-name': { type: 'string' },
        python: { type: 'string' },
        config: { type: 'string' },
        'idle-timeout': { type: 'string' },
        'log-level': { type: 'string' }
      }
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function folder(option: string, value: string | undefined): string {
  if (value === undefined || !isAbsolute(value)) {
    throw new UsageError(
      value === undefined
        ? `${option} is needed`
        : `${option} must be an absolute path, not '${value}'`
    );
  }
  return value;
}

function hostName(value: string | undefined): string | null {
  if (value === undefined) {
    return null;
  }
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value)) {
    throw new UsageError(`--host-name '${value}' is not the name of a host`);
  }
  return value;
}

/** The Python half joins by commas; a list joined as PATH is joined is read too. */
export function configPaths(text: string): string[] {
  return text.split(/[,:]/).filter(path => isAbsolute(path));
}

function seconds(value: string | undefined): number {
  if (value === undefined) {
    return DEFAULT_IDLE_TIMEOUT_SECONDS;
  }
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number) || number < 0) {
    throw new UsageError(
      `--idle-timeout must be seconds (0: never), not '${value}'`
    );
  }
  return number;
}

function isLogLevel(text: string): text is LogLevel {
  return (LOG_LEVELS as readonly string[]).includes(text);
}
