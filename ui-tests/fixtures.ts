/** Galata's test, in front of a server that the test owns. */
import { test as galata } from '@jupyterlab/galata';
import type { APIRequestContext } from '@playwright/test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ClusterPanel } from './pages/cluster-panel.js';
import { NotebookPage } from './pages/notebook-page.js';
import type { Process } from './processes.js';
import { JupyterServer } from './server.js';
import type { ServerOptions } from './server.js';

export { expect } from '@playwright/test';

type Fixtures = {
  server: JupyterServer;
  panel: ClusterPanel;
  notebook: NotebookPage;
};

export type Options = {
  /** Of the server of a test: `test.use({ serverOptions: {...} })`. */
  serverOptions: ServerOptions;
};

/**
 * A server for each test, with state of its own: two seconds more, and no test can see what
 * another left. At its end nothing may be alive.
 */
export const test = galata.extend<Fixtures & Options>({
  serverOptions: [{}, { option: true }],
  server: async ({ serverOptions }, use, info) => {
    const server = await JupyterServer.create(serverOptions);
    let left: Process[] = [];
    try {
      await server.start();
      await use(server);
    } finally {
      if (info.status !== info.expectedStatus) {
        await info.attach('jupyter.log', {
          body: server.log(),
          contentType: 'text/plain'
        });
      }
      left = await server.end();
    }
    if (left.length > 0) {
      throw new Error(
        `left alive:\n${left.map(({ pid, command }) => `${pid} ${command}`).join('\n')}`
      );
    }
  },
  baseURL: async ({ server }, use) => {
    await use(server.baseURL);
  },
  extraHTTPHeaders: async ({ server }, use) => {
    await use(server.headers);
  },
  // Galata's helpers ask for `/api/…` at the root of the host: give them the server's prefix.
  request: async ({ request, server }, use) => {
    const fetch = request.fetch.bind(request);
    request.fetch = (url: Parameters<APIRequestContext['fetch']>[0], options) =>
      fetch(
        typeof url === 'string' && url.startsWith('/api/')
          ? `${server.baseURL}${url}`
          : url,
        options
      );
    await use(request);
  },
  tmpPath: async ({ server }, use) => {
    mkdirSync(join(server.workFolder, 'test'), { recursive: true });
    await use('test');
  },
  // Under the mocks a kernel cannot be restarted, and servers that stop cannot be told apart.
  kernels: null,
  sessions: null,
  terminals: null,
  mockConfig: false,
  mockState: false,
  mockUser: false,
  mockSettings: false,
  // Also without a launcher, as after a reload with a notebook open.
  waitForApplication: async ({}, use) => {
    await use(async page => {
      await page.locator('#jupyterlab-splash').waitFor({ state: 'detached' });
      await page.evaluate(
        () => (window as unknown as LabWindow).jupyterapp.restored
      );
    });
  },
  panel: async ({ page }, use) => {
    await use(new ClusterPanel(page));
  },
  notebook: async ({ page }, use) => {
    await use(new NotebookPage(page));
  }
});

type LabWindow = { jupyterapp: { restored: Promise<void> } };
