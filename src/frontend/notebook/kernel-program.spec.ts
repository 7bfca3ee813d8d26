/** The quiet connect code in a real kernel, against real schedulers (B1, W13, W14). */
import { spawn } from 'child_process';
import { join } from 'path';
import { createInterface } from 'readline';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it
} from '@jest/globals';
import { kernelCode, readReport, REPORT_EXPRESSIONS } from './kernel-code.js';
import type { KernelReport, KernelTask } from './kernel-code.js';

type Reply = {
  status: string;
  execution_count: number;
  user_expressions?: Record<string, { data?: Record<string, string> }>;
  evalue?: string;
};

const driver = spawn(
  process.env['MUSTER_TEST_PYTHON'] ?? 'python',
  [join(__dirname, 'fixtures', 'kernel-driver.py')],
  { stdio: ['pipe', 'pipe', 'inherit'] }
);
const lines = createInterface({ input: driver.stdout })[Symbol.asyncIterator]();
let addresses: [string, string];

async function nextLine<T>(): Promise<T> {
  const { value, done } = await lines.next();
  if (done === true) {
    throw new Error('the kernel driver ended');
  }
  return JSON.parse(value) as T;
}

async function ask<T>(request: object): Promise<T> {
  driver.stdin.write(`${JSON.stringify(request)}\n`);
  return nextLine<T>();
}

/** What a user's cell evaluates to, as text. */
async function value(expression: string): Promise<string> {
  const reply = await ask<Reply>({
    execute: '',
    silent: true,
    expressions: { it: expression }
  });
  return reply.user_expressions?.['it']?.data?.['text/plain'] ?? 'no value';
}

async function cell(code: string): Promise<Reply> {
  const reply = await ask<Reply>({ execute: code, silent: false });
  expect(reply.evalue).toBeUndefined();
  return reply;
}

async function quietly(task: KernelTask): Promise<KernelReport> {
  const reply = await ask<Reply>({
    execute: kernelCode(task),
    silent: true,
    expressions: REPORT_EXPRESSIONS
  });
  expect(reply.status).toBe('ok');
  return readReport(reply.user_expressions);
}

const connect = (which: 0 | 1, name = 'analysis'): Promise<KernelReport> =>
  quietly({
    do: 'connect',
    name,
    connection: { address: addresses[which], security: null }
  });

beforeAll(async () => {
  ({ addresses } = await nextLine<{ addresses: [string, string] }>());
});

beforeEach(async () => {
  await quietly({ do: 'disconnect' });
  await cell('%reset -f');
});

afterAll(async () => {
  const ended = new Promise(resolve => driver.once('exit', resolve));
  driver.stdin.end();
  await ended;
});

describe('the quiet connect code', () => {
  it('gives a fresh kernel a client that computes', async () => {
    expect(await connect(0)).toEqual({ state: 'connected', named: true });
    await cell('answer = client.submit(sum, [1, 2]).result()');
    expect(await value('answer')).toBe('3');
    expect(await value('__import__("os").environ["MUSTER_CLUSTER"]')).toBe(
      "'analysis'"
    );
  });

  it('leaves nothing in the namespace but the client, and no trace in the counter', async () => {
    const before = (await cell('names = set(globals())')).execution_count;
    await connect(0);
    expect(await value('sorted(set(globals()) - names - {"names"})')).toBe(
      "['client']"
    );
    const after = (await cell('pass')).execution_count;
    expect(after).toBe(before + 1);
  });

  it('makes no second client when it runs again', async () => {
    await connect(0);
    await cell('first = client');
    await connect(0);
    expect(await value('client is first')).toBe('True');
    expect(await ask({ clients: 0 })).toEqual({ clients: 1 });
  });

  it('never overwrites a variable of the user named client', async () => {
    await cell('client = 42');
    expect(await connect(0)).toEqual({ state: 'connected', named: false });
    expect(await value('client')).toBe('42');
    await cell(
      'import distributed; sum_ = distributed.get_client().submit(sum, [1, 2]).result()'
    );
    expect(await value('sum_')).toBe('3');
  });

  it('leaves a client alone that the user made in between', async () => {
    await connect(0);
    await cell('client = "mine"');
    await connect(0);
    expect(await value('client')).toBe("'mine'");
    await quietly({ do: 'disconnect' });
    expect(await value('client')).toBe("'mine'");
  });

  it('keeps a live client of the user that computes elsewhere, and stays out of its way', async () => {
    await cell(
      `from distributed import Client\nclient = Client("${addresses[1]}")`
    );
    expect(await connect(0)).toEqual({ state: 'kept' });
    expect(await value('client.scheduler.address')).toBe(`'${addresses[1]}'`);
    expect(await ask({ clients: 0 })).toEqual({ clients: 0 });
    await cell('client.close()');
  });

  it('is content with the client the inserted snippet made', async () => {
    await cell(
      `from distributed import Client\nclient = Client("${addresses[0]}")`
    );
    expect(await connect(0)).toEqual({ state: 'connected', named: true });
    expect(await ask({ clients: 0 })).toEqual({ clients: 1 });
    await cell('client.close()');
  });

  it('moves its own client when another cluster is chosen', async () => {
    await connect(0);
    await connect(1, 'explore');
    expect(await value('client.scheduler.address')).toBe(`'${addresses[1]}'`);
    expect(await ask({ clients: 0 })).toEqual({ clients: 0 });
    expect(await value('__import__("os").environ["MUSTER_CLUSTER"]')).toBe(
      "'explore'"
    );
  });

  it('takes its client and the name away on disconnect', async () => {
    await connect(0);
    expect(await quietly({ do: 'disconnect' })).toEqual({
      state: 'disconnected'
    });
    expect(await value('"client" in globals()')).toBe('False');
    expect(await value('"MUSTER_CLUSTER" in __import__("os").environ')).toBe(
      'False'
    );
  });

  it('finds the scheduler of the client a kernel has, and says so where it has none (W13)', async () => {
    expect(await quietly({ do: 'find' })).toEqual({ state: 'none' });
    await cell(
      `from distributed import Client\nown = Client("${addresses[1]}")`
    );
    expect(await quietly({ do: 'find' })).toEqual({
      state: 'found',
      address: addresses[1],
      security: null
    });
    await cell('own.close()');
    expect(await quietly({ do: 'find' })).toEqual({ state: 'none' });
  });

  it('says that there is no Dask in the kernel', async () => {
    await cell(
      'import sys\nkept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "distributed"}\nsys.modules["distributed"] = None'
    );
    const report = await connect(0);
    await cell('del sys.modules["distributed"]\nsys.modules.update(kept)');
    expect(report.state).toBe('no-dask');
  });

  it('reports a failure in words and raises nothing', async () => {
    const report = await quietly({
      do: 'connect',
      name: 'analysis',
      connection: {
        address: 'tls://127.0.0.1:9',
        security: {
          caFile: '/absent/ca.pem',
          certFile: '/absent/cert.pem',
          keyFile: '/absent/key.pem'
        }
      }
    });
    expect(report.state).toBe('failed');
    expect(report).toHaveProperty(
      'message',
      expect.stringMatching(/absent|No such file/)
    );
  });

  it('lets no value become code, whatever letters it has', async () => {
    const name = `'"\\ \u2028\n"); raise SystemExit #\u00e9\u{1f680}%1{x}`;
    await connect(0, name);
    expect(
      await value(
        '__import__("json").dumps(__import__("os").environ["MUSTER_CLUSTER"])'
      )
    ).toBe(
      `'${JSON.stringify(name)
        .replace(
          /[\u007f-\uffff]/g,
          c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
        )
        .replace(/\\/g, '\\\\')
        .replace(/'/g, "\\'")}'`
    );
  });
});
