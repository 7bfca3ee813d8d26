/**
 * The daemon's composition root: reads what it was told, builds the parts, serves, and ends. Nothing
 * a cluster needs depends on how it ends (crash-only: SIGTERM, kill -9 and a fault are the same).
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Logger } from 'pino';
import pino from 'pino';
import { createBackends } from '../backends/registry.js';
import { MusterError, PROTOCOL_VERSION } from '../protocol/index.js';
import { ApiServer } from './api/server.js';
import { assembleClusters } from './assembly.js';
import { ClientRegistry } from './clusters/clients.js';
import { ConfigurationFiles } from './config/configuration-files.js';
import { EnvironmentCatalog } from './environments/environment-catalog.js';
import { askHealth, socketOf } from './hello.js';
import { bootId } from './host/boot-id.js';
import { hostName } from './host/host-name.js';
import { probeLocks, requireLocks } from './host/lock-probe.js';
import { ownIdentity } from './host/process-identity.js';
import { IdleWatch } from './idle-watch.js';
import type { BridgeOptions } from './options.js';
import { poolProgram } from './pool-program.js';
import { BridgeAnnouncement } from './security/bridge-announcement.js';
import { prepareCertificates } from './security/certificates.js';
import { StateOwnedError, takeOwnership } from './security/ownership.js';
import { ensurePrivateFolder } from './security/private-files.js';
import { newSecret } from './security/secret.js';
import { openStore } from './store/sqlite-store.js';
import { FENCED_EXIT_CODE } from './store/store-failure.js';
import { VERSION } from './version.js';

const SELF_CHECK = { firstMs: 30_000, everyMs: 3_600_000 } as const;
const CLOSE_DEADLINE_MS = 5_000;

/** Resolves when the bridge has ended; the process may exit then (`process.exitCode` is set). */
export async function runBridge(options: BridgeOptions): Promise<void> {
  const log = makeLog(options);
  const ending = Promise.withResolvers<string>();
  onSignals(ending.resolve);
  let bridge: Bridge | null = null;
  try {
    bridge = await build(options, log, ending.resolve);
  } catch (error) {
    if (error instanceof StateOwnedError && error.sameHost) {
      // Two started at once: the other one serves.
      log.info(error.message);
      return;
    }
    log.fatal({ err: error }, 'the bridge cannot start');
    process.exitCode = 1;
    return;
  }
  bridge.start().catch((error: unknown) => {
    log.fatal({ err: error }, 'recovery failed');
    process.exitCode = 1;
    ending.resolve('fault');
  });
  const why = await ending.promise;
  log.info({ why }, 'ending; clusters are left as they are');
  await bounded(bridge.close(), CLOSE_DEADLINE_MS, log);
}

type Bridge = {
  /** Recovery: load, look at every backend, then act. */
  start(): Promise<void>;
  close(): Promise<void>;
};

async function build(
  options: BridgeOptions,
  log: Logger,
  onEnd: (why: string) => void
): Promise<Bridge> {
  const host = options.hostName ?? hostName();
  const stateFolder = path.join(options.stateRoot, host);
  for (const folder of [
    options.runtimeFolder,
    options.stateRoot,
    stateFolder
  ]) {
    ensurePrivateFolder(folder);
  }
  const configuration = await ConfigurationFiles.open({
    paths: options.configPaths,
    log
  });
  requireLocks(
    stateFolder,
    await probeLocks(stateFolder, process.execPath),
    false
  );
  const fenced = (reason: string): void => {
    log.fatal({ reason }, 'not the owner any more: ending at once');
    process.exit(FENCED_EXIT_CODE);
  };
  const { lease, store } = await takeOwnership({
    folder: stateFolder,
    openStore: minimumEpoch =>
      openStore({
        file: path.join(stateFolder, 'muster.db'),
        backupsFolder: path.join(stateFolder, 'backups'),
        version: VERSION,
        minimumEpoch,
        selfCheck: { nodePath: process.execPath, ...SELF_CHECK },
        onLost: error => {
          fenced(error.message);
        },
        onWarning: message => {
          log.warn(message);
        }
      }),
    ownerAnswers: async () => (await askHealth(options.runtimeFolder)) !== null,
    onFenced: fenced,
    onWaiting: message => {
      log.info(message);
    }
  });
  const snapshot = await store.load();
  const bridge = randomBytes(8).toString('hex');
  const clients = new ClientRegistry();
  const environments = new EnvironmentCatalog({
    python: options.python,
    clients
  });
  const backends = createBackends({
    poolProgram,
    runtimeFolder: path.join(options.runtimeFolder, 'pools'),
    ...usersUmask()
  });
  const manager = assembleClusters({
    store,
    snapshot,
    backends,
    configuration,
    environments,
    clients,
    clustersFolder: path.join(stateFolder, 'clusters'),
    bridge,
    host,
    log,
    mayAct: async () => {
      if (!(await lease.mayWrite())) {
        throw new MusterError({
          code: 'conflict',
          message: 'this bridge does not own its state any more'
        });
      }
    }
  });
  const secret = newSecret();
  const server = await ApiServer.create({
    service: manager,
    identity: {
      bridge,
      host,
      version: VERSION,
      startedAt: new Date().toISOString()
    },
    secret,
    onShutdown: () => {
      onEnd('asked to shut down');
    },
    logger: log.child({ part: 'api' })
  });
  const socket = socketOf(options.runtimeFolder);
  const announcement = new BridgeAnnouncement({
    runtimeFolder: options.runtimeFolder,
    record: {
      ...ownIdentity(),
      host,
      bootId: bootId(),
      epoch: store.epoch,
      protocol: PROTOCOL_VERSION,
      version: VERSION,
      secret
    },
    onError: error => {
      log.warn({ err: error }, 'the record of this bridge cannot be kept');
    }
  });
  await server.listen({ path: socket }, () => {
    announcement.write();
  });
  announcement.open();
  log.info(
    { socket, epoch: store.epoch, clusters: snapshot.clusters.length },
    'listening'
  );
  const idle = new IdleWatch({
    timeoutSeconds:
      configuration.current.bridgeIdleTimeout ?? options.idleTimeoutSeconds,
    busy: () =>
      manager.active > 0 ||
      clients.present > 0 ||
      server.clients > 0 ||
      server.connections > 0,
    onIdle: () => {
      onEnd('idle');
    }
  });
  return {
    start: async () => {
      if (snapshot.restored !== null) {
        log.error(
          { restored: snapshot.restored },
          'the store was not as it was left'
        );
      }
      await manager.start(snapshot);
      await prepareCertificates();
      if (snapshot.restored !== null) {
        // Discovery is done: what the backends still run has been adopted.
        await store.transaction([{ type: 'acknowledge-restore' }]);
      }
    },
    close: async () => {
      idle.close();
      announcement.close();
      await server.close();
      await manager.close();
      await Promise.all([...backends.values()].map(backend => backend.close()));
      configuration.close();
      await store.close();
      await lease.release();
    }
  };
}

/** The bridge's own files are private; those of a user's tasks are as the user's shell would make them. */
function usersUmask(): { umask?: number } {
  const text = process.env['MUSTER_UMASK'] ?? '';
  return /^[0-7]{3}$/.test(text) ? { umask: Number.parseInt(text, 8) } : {};
}

/** SIGTERM and SIGINT: save and exit; SIGHUP (the terminal went away) means nothing to a daemon. */
function onSignals(end: (why: string) => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      end(signal);
    });
  }
  process.on('SIGHUP', () => undefined);
}

async function bounded(
  closing: Promise<void>,
  ms: number,
  log: Logger
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>(resolve => {
    timer = setTimeout(() => {
      log.warn('closing took too long');
      resolve();
    }, ms);
  });
  await Promise.race([
    closing.catch((error: unknown) => {
      log.error({ err: error }, 'closing failed');
    }),
    late
  ]);
  clearTimeout(timer);
}

/** NDJSON on stderr, which the half that started us points at the log file; never a secret. */
function makeLog(options: BridgeOptions): Logger {
  return pino(
    {
      level: options.logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [
          'secret',
          '*.secret',
          'headers.authorization',
          '*.authorization'
        ],
        censor: '[secret]'
      }
    },
    pino.destination({ fd: 2, sync: true })
  );
}
