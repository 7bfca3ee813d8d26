import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiFixture, HEADERS } from './fixtures/api-fixture.js';
import type { ApiFixture } from './fixtures/api-fixture.js';

let api: ApiFixture;
let folder: string;
let sockets: Socket[];

beforeEach(async () => {
  api = await apiFixture();
  folder = await mkdtemp(join(tmpdir(), 'muster-srv-'));
  sockets = [];
});

afterEach(async () => {
  for (const socket of sockets) {
    socket.destroy();
  }
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

function health(socketPath: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(
      { socketPath, path: '/api/v1/health', headers: HEADERS },
      answer => {
        answer.resume();
        answer.on('end', () => {
          resolve(answer.statusCode ?? 0);
        });
      }
    )
      .on('error', reject)
      .end();
  });
}

/** Everything the bridge writes to a raw connection until it ends. */
function raw(path: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => socket.write(text));
    sockets.push(socket);
    let answer = '';
    socket.on('data', data => (answer += data.toString()));
    socket.on('close', () => {
      resolve(answer);
    });
    socket.on('error', reject);
  });
}

describe('the socket file', () => {
  test('is private whatever the umask (S14), and the umask stays as it was', async () => {
    const before = process.umask(0);
    try {
      const path = join(folder, 'bridge.sock');
      await api.server.listen({ path });
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await health(path)).toBe(200);
    } finally {
      // Sets it back, and says what the bridge had left there.
      expect(process.umask(before)).toBe(0);
    }
  });

  test('a stale one is replaced, anything else is left alone', async () => {
    const path = join(folder, 'bridge.sock');
    await api.server.listen({ path });
    const other = await apiFixture();
    await other.server.listen({ path });
    expect(await health(path)).toBe(200);
    await other.close();
    const file = join(folder, 'file.sock');
    await writeFile(file, 'precious');
    await expect(api.server.listen({ path: file })).rejects.toThrow(
      'not a socket of this user'
    );
  });

  test('a path the kernel would cut is refused in words', async () => {
    const deep = join(folder, 'x'.repeat(90));
    await mkdir(deep);
    await expect(
      api.server.listen({ path: join(deep, 'bridge.sock') })
    ).rejects.toThrow(/at most 100 are possible/);
  });

  test('is made again when somebody cleans the runtime folder, and streams go on', async () => {
    const path = join(folder, 'bridge.sock');
    let gone = 0;
    await api.server.listen({ path }, () => {
      gone += 1;
    });
    await unlink(path);
    for (;;) {
      const status = await health(path).catch(() => 0);
      if (status === 200) {
        break;
      }
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    expect(gone).toBe(1);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('is gone after the end', async () => {
    const path = join(folder, 'bridge.sock');
    await api.server.listen({ path });
    await api.server.close();
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });
});

test('twenty servers open and close without leaving a handle', async () => {
  const count = () =>
    process
      .getActiveResourcesInfo()
      .filter(name => !/^(Immediate|TickObject)$/.test(name)).length;
  const round = async () => {
    const one = await apiFixture();
    const path = await one.listen();
    expect(await health(path)).toBe(200);
    await one.close();
  };
  await round();
  const before = count();
  for (let index = 0; index < 20; index += 1) {
    await round();
  }
  await new Promise(resolve => setTimeout(resolve, 50));
  expect(count()).toBeLessThanOrEqual(before);
});

describe('limits (S23)', () => {
  test('above 64 connections newcomers are told so, and the next is served when one leaves', async () => {
    const path = await api.listen();
    const idle = await Promise.all(
      Array.from(
        { length: 64 },
        () =>
          new Promise<Socket>(resolve => {
            const socket = connect(path, () => {
              resolve(socket);
            });
            sockets.push(socket);
          })
      )
    );
    expect(await health(path)).toBe(429);
    idle.slice(0, 5).forEach(socket => socket.destroy());
    for (;;) {
      if ((await health(path)) === 200) {
        break;
      }
      await new Promise(resolve => setTimeout(resolve, 10));
    }
  });

  test.each([
    ['nonsense', 'GET\r\n\r\n', 400, 'spec-invalid'],
    [
      'headers without end',
      `GET / HTTP/1.1\r\nhost: bridge\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
      413,
      'too-large'
    ]
  ])('%s gets an answer of the API’s shape', async (_, text, status, code) => {
    const path = await api.listen();
    const answer = await raw(path, text);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
      error: { code }
    });
  });

  test('a request without Host is refused', async () => {
    const path = await api.listen();
    expect(await raw(path, 'GET /api/v1/health HTTP/1.0\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 403 /
    );
  });
});
