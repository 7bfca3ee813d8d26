/** In which order clusters are shown, and which of them are over. Pure. */
import type { ClusterView } from '../../protocol/index.js';

/** Nothing of it runs any more: a record. */
export function hasEnded(view: ClusterView): boolean {
  return view.phase === 'stopped' || view.phase === 'failed';
}

/** Newest first; failed ones stay among the living until forgotten, stopped ones come last. */
export function inOrder(views: readonly ClusterView[]): ClusterView[] {
  const rank = (view: ClusterView): number => (hasEnded(view) ? 1 : 0);
  return [...views].sort(
    (a, b) =>
      rank(a) - rank(b) ||
      (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0) ||
      (a.id < b.id ? -1 : 1)
  );
}
