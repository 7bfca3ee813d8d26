/** What sparklines are drawn from, and what a cluster is started again with. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { view } from '../fixtures/cluster-views.js';
import { heldLine } from '../elements/chart.js';
import { clusterSpecSchema } from '../../protocol/index.js';
import { History, HISTORY_MINUTES } from './history.js';
import { freeName, specToStartAgain } from './start-again.js';

describe('a history', () => {
  it('makes one point of a burst, with the burst’s last word', () => {
    const history = new History();
    history.add(view({ connected: 1 }), 0);
    history.add(view({ connected: 2 }), 300);
    history.add(view({ connected: 3 }), 600);
    history.add(view({ connected: 4 }), 1_700);
    expect(history.points.map(point => [point.time, point.workers])).toEqual([
      [0, 3],
      [1_700, 4]
    ]);
  });

  it('forgets what is older than its window, but knows what held when it began', () => {
    const history = new History();
    const window = HISTORY_MINUTES * 60_000;
    history.add(view({ connected: 1 }), 0);
    history.add(view({ connected: 2 }), 60_000);
    history.add(view({ connected: 3 }), window + 120_000);
    expect(history.points.map(point => point.workers)).toEqual([2, 3]);
  });

  it('never grows without bound', () => {
    const history = new History();
    for (let second = 0; second < 5_000; second += 1) {
      history.add(view(), second * 1_000);
    }
    expect(history.points.length).toBeLessThanOrEqual(602);
  });

  it('is drawn from left to right, whatever the times', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(10_000), fc.nat(50)), { maxLength: 40 }),
        pairs => {
          const points = [...pairs].sort((a, b) => a[0] - b[0]);
          const line = heldLine(points, 2_000, 8_000, value => value, true);
          line.forEach(([x], index) => {
            expect(x).toBeGreaterThanOrEqual(line[index - 1]?.[0] ?? 0);
            expect(x).toBeLessThanOrEqual(240);
          });
        }
      )
    );
  });
});

describe('starting again', () => {
  it('asks for the same, in a request the bridge accepts', () => {
    const { spec } = view({ options: { queue: 'gpu' } });
    const again = specToStartAgain(spec, new Set());
    const parsed = clusterSpecSchema.parse(again);
    expect(parsed.groups?.[0]).toMatchObject({
      worker: spec.groups[0]?.worker,
      scale: spec.groups[0]?.scale,
      options: { queue: 'gpu' }
    });
    expect(parsed.name).toBe('analysis');
  });

  it('finds a free name that is a name', () => {
    expect(freeName('analysis', new Set(['analysis']))).toBe('analysis-2');
    expect(freeName('analysis-2', new Set(['analysis-2']))).toBe('analysis-3');
    const long = 'a'.repeat(40);
    const found = freeName(long, new Set([long]));
    expect(found).toBe(`${'a'.repeat(38)}-2`);
  });
});
