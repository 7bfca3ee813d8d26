import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test
} from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { createPrivateFile } from './private-files.js';

let bundleFolder: string;
let bundle: string;
let folder: string;
const bridges: Bridge[] = [];

/** Times are divided by this: a lease is over after 1.5 s. */
const SPEED = 20;

class Bridge {
  constructor(answers = '-', speed = SPEED) {
    this.child = spawn(
      process.execPath,
      [bundle, folder, String(speed), answers],
      { stdio: ['ignore', 'pipe', 'inherit'] }
    );
    this.child.stdout?.on('data', (chunk: Buffer) => {
      this.output += chunk.toString();
      this.#look();
    });
    this.ended = new Promise(resolve => {
      this.child.once('close', (code, signal) => {
        resolve({ code, signal });
        this.#look();
      });
    });
    bridges.push(this);
  }

  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  output = '';
  #waiting: (() => void)[] = [];

  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output);
      if (match !== null) {
        return match;
      }
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`ended without ${String(pattern)}: ${this.output}`);
      }
      await new Promise<void>(resolve => this.#waiting.push(resolve));
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  #look(): void {
    for (const resolve of this.#waiting.splice(0)) {
      resolve();
    }
  }
}

beforeAll(async () => {
  bundleFolder = mkdtempSync(join(tmpdir(), 'muster-bundle-'));
  bundle = join(bundleFolder, 'owner-process.mjs');
  await build({
    entryPoints: [
      join(process.cwd(), 'src/bridge/security/fixtures/owner-process.ts')
    ],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    outfile: bundle,
    banner: {
      js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);"
    }
  });
});

afterAll(() => {
  rmSync(bundleFolder, { recursive: true, force: true });
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-owner-'));
});

afterEach(async () => {
  for (const bridge of bridges.splice(0)) {
    bridge.kill('SIGKILL');
    await bridge.ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

describe('two bridges and one state folder', () => {
  test('the second is told who the owner is while that one is alive', async () => {
    const first = new Bridge();
    await first.says(/owner 1 1/);
    const second = new Bridge();
    await second.says(
      new RegExp(`owned by ${first.child.pid}, same host: true`)
    );
    expect((await second.ended).code).toBe(0);
    // The owner was not disturbed.
    first.output = '';
    await first.says(/wrote in 1/);
  });

  test('a killed owner is followed at once', async () => {
    // At real speed: waiting for the lease to be over would take 30 s.
    const first = new Bridge('-', 1);
    await first.says(/wrote in 1/);
    first.kill('SIGKILL');
    await first.ended;
    const begun = Date.now();
    const second = new Bridge('-', 1);
    await second.says(/owner 2 2/);
    expect(Date.now() - begun).toBeLessThan(20_000);
  });

  test('exactly one of many that start at once owns the folder', async () => {
    for (let round = 1; round <= 3; round++) {
      const starters = Array.from({ length: 5 }, () => new Bridge());
      const said = await Promise.all(
        starters.map(starter => starter.says(/owner|owned/))
      );
      expect(said.filter(match => match[0] === 'owner')).toHaveLength(1);
      for (const bridge of bridges.splice(0)) {
        bridge.kill('SIGKILL');
        await bridge.ended;
      }
    }
  });

  test('a stopped owner is killed once its lease is over, and never writes again', async () => {
    for (let round = 0; round < 3; round++) {
      const first = new Bridge();
      const [, epoch] = await first.says(/owner (\d+)/);
      await first.says(/wrote/);
      first.kill('SIGSTOP');
      const second = new Bridge();
      const [, next] = await second.says(/owner (\d+)/);
      expect(Number(next)).toBeGreaterThan(Number(epoch));
      first.kill('SIGCONT');
      expect(await first.ended).toEqual({ code: null, signal: 'SIGKILL' });
      second.output = '';
      await second.says(/wrote/);
      second.kill('SIGKILL');
      await second.ended;
    }
  });

  test('a stopped owner whose socket still answers is left alone', async () => {
    const answers = join(folder, 'answers');
    const first = new Bridge(answers);
    await first.says(/wrote/);
    writeFileSync(answers, '');
    first.kill('SIGSTOP');
    const second = new Bridge(answers);
    await second.says(/owned by/);
    first.kill('SIGCONT');
    first.output = '';
    await first.says(/wrote in 1/);
  });

  test('an owner whose lease another host took ends itself with 75', async () => {
    const first = new Bridge();
    await first.says(/wrote/);
    const record = JSON.parse(
      readFileSync(join(folder, 'lease'), 'utf8')
    ) as Record<string, unknown>;
    rmSync(join(folder, 'lease'));
    createPrivateFile(
      join(folder, 'lease'),
      JSON.stringify({
        ...record,
        host: 'elsewhere',
        nonce: 'f'.repeat(32),
        epoch: 9
      })
    );
    expect((await first.ended).code).toBe(75);
    expect(first.output).toMatch(/fenced: .*elsewhere/);
  });

  test('a lease of another host is waited for until it is over', async () => {
    const first = new Bridge();
    await first.says(/wrote/);
    first.kill('SIGKILL');
    await first.ended;
    const record = JSON.parse(
      readFileSync(join(folder, 'lease'), 'utf8')
    ) as Record<string, unknown>;
    rmSync(join(folder, 'lease'));
    createPrivateFile(
      join(folder, 'lease'),
      JSON.stringify({ ...record, host: 'elsewhere', epoch: 40 })
    );
    const second = new Bridge();
    await second.says(/owner 41 41/);
  });
});
