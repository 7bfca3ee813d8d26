/** A real `jupyter lab` with folders of its own, which a test may stop, kill and start again. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesMarked, settledProcesses } from './processes.js';
import type { Process } from './processes.js';

const HERE = import.meta.dirname;
const ROOT = resolve(HERE, '..');
/** Milliseconds a server may take to come up on a busy machine. */
const START_LIMIT = 90_000;
/** As under a hub: every address that forgets the prefix shows. */
const BASE_PATH = '/user/x';

export type ServerOptions = {
  /** Extra environment, e.g. to hide Node. */
  environment?: Record<string, string>;
  /** Extra lines of the Jupyter configuration (Python, with `c`). */
  configuration?: string;
};

export class JupyterServer {
  private constructor(
    readonly root: string,
    readonly port: number,
    private readonly options: ServerOptions
  ) {}

  readonly token = randomBytes(16).toString('hex');
  private child: ChildProcess | null = null;

  /** Folders under a short path: sockets have at most a hundred bytes. */
  static async create(options: ServerOptions = {}): Promise<JupyterServer> {
    const root = mkdtempSync('/tmp/mui-');
    for (const folder of [
      'state',
      'run',
      'tmp',
      'config',
      'data',
      'home',
      'work'
    ]) {
      mkdirSync(join(root, folder), { mode: 0o700 });
    }
    // No question about news in front of what a test looks at.
    const settings = join(
      root,
      'config/lab/user-settings/@jupyterlab/apputils-extension'
    );
    mkdirSync(settings, { recursive: true });
    writeFileSync(
      join(settings, 'notification.jupyterlab-settings'),
      JSON.stringify({ fetchNews: 'false', checkForUpdates: false })
    );
    return new JupyterServer(root, await freePort(), options);
  }

  /** Without a trailing slash, as Galata joins it. */
  get baseURL(): string {
    return `http://127.0.0.1:${this.port}${BASE_PATH}`;
  }

  get basePath(): string {
    return BASE_PATH;
  }

  get headers(): Record<string, string> {
    return { Authorization: `token ${this.token}` };
  }

  get workFolder(): string {
    return join(this.root, 'work');
  }

  /** The environment of everything that belongs to this test. */
  get environment(): NodeJS.ProcessEnv {
    const home = join(this.root, 'home');
    const bin = dirname(python());
    return {
      ...process.env,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      TMPDIR: join(this.root, 'tmp'),
      XDG_RUNTIME_DIR: join(this.root, 'run'),
      XDG_STATE_HOME: join(home, '.local/state'),
      XDG_CONFIG_HOME: join(home, '.config'),
      XDG_CACHE_HOME: join(home, '.cache'),
      IPYTHONDIR: join(home, '.ipython'),
      MUSTER_STATE_DIR: join(this.root, 'state'),
      JUPYTER_CONFIG_DIR: join(this.root, 'config'),
      JUPYTER_DATA_DIR: join(this.root, 'data'),
      JUPYTER_RUNTIME_DIR: join(this.root, 'data', 'runtime'),
      JUPYTERLAB_SETTINGS_DIR: join(
        this.root,
        'config',
        'lab',
        'user-settings'
      ),
      JUPYTERLAB_WORKSPACES_DIR: join(this.root, 'config', 'lab', 'workspaces'),
      ...this.options.environment
    };
  }

  async start(): Promise<void> {
    if (this.child !== null) {
      return;
    }
    const configuration = join(this.root, 'config', 'test_config.py');
    writeFileSync(
      configuration,
      `${readFileSync(join(HERE, 'jupyter_server_test_config.py'), 'utf8')}\n${this.options.configuration ?? ''}\n`
    );
    const labextensions = this.labextensions();
    // The interpreter itself, not a console script: a signal must reach the server.
    const child = spawn(
      python(),
      [
        '-m',
        'jupyterlab',
        `--config=${configuration}`,
        '--no-browser',
        '--allow-root',
        '--ServerApp.ip=127.0.0.1',
        `--ServerApp.port=${this.port}`,
        '--ServerApp.port_retries=0',
        `--ServerApp.base_url=${BASE_PATH}/`,
        `--IdentityProvider.token=${this.token}`,
        `--ServerApp.root_dir=${this.workFolder}`,
        ...(labextensions === undefined
          ? []
          : [`--LabApp.labextensions_path=${labextensions}`])
      ],
      {
        env: this.environment,
        stdio: ['ignore', 'pipe', 'pipe'],
        cwd: this.workFolder
      }
    );
    this.child = child;
    const log = (data: Buffer): void => {
      appendFileSync(this.logFile, data);
    };
    child.stdout.on('data', log);
    child.stderr.on('data', log);
    const deadline = Date.now() + START_LIMIT;
    while (!(await this.answers())) {
      if (child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`jupyter lab did not come up:\n${this.log()}`);
      }
      await sleep(150);
    }
  }

  /**
   * Where the panel is loaded from: the folder named, else with the tree's own environment the
   * tree's build (an editable install is a copy that grows old), else what is installed.
   */
  private labextensions(): string | undefined {
    const named = process.env['MUSTER_TEST_LABEXTENSIONS'];
    if (
      named !== undefined ||
      process.env['MUSTER_TEST_PYTHON'] !== undefined
    ) {
      return named;
    }
    const folder = join(this.root, 'labextensions');
    if (!existsSync(folder)) {
      mkdirSync(folder);
      symlinkSync(
        join(ROOT, 'jupyterlab_muster', 'labextension'),
        join(folder, 'jupyterlab-muster')
      );
    }
    return folder;
  }

  /** End the server as named; waits until the process is gone. Bridge and clusters live on. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const { child } = this;
    this.child = null;
    if (
      child === null ||
      child.exitCode !== null ||
      child.signalCode !== null
    ) {
      return;
    }
    const ended = new Promise(settle => child.once('exit', settle));
    child.kill(signal);
    if ((await Promise.race([ended, sleep(30_000, 'late')])) === 'late') {
      child.kill('SIGKILL');
      await ended;
      throw new Error(`jupyter lab did not end within 30 s:\n${this.log()}`);
    }
  }

  /** Of the API of the bridge, through the server. */
  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${this.baseURL}/muster/api/v1/${path}`, {
      method,
      headers: {
        ...this.headers,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    });
    const text = await response.text();
    if (!response.ok) {
      throw new Error(`${method} ${path}: ${response.status} ${text}`);
    }
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** The bridge's own record, or null while there is none. */
  bridge(): { pid: number; secret: string } | null {
    const file = join(this.runtimeFolder, 'bridge.json');
    return existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as {
          pid: number;
          secret: string;
        })
      : null;
  }

  /** Everything of this test that lives, the server included. */
  processes(): Process[] {
    return processesMarked(this.root);
  }

  /** Only what computes: neither the server with its kernels nor the bridge. */
  computing(): Process[] {
    return this.processes().filter(({ command }) =>
      /clusters\/[0-9a-z]{16}|dask|distributed/.test(command)
    );
  }

  /**
   * End everything: clusters, bridge, server. What is still alive after that is the answer, and is
   * killed, so that one failed test does not spoil the next.
   */
  async end(): Promise<Process[]> {
    await this.endBridge();
    await this.stop();
    const left = await settledProcesses(() => this.processes(), 20_000);
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has just ended by itself.
      }
    }
    if (left.length === 0) {
      rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
    }
    return left;
  }

  /** Stop all clusters and then the bridge, past Jupyter, which may be down. */
  private async endBridge(): Promise<void> {
    let record = this.bridge();
    // One that is still starting would come up when nobody is there to end it.
    const deadline = Date.now() + 30_000;
    while (
      record === null &&
      Date.now() < deadline &&
      this.processes().some(({ command }) => /bridge\.mjs serve/.test(command))
    ) {
      await sleep(200);
      record = this.bridge();
    }
    if (record === null) {
      return;
    }
    const options: BridgeCall = {
      socketPath: join(this.runtimeFolder, 'bridge.sock'),
      secret: record.secret
    };
    const living = async (): Promise<{ id: string }[]> => {
      const { items } = (await callBridge(options, 'GET', 'clusters')) as {
        items: { id: string; phase: string }[];
      };
      return items.filter(
        ({ phase }) => phase !== 'stopped' && phase !== 'failed'
      );
    };
    try {
      for (const { id } of await living()) {
        await callBridge(options, 'DELETE', `clusters/${id}`);
      }
      const limit = Date.now() + 30_000;
      while ((await living()).length > 0 && Date.now() < limit) {
        await sleep(200);
      }
      await callBridge(options, 'POST', 'shutdown');
    } catch (error) {
      // A bridge that was killed answers nothing; what it left is found by the count of processes.
      if (!/ECONNREFUSED|ENOENT|ECONNRESET/.test(String(error))) {
        throw error;
      }
    }
  }

  private get runtimeFolder(): string {
    return join(this.root, 'run', 'muster');
  }

  /** The last of what the server said, without the bundles it quotes in tracebacks. */
  log(): string {
    return existsSync(this.logFile)
      ? readFileSync(this.logFile, 'utf8')
          .split('\n')
          .slice(-200)
          .map(line => line.slice(0, 400))
          .join('\n')
      : '';
  }

  private get logFile(): string {
    return join(this.root, 'jupyter.log');
  }

  private async answers(): Promise<boolean> {
    try {
      const response = await fetch(`${this.baseURL}/api/status`, {
        headers: this.headers
      });
      return response.ok;
    } catch {
      return false;
    }
  }
}

type BridgeCall = { socketPath: string; secret: string };

/** One call of the bridge's API on its own socket. */
function callBridge(
  { socketPath, secret }: BridgeCall,
  method: string,
  path: string
): Promise<unknown> {
  return new Promise((settle, fail) => {
    const call = request(
      {
        socketPath,
        method,
        path: `/api/v1/${path}`,
        headers: { Authorization: `Bearer ${secret}` },
        timeout: 30_000
      },
      response => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => {
          if ((response.statusCode ?? 500) >= 400) {
            fail(
              new Error(`${method} ${path}: ${response.statusCode} ${text}`)
            );
          } else {
            settle(text === '' ? undefined : JSON.parse(text));
          }
        });
      }
    );
    call.once('timeout', () =>
      call.destroy(new Error(`${method} ${path}: no answer`))
    );
    call.once('error', fail);
    call.end();
  });
}

function python(): string {
  return (
    process.env['MUSTER_TEST_PYTHON'] ?? join(ROOT, '.venv', 'bin', 'python')
  );
}

function freePort(): Promise<number> {
  return new Promise((settle, fail) => {
    const probe = createServer();
    probe.once('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        if (address === null || typeof address === 'string') {
          fail(new Error('no port'));
        } else {
          settle(address.port);
        }
      });
    });
  });
}
