/** When a cluster ends by itself. PURE. */

export type LifetimeInput = {
  /** Milliseconds. */
  now: number;
  startedAt: number | null;
  /** Seconds; null: never. */
  idleTimeoutSeconds: number | null;
  maximumAgeSeconds: number | null;
  /** Since when the scheduler has had no work (milliseconds); null: it works, or it is not known. */
  idleSince: number | null;
  /** When its Jupyter server was last there, if it went away and the cluster shall go with it. */
  jupyterGoneSince: number | null;
  jupyterGraceMs: number;
};

export type LifetimeVerdict =
  { end: string } | { checkAgainInMs: number | null };

/** A sentence why it ends now, or when to look again. */
export function lifetimeVerdict(input: LifetimeInput): LifetimeVerdict {
  const due: { at: number; why: string }[] = [];
  if (input.maximumAgeSeconds !== null && input.startedAt !== null) {
    due.push({
      at: input.startedAt + input.maximumAgeSeconds * 1000,
      why: `reached its maximum age of ${input.maximumAgeSeconds} s`
    });
  }
  if (input.idleTimeoutSeconds !== null && input.idleSince !== null) {
    due.push({
      at: input.idleSince + input.idleTimeoutSeconds * 1000,
      why: `was idle for ${input.idleTimeoutSeconds} s`
    });
  }
  if (input.jupyterGoneSince !== null) {
    due.push({
      at: input.jupyterGoneSince + input.jupyterGraceMs,
      why: 'its Jupyter server stopped'
    });
  }
  const first = due.sort((a, b) => a.at - b.at)[0];
  if (first === undefined) {
    return { checkAgainInMs: null };
  }
  return first.at <= input.now
    ? { end: first.why }
    : { checkAgainInMs: first.at - input.now };
}
