/** The scheduler's own list of plots: name, title, path. Cheap JSON on loopback, kept for a while. */
import type { ClusterId, DashboardView } from '../../protocol/index.js';

const KEPT_MS = 30_000;
const DEADLINE_MS = 5_000;

export class DashboardList {
  /** @param port of the scheduler's HTTP server on this host. */
  async get(cluster: ClusterId, port: number): Promise<DashboardView[]> {
    const kept = this._kept.get(cluster);
    if (kept?.port === port && performance.now() - kept.at < KEPT_MS) {
      return kept.plots;
    }
    const answer = await fetch(
      `http://127.0.0.1:${port}/individual-plots.json`,
      {
        signal: AbortSignal.timeout(DEADLINE_MS),
        redirect: 'error'
      }
    );
    const plots = answer.ok ? parsePlots(cluster, await answer.json()) : [];
    this._kept.set(cluster, { port, plots, at: performance.now() });
    return plots;
  }

  drop(cluster: ClusterId): void {
    this._kept.delete(cluster);
  }

  private readonly _kept = new Map<
    ClusterId,
    { port: number; plots: DashboardView[]; at: number }
  >();
}

/** `{"Task Stream": "/individual-task-stream", …}` → the list, alphabetic. */
export function parsePlots(
  cluster: ClusterId,
  answer: unknown
): DashboardView[] {
  if (typeof answer !== 'object' || answer === null) {
    return [];
  }
  return Object.entries(answer)
    .flatMap(([title, path]): DashboardView[] => {
      const name = typeof path === 'string' ? path.replace(/^\/+/, '') : '';
      return /^[A-Za-z0-9_-]{1,100}$/.test(name)
        ? [
            {
              name,
              title: title.replace(/^Individual /, ''),
              path: `dashboards/${cluster}/${name}`
            }
          ]
        : [];
    })
    .sort((a, b) => a.title.localeCompare(b.title, 'en'));
}
