/** A notebook and its cluster. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCluster } from '../clusters.js';
import { expect, test } from '../fixtures.js';

const SUM = 'client.submit(sum, [1, 2]).result()';

test('the picker binds, connects quietly, moves, and disconnects', async ({
  page,
  notebook,
  server
}) => {
  test.setTimeout(300_000);
  await createCluster(server, { name: 'analysis', workers: 1 });
  await createCluster(server, { name: 'explore', workers: 1 });
  await notebook.create('picker.ipynb');
  await expect(notebook.picker).toHaveText('No cluster');

  const menu = await notebook.openPicker();
  await expect(menu.getByText('1 worker', { exact: true })).toHaveCount(2);
  await page.keyboard.press('Escape');

  await notebook.choose('analysis');
  await expect(notebook.picker).toHaveText('analysis · 1');
  // Quietly: the user's own first cell is number one.
  expect(await notebook.compute(0, SUM)).toBe('3');
  await expect(notebook.cells.nth(0).locator('.jp-InputPrompt')).toHaveText(
    '[1]:'
  );

  await notebook.choose('explore');
  await expect(notebook.picker).toHaveText('explore · 1');
  expect(
    await notebook.compute(0, 'import os; print(os.environ["MUSTER_CLUSTER"])')
  ).toBe('explore');

  await page.notebook.save();
  const saved = JSON.parse(
    readFileSync(join(server.workFolder, 'test', 'picker.ipynb'), 'utf8')
  ) as { metadata: { muster: unknown } };
  expect(saved.metadata.muster).toEqual({
    cluster: { id: expect.stringMatching(/^[0-9a-z]{16}$/), name: 'explore' },
    reconnect: true
  });
  expect(JSON.stringify(saved)).not.toMatch(/tls:|tcp:|\.pem/);

  await notebook.choose('Disconnect');
  await expect(notebook.picker).toHaveText('No cluster');
  expect(await notebook.compute(0, '"client" in globals()')).toBe('False');
});

test('after restart and run all the client is there before the first cell (B4)', async ({
  notebook,
  server
}) => {
  test.setTimeout(300_000);
  await createCluster(server, { name: 'analysis', workers: 1 });
  await notebook.create('restart.ipynb');
  await notebook.choose('analysis');
  await expect(notebook.picker).toHaveText('analysis · 1');
  // The process id tells one kernel's answer from the next one's.
  let last = await notebook.compute(0, `import os; (os.getpid(), ${SUM})`);
  for (let round = 0; round < 3; round += 1) {
    await notebook.restartAndRunAll();
    await expect(notebook.output(0)).not.toHaveText(last);
    await expect(notebook.output(0)).toHaveText(/^\(\d+, 3\)$/);
    await expect(notebook.cells.nth(0).locator('.jp-InputPrompt')).toHaveText(
      '[1]:'
    );
    last = (await notebook.output(0).innerText()).trim();
  }
});

test('a variable of the user named client is never overwritten', async ({
  notebook,
  server
}) => {
  await createCluster(server, { name: 'analysis', workers: 1 });
  await notebook.create('own.ipynb');
  await notebook.compute(0, 'client = 42');
  await notebook.choose('analysis');
  await expect(notebook.picker).toHaveAccessibleName(/left alone/);
  expect(await notebook.compute(0, 'client')).toBe('42');
});

test('a bound notebook that is opened again connects by itself', async ({
  page,
  notebook,
  server
}) => {
  test.setTimeout(300_000);
  await createCluster(server, { name: 'analysis', workers: 1 });
  await notebook.create('bound.ipynb');
  await notebook.choose('analysis');
  await expect(notebook.picker).toHaveText('analysis · 1');
  await page.notebook.save();
  await page.notebook.close(false);
  await page.kernel.shutdownAll();
  await page.notebook.openByPath('test/bound.ipynb');
  await notebook.kernelIsIdle();
  await expect(notebook.picker).toHaveText('analysis · 1');
  expect(await notebook.compute(0, SUM)).toBe('3');
});

test('a cluster that has ended is said so and can be started again from the notebook', async ({
  notebook,
  server
}) => {
  test.setTimeout(300_000);
  const id = await createCluster(server, { name: 'analysis', workers: 1 });
  await notebook.create('ended.ipynb');
  await notebook.choose('analysis');
  await expect(notebook.picker).toHaveText('analysis · 1');
  await server.api('DELETE', `clusters/${id}`);
  await expect(notebook.picker).toHaveText('analysis (stopped)', {
    timeout: 60_000
  });
  await notebook.choose('Start analysis again');
  await expect(notebook.picker).toHaveText('analysis · 1', { timeout: 90_000 });
  expect(await notebook.compute(0, SUM)).toBe('3');
});

test('a row dragged into the notebook drops the connect code there', async ({
  page,
  panel,
  notebook,
  server
}) => {
  await createCluster(server, { name: 'analysis', workers: 1 });
  await notebook.create('drag.ipynb');
  await notebook.setSource(0, 'first = 1');
  await panel.open();
  await panel.expectWorkers('analysis', 1);
  const from = await panel.row('analysis').boundingBox();
  const to = await notebook.panel.locator('.jp-Notebook').boundingBox();
  if (from === null || to === null) {
    throw new Error('nothing to drag');
  }
  await page.mouse.move(from.x + 60, from.y + 12);
  await page.mouse.down();
  await page.mouse.move(from.x + 90, from.y + 30, { steps: 5 });
  await expect(page.locator('.jp-MusterDragImage')).toBeVisible();
  await page.mouse.move(to.x + to.width / 2, to.y + to.height - 120, {
    steps: 15
  });
  await page.mouse.up();
  await expect(notebook.cells).toHaveCount(2);
  await expect(notebook.source(1)).toContainText('Client(');
  await notebook.run(1);
  expect(await notebook.compute(0, SUM)).toBe('3');
});
