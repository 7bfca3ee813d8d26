/**
 * UI tests in a real JupyterLab (specs/jupyterlab-extension.md §14). Run from the project's root:
 *
 *   npx playwright test -c ui-tests/playwright.config.ts
 *
 * MUSTER_CHROMIUM     browser to use; else Debian's, else Playwright's own
 * MUSTER_TEST_PYTHON  interpreter of the environment with JupyterLab and Muster; else `.venv`'s
 * MUSTER_TEST_LABEXTENSIONS  folder that holds `jupyterlab-muster`, a build that is not installed
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import galata from '@jupyterlab/galata/lib/playwright-config.js';
import { defineConfig } from '@playwright/test';
import type { PlaywrightTestConfig } from '@playwright/test';

const base = galata as PlaywrightTestConfig;

const chromium = [process.env['MUSTER_CHROMIUM'], '/usr/bin/chromium'].find(
  path => path !== undefined && existsSync(path)
);
const here = import.meta.dirname;

export default defineConfig({
  ...base,
  testDir: join(here, 'tests'),
  // Wiped at every run: pictures go elsewhere (ui-tests/screenshots).
  outputDir: join(here, 'test-results', 'output'),
  globalTeardown: join(here, 'teardown.ts'),
  fullyParallel: false,
  // One server at a time: each test counts the processes it leaves behind.
  workers: 1,
  retries: 0,
  timeout: 180_000,
  expect: { timeout: 30_000 },
  reporter: [
    ['list'],
    ['json', { outputFile: join(here, 'test-results', 'report.json') }]
  ],
  use: {
    ...base.use,
    viewport: { width: 1280, height: 800 },
    actionTimeout: 30_000,
    // Playwright's own ffmpeg is not there beside a system browser.
    video: 'off',
    trace: 'retain-on-failure',
    screenshot: 'only-on-failure',
    launchOptions: {
      ...(chromium === undefined ? {} : { executablePath: chromium }),
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']
    }
  }
});
