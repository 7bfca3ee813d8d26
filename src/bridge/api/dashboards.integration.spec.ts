import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test
} from '@jest/globals';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import type { Browser, Frame, Page } from '@playwright/test';
import WebSocket from 'ws';
import { apiFixture, HEADERS } from './fixtures/api-fixture.js';
import type { ApiFixture } from './fixtures/api-fixture.js';
import { CLUSTER } from './fixtures/fake-cluster-service.js';
import { DASHBOARDS, jupyterLike } from './fixtures/jupyter-like.js';

let folder: string;
let scheduler: ChildProcess;
let dashboardPort: number;
let api: ApiFixture;
let socketPath: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-dash-'));
  const file = join(folder, 'scheduler.json');
  scheduler = spawn(
    'python',
    [
      '-m',
      'distributed.cli.dask_scheduler',
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--dashboard-address',
      '127.0.0.1:0',
      '--scheduler-file',
      file
    ],
    { stdio: 'ignore' }
  );
  for (;;) {
    try {
      const text = await readFile(file, 'utf8');
      const { services } = JSON.parse(text) as {
        services: { dashboard: number };
      };
      dashboardPort = services.dashboard;
      break;
    } catch {
      await new Promise(resolve => setTimeout(resolve, 200));
    }
  }
});

afterAll(async () => {
  const ended = new Promise(resolve => scheduler.once('exit', resolve));
  scheduler.kill('SIGTERM');
  await ended;
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  api = await apiFixture();
  api.service.target = { host: '127.0.0.1', port: dashboardPort };
  socketPath = await api.listen();
});

afterEach(async () => {
  await api.close();
});

type Answer = {
  status: number;
  headers: Record<string, unknown>;
  body: string;
};

function get(path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path, headers: HEADERS }, answer => {
      let body = '';
      answer.on('data', (part: Buffer) => (body += part.toString()));
      answer.on('end', () => {
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body
        });
      });
    })
      .on('error', reject)
      .end();
  });
}

describe('the relay before a real scheduler (W25, W26, B13)', () => {
  test('pages, JSON and static files come through, and the root leads to /status', async () => {
    const root = await get(`/dashboards/${CLUSTER}/`);
    expect(root.status).toBe(302);
    expect(root.headers['location']).toBe('./status');
    const page = await get(`/dashboards/${CLUSTER}/status`);
    expect(page.status).toBe(200);
    expect(page.body).toContain('bokeh');
    const plots = await get(`/dashboards/analysis/individual-plots.json`);
    expect(Object.keys(JSON.parse(plots.body) as object)).toContain(
      'Individual Task Stream'
    );
    const asset =
      /(?:src|href)="([^"]*static\/[^"?]+\.(?:js|css))/.exec(page.body)?.[1] ??
      '';
    expect(asset).not.toBe('');
    const path = new URL(asset, `http://x/dashboards/${CLUSTER}/status`)
      .pathname;
    const script = await get(path);
    expect(script.status).toBe(200);
  });

  test('a Bokeh session opens through it', async () => {
    const page = await get(`/dashboards/${CLUSTER}/individual-task-stream`);
    const token = /"token":"([^"]+)"/.exec(page.body)?.[1] ?? '';
    expect(token).not.toBe('');
    const socket = new WebSocket(
      `ws+unix://${socketPath}:/dashboards/${CLUSTER}/individual-task-stream/ws`,
      ['bokeh', token],
      { headers: HEADERS }
    );
    const first = await new Promise<string>((resolve, reject) => {
      socket.on('message', data => {
        resolve((data as Buffer).toString());
      });
      socket.on('error', reject);
    });
    expect(JSON.parse(first)).toMatchObject({ msgtype: 'ACK' });
    expect(api.server.clients).toBe(1);
    const closed = new Promise(resolve => socket.on('close', resolve));
    socket.close();
    await closed;
    while (api.server.clients > 0) {
      await new Promise(resolve => setTimeout(resolve, 10));
    }
  });
});

describe('in a browser', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']
    });
  });

  afterAll(async () => {
    await browser.close();
  });

  async function pane(
    page: Page,
    origin: string,
    plot: string
  ): Promise<Frame> {
    await page.goto(`${origin}/lab`);
    const handle = await page.$('#pane');
    // This file knows no DOM: what runs in the page is text.
    await page.evaluate(
      `document.getElementById('pane').src = ${JSON.stringify(`${DASHBOARDS}/${CLUSTER}/${plot}`)}`
    );
    const frame = await handle?.contentFrame();
    if (frame === null || frame === undefined) {
      throw new Error('no frame');
    }
    return frame;
  }

  test.each([true, false])(
    'a Bokeh plot draws and listens (relay with tickets: %s)',
    async tickets => {
      const jupyter = await jupyterLike(socketPath, { tickets });
      const page = await browser.newPage();
      const complaints: string[] = [];
      page.on('console', message => {
        if (message.type() === 'error') {
          complaints.push(message.text());
        }
      });
      page.on('pageerror', error => complaints.push(String(error)));
      try {
        const opened = page.waitForEvent('websocket');
        const frame = await pane(
          page,
          jupyter.origin,
          'individual-task-stream'
        );
        const stream = await opened;
        await frame.waitForFunction(
          () =>
            (globalThis as unknown as { Bokeh?: { documents: unknown[] } })
              .Bokeh?.documents.length === 1
        );
        expect(stream.url()).toContain(`/dashboards/${CLUSTER}/`);
        await frame.waitForSelector('.bk-Figure');
        expect(stream.isClosed()).toBe(false);
        const reach = await frame.evaluate(async () => {
          const answer = {
            origin: (globalThis as unknown as { origin: string }).origin,
            parent: 'closed',
            api: 'closed',
            outside: 'closed'
          };
          try {
            const { parent } = globalThis as unknown as {
              parent: { document: { title: string } };
            };
            answer.parent = parent.document.title;
          } catch {
            /* as it should */
          }
          try {
            answer.api = await (await fetch('/api/kernels')).text();
          } catch {
            /* as it should */
          }
          try {
            await fetch('http://127.0.0.1:9/', { mode: 'no-cors' });
          } catch (error) {
            answer.outside = String(error);
          }
          return answer;
        });
        if (tickets) {
          expect(frame.url()).toContain('/~');
          expect(reach).toMatchObject({
            origin: 'null',
            parent: 'closed',
            api: 'closed'
          });
          expect(jupyter.apiCalls.filter(call => call.cookie)).toEqual([]);
        } else {
          expect(frame.url()).not.toContain('/~');
          expect(reach.origin).toBe(jupyter.origin);
        }
        expect(reach.outside).toMatch(/TypeError/);
        // What Chromium complains about is what this test tried itself, nothing of the dashboard's.
        expect(
          complaints.filter(
            text =>
              !/status of 403|\/api\/kernels|ERR_FAILED|connect-src|Refused to connect/.test(
                text
              )
          )
        ).toEqual([]);
        expect(complaints.some(text => text.includes('connect-src'))).toBe(
          true
        );
        expect(jupyter.refused.filter(url => url !== '/favicon.ico')).toEqual(
          []
        );
      } finally {
        await page.close();
        await jupyter.close();
      }
    }
  );
});
