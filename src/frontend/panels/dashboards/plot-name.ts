/** Plots by what is the same for every cluster, so that a pane can go from one to another. Pure. */
import type { DashboardView } from '../../../protocol/index.js';

/** `dashboards/<id>/individual-task-stream?x` → `individual-task-stream?x`; the query stays (W17). */
export function plotOf(path: string): string {
  return path.replace(/^\/*(?:dashboards\/[^/]+\/)?\/*/, '');
}

/** Dask calls nearly every plot "Individual …"; in a list of plots that says nothing. */
export function plotTitle(plot: DashboardView): string {
  const title = plot.title
    .replace(/^Individual\s+/i, '')
    .replace(/\b(cpu|gpu|rmm)\b/gi, word => word.toUpperCase());
  return title === ''
    ? plot.name
    : title.charAt(0).toUpperCase() + title.slice(1);
}
