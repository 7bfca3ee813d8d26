/** Ends a bridge nobody needs: no cluster that lives, no client, for `timeoutSeconds`. */
export type IdleWatchOptions = {
  /** Seconds; 0: never. */
  timeoutSeconds: number;
  busy: () => boolean;
  onIdle: () => void;
};

const LOOK_MS = 1_000;

export class IdleWatch {
  constructor(options: IdleWatchOptions) {
    if (options.timeoutSeconds > 0) {
      const timeoutMs = options.timeoutSeconds * 1000;
      this._timer = setInterval(
        () => {
          if (options.busy()) {
            this._since = performance.now();
          } else if (performance.now() - this._since >= timeoutMs) {
            this.close();
            options.onIdle();
          }
        },
        Math.min(LOOK_MS, timeoutMs / 2)
      );
      this._timer.unref();
    }
  }

  close(): void {
    clearInterval(this._timer);
  }

  private _timer: NodeJS.Timeout | undefined;
  private _since = performance.now();
}
