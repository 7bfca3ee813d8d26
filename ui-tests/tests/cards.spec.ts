/** The panel says why there is nothing to see, and what to do about it. */
import { expect, test } from '../fixtures.js';
import {
  failingBridge,
  halfMissing,
  nodeMissing,
  slowBridge
} from '../server-states.js';

test('no cluster yet: the panel offers to start one on this computer', async ({
  panel
}) => {
  await panel.open();
  await expect(panel.card('No cluster yet')).toBeVisible({ timeout: 60_000 });
  await expect(
    panel.region.getByRole('button', { name: 'This computer' })
  ).toBeVisible();
});

test.describe('the server half is missing', () => {
  test.use({ serverOptions: halfMissing });

  test('its card names the command that installs it, and Lab works (W17, B25)', async ({
    page,
    panel,
    notebook
  }) => {
    await panel.open();
    const card = panel.card('The server half is not enabled');
    await expect(card).toContainText('pip install jupyterlab-muster');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await notebook.create('plain.ipynb');
    expect(await notebook.compute(0, '1 + 2')).toBe('3');
  });
});

test.describe('Node is missing', () => {
  test.use({ serverOptions: nodeMissing });

  test('its card says what was tried, and Lab works', async ({
    page,
    panel,
    notebook
  }) => {
    await panel.open();
    const card = panel.card('Node.js is missing');
    await expect(card).toContainText('/absent/node');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await notebook.create('plain.ipynb');
    expect(await notebook.compute(0, '1 + 2')).toBe('3');
  });
});

test.describe('the bridge cannot start', () => {
  test.use({ serverOptions: failingBridge });

  test('its card shows the log and offers to restart it', async ({
    page,
    panel
  }) => {
    await panel.open();
    const card = panel.card('The bridge does not answer');
    await expect(card).toContainText('no-such-argument', { timeout: 60_000 });
    await expect(
      card.getByRole('button', { name: 'Restart bridge' })
    ).toBeVisible();
    await expect(page.getByRole('dialog')).toHaveCount(0);
  });
});

test.describe('the bridge takes its time to start', () => {
  test.use({ serverOptions: slowBridge });

  test('the dialog opened meanwhile waits for it and then shows its form', async ({
    panel
  }) => {
    await panel.open();
    await expect(panel.card(/^Starting the bridge/)).toBeVisible();
    const dialog = await panel.newCluster();
    await expect(dialog.root).toContainText('Looking at what there is');
    await expect(dialog.create).toBeEnabled({ timeout: 60_000 });
    await dialog.cancel();
  });
});
