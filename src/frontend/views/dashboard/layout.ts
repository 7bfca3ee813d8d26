/** A default set of panes and where each goes, in an order in which every reference exists. Pure. */

export type LayoutEntry = {
  plot: string;
  title: string;
  mode: string;
  /** The plot beside which it goes; null: anywhere. */
  ref: string | null;
};

/**
 * @param setting `{ "<plot>": { mode, ref?, title? } }` as in dask-labextension's `defaultLayout`.
 * Entries whose reference is missing or circular come last, without it.
 */
export function inLayoutOrder(setting: unknown): LayoutEntry[] {
  const entries = Object.entries(
    (setting ?? {}) as Record<
      string,
      { mode?: string; ref?: string; title?: string }
    >
  ).map(([plot, said]) => ({
    plot,
    title: said.title ?? titleOf(plot),
    mode: said.mode ?? 'tab-after',
    ref: said.ref ?? null
  }));
  const placed = new Set<string>();
  const ordered: LayoutEntry[] = [];
  let waiting = entries;
  for (;;) {
    const ready = waiting.filter(
      entry => entry.ref === null || placed.has(entry.ref)
    );
    if (ready.length === 0) {
      return [...ordered, ...waiting.map(entry => ({ ...entry, ref: null }))];
    }
    for (const entry of ready) {
      ordered.push(entry);
      placed.add(entry.plot);
    }
    waiting = waiting.filter(entry => !placed.has(entry.plot));
  }
}

/** `individual-task-stream` → `Task stream`. */
export function titleOf(plot: string): string {
  const words = plot
    .replace(/^\/+/, '')
    .replace(/^individual-/, '')
    .replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
