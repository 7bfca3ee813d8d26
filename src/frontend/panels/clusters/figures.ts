/** The numbers of a cluster's row, summed over its groups. Pure. */
import type { ClusterView } from '../../../protocol/index.js';
import { rangeOf } from '../../../protocol/index.js';

export type Figures = {
  connected: number;
  /** Asked for and not yet there, whatever stage it is in. */
  pending: number;
  target: number;
  /** The most that may come: the end of the bar. */
  maximum: number;
  /** Set where any group adapts. */
  range: { minimum: number; maximum: number } | null;
  cores: number;
  memory: number;
};

export function figuresOf(view: ClusterView): Figures {
  let minimum = 0;
  let maximum = 0;
  let isAdaptive = false;
  const figures = {
    connected: 0,
    pending: 0,
    target: 0,
    cores: 0,
    memory: 0
  };
  for (const group of view.groups) {
    const { counts } = group;
    figures.connected += counts.connected;
    figures.pending +=
      counts.requested + counts.queued + counts.starting + counts.uncertain;
    figures.target += group.target;
    figures.cores += group.connected.cores;
    figures.memory += group.connected.memory;
    const shape = view.spec.groups.find(one => one.name === group.name);
    if (shape !== undefined) {
      const range = rangeOf({ ...shape, scale: group.scale });
      minimum += range.minimum;
      maximum += range.maximum;
    } else {
      minimum += group.target;
      maximum += group.target;
    }
    isAdaptive ||= group.scale.type === 'adaptive';
  }
  return {
    ...figures,
    maximum: Math.max(maximum, figures.target),
    range: isAdaptive ? { minimum, maximum } : null
  };
}
