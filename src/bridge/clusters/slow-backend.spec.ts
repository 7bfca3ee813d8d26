import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Observation } from '../../backends/resource-manager.js';
import { SimulatedResourceManager } from '../../backends/simulated/simulated-resource-manager.js';
import { Workbench, connected } from './fixtures/workbench.js';

let bench: Workbench;

afterEach(async () => {
  await bench.close();
});

describe('a backend that takes long to look', () => {
  it('does not hold up a new cluster: there is nothing to find before it is started', async () => {
    bench = await Workbench.open();
    let answer: (observation: Observation) => void = () => undefined;
    const look = jest
      .spyOn(SimulatedResourceManager.prototype, 'observe')
      .mockImplementation(
        () =>
          new Promise<Observation>(resolve => {
            answer = resolve;
          })
      );
    try {
      const { id } = await bench.create();
      await bench.until(id, connected(2));
      await bench.manager.stop(id, { force: false });
      const view = await bench.until(id, one => one.phase === 'stopped');
      expect(view.reasons.map(reason => reason.code)).not.toContain(
        'not-observed'
      );
    } finally {
      answer({
        asOf: new Date().toISOString(),
        complete: false,
        jobs: new Map(),
        foreign: []
      });
      look.mockRestore();
    }
  });

  it('does not hold up a stop for ever, also after the bridge was started again', async () => {
    bench = await Workbench.open();
    const { id } = await bench.create();
    await bench.until(id, connected(2));
    await bench.manager.stop(id, { force: false });
    await bench.crash();
    expect(bench.running(id)).not.toEqual([]);
    const look = jest
      .spyOn(SimulatedResourceManager.prototype, 'observe')
      .mockImplementation(() =>
        Promise.resolve({
          asOf: new Date().toISOString(),
          complete: false,
          jobs: new Map(),
          foreign: []
        })
      );
    try {
      await bench.start();
      await bench.until(id, view => view.phase === 'stopped');
      expect(bench.running(id)).toEqual([]);
    } finally {
      look.mockRestore();
    }
  });
});
