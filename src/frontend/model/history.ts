/** The last minutes of a cluster, kept by the browser for sparklines and charts. Pure but for itself. */
import type { ClusterView } from '../../protocol/index.js';
import type { HistoryPoint } from '../tokens.js';

export const HISTORY_MINUTES = 10;
const CAPACITY = 600;
/** Points closer together than this replace each other: a burst is one point. */
const RESOLUTION_MS = 1_000;

/** A ring of points, oldest first. */
export class History {
  get points(): readonly HistoryPoint[] {
    return this._points;
  }

  add(view: ClusterView, now: number): void {
    const point = pointOf(view, now);
    const last = this._points.at(-1);
    if (last !== undefined && now - last.time < RESOLUTION_MS) {
      this._points = [
        ...this._points.slice(0, -1),
        { ...point, time: last.time }
      ];
      return;
    }
    const oldest = now - HISTORY_MINUTES * 60_000;
    // The newest point before the window stays: the line must begin at the window's edge.
    const from = this._points.findIndex(
      (_, index) => (this._points[index + 1]?.time ?? Infinity) > oldest
    );
    this._points = [
      ...this._points.slice(
        Math.max(from, this._points.length - CAPACITY + 1, 0)
      ),
      point
    ];
  }

  private _points: readonly HistoryPoint[] = [];
}

export function pointOf(view: ClusterView, time: number): HistoryPoint {
  const sum = (of: (group: ClusterView['groups'][number]) => number): number =>
    view.groups.reduce((total, group) => total + of(group), 0);
  const load = view.load;
  return {
    time,
    workers: sum(group => group.counts.connected),
    target: sum(group => group.target),
    cpu: load === null ? null : load.cpu,
    memoryUsed: load === null ? null : load.memoryUsed,
    memoryLimit: load === null ? null : load.memoryLimit,
    tasks:
      load === null
        ? null
        : {
            memory: load.tasks.memory,
            processing: load.tasks.processing,
            waiting:
              load.tasks.waiting + load.tasks.queued + load.tasks.unrunnable
          }
  };
}
