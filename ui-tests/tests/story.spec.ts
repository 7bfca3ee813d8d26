/** The whole way, as a person goes it, and through every restart on it. */
import { expect, test } from '../fixtures.js';
import { settledProcesses } from '../processes.js';

test('a cluster from the dialog outlives kernel and Jupyter, and leaves nothing running when stopped', async ({
  page,
  panel,
  notebook,
  server
}) => {
  test.setTimeout(600_000);
  await notebook.create('story.ipynb');
  await panel.open();

  await test.step('create from the dialog: two workers connect', async () => {
    const dialog = await panel.newCluster();
    await dialog.name('analysis');
    await dialog.size('2');
    await dialog.submit();
    await panel.expectWorkers('analysis', 2);
    await expect(panel.state('analysis')).toHaveAccessibleName('running well');
  });

  await test.step('inserted code is one cell, and it computes (B1, B5)', async () => {
    await panel.insertCode('analysis');
    await expect(notebook.source(0)).toContainText('Client(');
    await expect(notebook.cells).toHaveCount(1);
    await notebook.run(0);
    await notebook.addCell('client.submit(sum, [1, 2]).result()');
    await notebook.run(1);
    await expect(notebook.output(1)).toHaveText('3');
  });

  await test.step('five quick clicks are one wish: seven workers, then four (B10)', async () => {
    await panel.moreWorkers('analysis', 5);
    await panel.setFixed('analysis', '4');
    await panel.expectWorkers('analysis', 4);
  });

  await test.step('adaptive 0…4 goes back to nothing when idle', async () => {
    await panel.setAdaptive('analysis', '0', '4');
    await panel.expectWorkers('analysis', 0);
    expect(
      await notebook.compute(1, 'client.submit(sum, [2, 3]).result()')
    ).toBe('5');
  });

  await test.step('after a kernel restart the next cell computes on the same cluster', async () => {
    await notebook.choose('analysis');
    await expect(notebook.picker).toHaveAccessibleName(
      /is connected to analysis/
    );
    await notebook.restart();
    expect(
      await notebook.compute(1, 'client.submit(sum, [3, 4]).result()')
    ).toBe('7');
  });

  await panel.setFixed('analysis', '2');
  await panel.expectWorkers('analysis', 2);
  const before = await clusterIds(server);

  await test.step('after a restart of Jupyter the panel shows the same cluster with its workers', async () => {
    await page.notebook.save();
    await server.stop('SIGTERM');
    await server.start();
    await page.reload();
    await panel.open();
    await panel.expectWorkers('analysis', 2);
    expect(await clusterIds(server)).toEqual(before);
    // The notebook, opened again with a new kernel, is connected by itself.
    await expect(notebook.picker).toHaveText('analysis · 2');
    expect(
      await notebook.compute(1, 'client.submit(sum, [4, 5]).result()')
    ).toBe('9');
  });

  await test.step('stop: asked once, then nothing is left running', async () => {
    await panel.stop('analysis');
    await expect(panel.state('analysis')).toHaveAccessibleName('stopped', {
      timeout: 60_000
    });
    expect(await settledProcesses(() => server.computing(), 30_000)).toEqual(
      []
    );
  });
});

async function clusterIds(server: {
  api<T>(method: string, path: string): Promise<T>;
}): Promise<string[]> {
  const { items } = await server.api<{ items: { id: string }[] }>(
    'GET',
    'clusters'
  );
  return items.map(item => item.id);
}
