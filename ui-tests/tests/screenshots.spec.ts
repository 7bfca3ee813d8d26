/**
 * Pictures of every state of the panel, light and dark, into `ui-tests/screenshots` (not kept in
 * git). `node ui-tests/copy-readme-image.mjs` copies the README's one to `docs/images`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import { createCluster } from '../clusters.js';
import { expect, test } from '../fixtures.js';
import {
  failingBridge,
  halfMissing,
  nodeMissing,
  slowBridge
} from '../server-states.js';

const FOLDER = join(import.meta.dirname, '..', 'screenshots');

/** One picture in each theme; the page shows the same before and after. */
async function shoot(
  page: IJupyterLabPageFixture,
  name: string
): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  await page.theme.setLightTheme();
  await page.screenshot({ path: join(FOLDER, `${name}-light.png`) });
  await page.theme.setDarkTheme();
  await page.screenshot({ path: join(FOLDER, `${name}-dark.png`) });
  await page.theme.setDarkHighContrastTheme();
  await page.screenshot({ path: join(FOLDER, `${name}-contrast.png`) });
  await page.theme.setLightTheme();
}

for (const [name, serverOptions, title] of [
  ['half-missing', halfMissing, 'The server half is not enabled'],
  ['node-missing', nodeMissing, 'Node.js is missing'],
  ['bridge-failed', failingBridge, 'The bridge does not answer'],
  ['bridge-starting', slowBridge, /^Starting the bridge/],
  ['empty', {}, 'No cluster yet']
] as const) {
  test.describe(name, () => {
    test.use({ serverOptions });

    test(`a picture of: ${name}`, async ({ page, panel }) => {
      await panel.open();
      await expect(panel.card(title)).toBeVisible({ timeout: 60_000 });
      await shoot(page, name);
    });
  });
}

test('pictures of clusters at work, the dialog and the picker', async ({
  page,
  panel,
  notebook,
  server
}) => {
  test.setTimeout(600_000);
  const ended = await createCluster(server, { name: 'yesterday', workers: 1 });
  await server.api('DELETE', `clusters/${ended}`);
  await createCluster(server, { name: 'explore', workers: 1 });
  await createCluster(server, { name: 'analysis', workers: 3 });
  await notebook.create('analysis.ipynb');
  await panel.open();
  await panel.expectWorkers('analysis', 3);
  await panel.select('analysis');
  await notebook.choose('analysis');
  await expect(notebook.picker).toHaveText('analysis · 3');
  await notebook.setSource(
    0,
    'import random\n\ndef inside(n):\n    return sum(random.random() ** 2 + random.random() ** 2 < 1 for _ in range(n))\n\nparts = client.map(inside, [200_000] * 60, pure=False)\n4 * sum(client.gather(parts)) / 12_000_000'
  );
  await notebook.run(0);
  await shoot(page, 'running');
  mkdirSync(FOLDER, { recursive: true });
  await page.screenshot({ path: join(FOLDER, 'readme.png') });

  await notebook.openPicker();
  await page.screenshot({ path: join(FOLDER, 'picker-light.png') });
  await page.keyboard.press('Escape');

  for (const theme of ['light', 'dark'] as const) {
    await (theme === 'dark'
      ? page.theme.setDarkTheme()
      : page.theme.setLightTheme());
    const dialog = await panel.newCluster();
    await expect(dialog.create).toBeEnabled();
    await page.screenshot({ path: join(FOLDER, `new-cluster-${theme}.png`) });
    await dialog.cancel();
  }

  await panel.row('analysis').locator('.jp-MusterCluster-name').dblclick();
  await expect(page.getByRole('tab', { name: /Overview/ })).toBeVisible();
  await page.screenshot({ path: join(FOLDER, 'cluster-view-dark.png') });
  await page.theme.setLightTheme();
  await page.screenshot({ path: join(FOLDER, 'cluster-view-light.png') });
});
