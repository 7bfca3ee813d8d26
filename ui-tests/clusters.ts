/** Clusters made through the API, where a test is not about making them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JupyterServer } from './server.js';

type View = {
  id: string;
  phase: string;
  reasons: { message: string }[];
  groups: { counts: { connected: number } }[];
};

/** A local cluster whose workers are connected. */
export async function createCluster(
  server: JupyterServer,
  options: { name: string; workers: number }
): Promise<string> {
  const { id } = await whenUp(() =>
    server.api<View>('POST', 'clusters', {
      name: options.name,
      backend: 'local',
      groups: [
        {
          worker: { cores: 1, memory: '512 MiB' },
          scale: { type: 'fixed', workers: options.workers }
        }
      ]
    })
  );
  const deadline = Date.now() + 90_000;
  for (;;) {
    const view = await server.api<View>('GET', `clusters/${id}`);
    const connected = view.groups.reduce(
      (sum, group) => sum + group.counts.connected,
      0
    );
    if (connected === options.workers) {
      return id;
    }
    if (view.phase === 'failed' || Date.now() > deadline) {
      throw new Error(
        `${options.name} did not come up: ${JSON.stringify(view)}`
      );
    }
    await sleep(200);
  }
}

/** The first request finds the bridge starting. */
async function whenUp<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!String(error).includes('bridge-starting') || Date.now() > deadline) {
        throw error;
      }
      await sleep(200);
    }
  }
}
