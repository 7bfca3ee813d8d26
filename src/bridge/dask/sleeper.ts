/** Pauses of one owner that end early: by a wake-up of their kind, and all of them at its end. */
export class Sleeper<Kind extends string> {
  /**
   * Until the time is over, `wake` of this kind, or `end`.
   * @param kind null: only `end` cuts it short.
   */
  sleep(ms: number, kind: Kind | null = null): Promise<void> {
    return new Promise(resolve => {
      const sleep = {
        kind,
        wake: (): void => {
          clearTimeout(timer);
          this._sleeps.delete(sleep);
          resolve();
        }
      };
      const timer = setTimeout(sleep.wake, this._ended ? 0 : Math.max(0, ms));
      this._sleeps.add(sleep);
    });
  }

  wake(kind: Kind): void {
    for (const sleep of [...this._sleeps]) {
      if (sleep.kind === kind) {
        sleep.wake();
      }
    }
  }

  /** Wakes all, for good. */
  end(): void {
    this._ended = true;
    for (const sleep of [...this._sleeps]) {
      sleep.wake();
    }
  }

  private readonly _sleeps = new Set<{
    kind: Kind | null;
    wake: () => void;
  }>();
  private _ended = false;
}
