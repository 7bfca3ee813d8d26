/** What survives when something of ours is killed. */
import { expect, test } from '../fixtures.js';
import { createCluster } from '../clusters.js';

test('a running computation does not notice that the bridge was killed', async ({
  panel,
  notebook,
  server
}) => {
  test.setTimeout(300_000);
  await createCluster(server, { name: 'analysis', workers: 2 });
  await notebook.create('killed.ipynb');
  await panel.open();
  await panel.expectWorkers('analysis', 2);
  await panel.insertCode('analysis');
  await notebook.run(0);

  await notebook.addCell(
    `import time
def slow(x):
    time.sleep(2)
    return x
sum(client.gather(client.map(slow, range(8))))`
  );
  await notebook.begin(1);
  const bridge = server.bridge();
  expect(bridge).not.toBeNull();
  process.kill(bridge?.pid ?? 0, 'SIGKILL');
  await notebook.hasRun(1);
  await expect(notebook.output(1)).toHaveText('28');

  // Another bridge takes the same cluster up again, with its workers, and makes none twice.
  await panel.expectWorkers('analysis', 2);
  await expect
    .poll(() => server.bridge()?.pid ?? null, { timeout: 60_000 })
    .not.toBe(bridge?.pid);
  await panel.setFixed('analysis', '3');
  await panel.expectWorkers('analysis', 3);
});

test('a Jupyter server that was killed finds its clusters again', async ({
  page,
  panel,
  server
}) => {
  await createCluster(server, { name: 'analysis', workers: 1 });
  await panel.open();
  await panel.expectWorkers('analysis', 1);
  await server.stop('SIGKILL');
  await server.start();
  await page.reload();
  await panel.open();
  await panel.expectWorkers('analysis', 1);
});
