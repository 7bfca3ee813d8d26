import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import {
  idFromBytes,
  tokenOf,
  workerId,
  type ClusterId,
  type JobId
} from '../../protocol/index.js';
import { describeConformance, type ConformanceWorld } from '../conformance.js';
import type { BackendEvent, JobIntent } from '../resource-manager.js';
import { SimulatedResourceManager } from './simulated-resource-manager.js';
import { SimulatedWorld } from './simulated-world.js';

const cluster = idFromBytes(randomBytes(16)) as ClusterId;

function intent(argv: string[] = ['sleep']): JobIntent {
  const jobId = idFromBytes(randomBytes(16)) as JobId;
  return {
    cluster,
    jobId,
    attempt: 1,
    token: tokenOf(cluster, jobId),
    group: 'default',
    resources: { cores: 1, memory: null, gpus: 0 },
    launches: [
      { id: workerId(jobId, 0), argv, environment: {}, memoryLimit: null }
    ],
    folder: '/nowhere',
    prologue: [],
    epilogue: [],
    options: {}
  };
}

function conformanceWorld(): ConformanceWorld {
  const world = new SimulatedWorld({ queueMs: 20, startMs: 10 });
  const ends = new Map<string, number>();
  const settle = () => {
    world.advance(10);
    for (const job of world.jobs.values()) {
      const code = ends.get(job.token);
      if (code !== undefined && job.phase === 'running') {
        world.end(job.nativeId, {
          outcome: code === 0 ? 'completed' : 'failed',
          exit: { code, signal: null },
          stderr: 'bye\n'
        });
      }
    }
  };
  return {
    manager: () => new SimulatedResourceManager({ world }),
    staying: () => intent(),
    ending: code => {
      const ending = intent();
      ends.set(ending.token, code);
      return ending;
    },
    echoing: texts => intent(['echo', ...texts]),
    runs: handle => Promise.resolve(world.find(handle)?.phase === 'running'),
    count: token =>
      Promise.resolve(
        [...world.jobs.values()].filter(
          job => job.token === token && job.phase !== 'ended'
        ).length
      ),
    foreign: handle => {
      const job = world.addForeign(intent());
      return Promise.resolve({
        forged: { ...handle, nativeId: job.nativeId },
        stillThere: () => Promise.resolve(job.phase !== 'ended')
      });
    },
    hide: handle => {
      world.faults.hidden.set(handle.nativeId, 2);
      return Promise.resolve(() => Promise.resolve());
    },
    cutOff: () => {
      world.faults.unreachable = true;
      return Promise.resolve(() => {
        world.faults.unreachable = false;
        return Promise.resolve();
      });
    },
    reclaim: handle => {
      world.reclaim(handle.nativeId, { afterMs: 30, reason: 'preempt' });
      return Promise.resolve();
    },
    until: async condition => {
      for (let step = 0; !(await condition()); step++) {
        if (step > 1000) {
          throw new Error('it never came true');
        }
        settle();
      }
    },
    close: () => Promise.resolve()
  };
}

describeConformance('the simulated backend', () =>
  Promise.resolve(conformanceWorld())
);

describe('the simulated world', () => {
  it('takes effect although the answer is lost', async () => {
    const world = new SimulatedWorld();
    const manager = new SimulatedResourceManager({ world });
    world.faults.lostAnswers = 1;
    const job = intent();
    expect(await manager.request([job])).toMatchObject([{ type: 'uncertain' }]);
    expect(world.jobs.size).toBe(1);
    expect(await manager.request([job])).toMatchObject([{ type: 'accepted' }]);
    expect(world.jobs.size).toBe(1);
  });

  it('grants as many jobs as there is room for, the others wait', async () => {
    const world = new SimulatedWorld({ capacity: 1 });
    const manager = new SimulatedResourceManager({ world });
    await manager.request([intent(), intent()]);
    const phases = () => [...world.jobs.values()].map(({ phase }) => phase);
    expect(phases()).toEqual(['running', 'queued']);
    world.end('1', { outcome: 'completed' });
    expect(phases()).toEqual(['ended', 'running']);
  });

  it('takes a reclaim back, and then does not end the job', async () => {
    const world = new SimulatedWorld();
    const manager = new SimulatedResourceManager({ world });
    const events: BackendEvent[] = [];
    manager.onEvent(event => events.push(event));
    await manager.request([intent()]);
    world.reclaim('1', { afterMs: 1000, reason: 'maintenance' });
    world.withdraw('1');
    world.advance(2000);
    expect(world.get('1').phase).toBe('running');
    expect(events.map(({ type }) => type)).toEqual([
      'changed',
      'reclaiming',
      'reclaiming-withdrawn'
    ]);
  });

  it('shows an empty listing once, as managers do after a restart', async () => {
    const world = new SimulatedWorld();
    const manager = new SimulatedResourceManager({ world });
    const [result] = await manager.request([intent()]);
    const handles = result?.type === 'accepted' ? [result.handle] : [];
    world.faults.emptyListings = 1;
    const first = await manager.observe({ handles, tokens: [] });
    expect([first.complete, first.jobs.size]).toEqual([true, 0]);
    const second = await manager.observe({ handles, tokens: [] });
    expect(second.jobs.get('1')?.phase).toBe('running');
  });
});
