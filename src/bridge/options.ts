/** What `bridge.mjs serve` is told at its start; everything else is found in the files these name. */
export type BridgeOptions = {
  /** Absolute 0700 folder of `bridge.sock` and `bridge.json`. */
  runtimeFolder: string;
  /** Absolute folder that holds one state folder per host. */
  stateRoot: string;
  /** Name of this host's state folder; null: the host's own name. */
  hostName: string | null;
  /** Absolute interpreter of the half that started us: the default environment. null: not told. */
  python: string | null;
  /** Folders that may hold a `muster.yaml`, the strongest (user) first. */
  configPaths: readonly string[];
  /** Seconds without clusters and clients after which the bridge ends by itself; 0: never. */
  idleTimeoutSeconds: number;
  logLevel: LogLevel;
};

export const LOG_LEVELS = [
  'trace',
  'debug',
  'info',
  'warn',
  'error',
  'fatal',
  'silent'
] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Seconds: the default of `--idle-timeout`. */
export const DEFAULT_IDLE_TIMEOUT_SECONDS = 600;
