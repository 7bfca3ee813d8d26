/** The real bridge as a benchmark runs it: own folders, spoken to over its socket, gone afterwards. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync
} from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const BUNDLE = 'jupyterlab_muster/bridge/bridge.mjs';

export function requireBundle() {
  if (!existsSync(BUNDLE)) {
    throw new Error(`${BUNDLE} is not built: npm run build:bridge`);
  }
}

/**
 * @param {{program?: string[], python: string}} options program: the Node arguments before `serve`
 */
export async function startBridge({ program = [BUNDLE], python }) {
  const root = mkdtempSync(join(tmpdir(), 'mb-'));
  const runtime = join(root, 'run');
  const state = join(root, 'state');
  for (const folder of [runtime, state]) {
    mkdirSync(folder, { mode: 0o700 });
  }
  const begun = performance.now();
  const child = spawn(
    process.execPath,
    [
      ...program,
      'serve',
      '--runtime',
      runtime,
      '--state',
      state,
      '--python',
      python,
      '--config',
      join(root, 'config'),
      '--idle-timeout',
      '0',
      '--log-level',
      'warn'
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], detached: true }
  );
  let words = '';
  child.stderr.on('data', chunk => {
    words = (words + chunk).slice(-4_000);
  });
  const agent = new Agent({ keepAlive: true });
  const bridge = {
    root,
    pid: child.pid,
    /** One request; the parsed body. @throws with the API's own words. */
    async call(method, path, body, headers = {}) {
      const record = JSON.parse(
        readFileSync(join(runtime, 'bridge.json'), 'utf8')
      );
      const { status, text } = await send(agent, {
        socketPath: join(runtime, 'bridge.sock'),
        method,
        path: `/api/v1/${path}`,
        headers: {
          authorization: `Bearer ${record.secret}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers
        },
        body: body === undefined ? null : JSON.stringify(body)
      });
      if (status >= 400) {
        throw Object.assign(
          new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`),
          { status }
        );
      }
      return text === '' ? null : JSON.parse(text);
    },
    /** Ends the bridge and proves that nothing of the round is alive. */
    async stop() {
      agent.destroy();
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'close');
        child.kill('SIGTERM');
        const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
        await ended;
        clearTimeout(timer);
      }
      const left = await processesOf(root);
      rmSync(root, { recursive: true, force: true });
      if (left.length > 0) {
        throw new Error(
          `the round left processes behind: ${JSON.stringify(left)}`
        );
      }
    }
  };
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) {
      rmSync(root, { recursive: true, force: true });
      throw new Error(
        `the bridge ended (${child.exitCode ?? child.signalCode}): ${words}`
      );
    }
    try {
      bridge.health = await bridge.call('GET', 'health');
      break;
    } catch (error) {
      if (performance.now() - begun > 30_000) {
        await bridge.stop();
        throw new Error(
          `the bridge did not answer in 30 s: ${error}; ${words}`
        );
      }
      await sleep(2);
    }
  }
  const startMs = performance.now() - begun;
  for (;;) {
    try {
      await bridge.call('GET', 'clusters');
      return { ...bridge, startMs, readyMs: performance.now() - begun };
    } catch (error) {
      if (error.status !== 503 || performance.now() - begun > 60_000) {
        await bridge.stop();
        throw error;
      }
      await sleep(2);
    }
  }
}

/** Processes whose command line or working folder is in a folder, after up to 10 s of grace. */
async function processesOf(root) {
  for (let i = 0; ; i++) {
    const found = readdirSync('/proc')
      .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
      .flatMap(pid => {
        try {
          const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
          return line.includes(root)
            ? [{ pid: Number(pid), line: line.replaceAll('\0', ' ').trim() }]
            : [];
        } catch {
          return [];
        }
      });
    if (found.length === 0 || i >= 100) {
      return found;
    }
    await sleep(100);
  }
}

function send(agent, { socketPath, method, path, headers, body }) {
  return new Promise((resolve, reject) => {
    const sent = request(
      { agent, socketPath, method, path, headers, timeout: 10_000 },
      response => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', chunk => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode, text })
        );
        response.on('error', reject);
      }
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer in 10 s')));
    sent.on('error', reject);
    sent.end(body);
  });
}
