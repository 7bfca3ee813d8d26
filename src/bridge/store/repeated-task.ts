/** Something done from time to time for as long as the store is open: self-checks, backups. */
export type RepeatedTaskOptions = {
  firstMs: number;
  /** Between the end of one run and the beginning of the next. */
  everyMs: number;
  act: () => Promise<unknown>;
  onError: (error: unknown) => void;
};

/** Never two runs at once; its timer does not keep the process alive. */
export class RepeatedTask {
  constructor(private readonly options: RepeatedTaskOptions) {
    this.#arm(options.firstMs);
  }

  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  /** A run under way is not cut short, but is the last. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) {
      clearTimeout(this.#timer);
    }
  }

  #arm(ms: number): void {
    if (this.#stopped) {
      return;
    }
    this.#timer = setTimeout(() => {
      void this.#run();
    }, ms);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    try {
      await this.options.act();
    } catch (error) {
      // What fails while it is being stopped fails because of that.
      if (!this.#stopped) {
        this.options.onError(error);
      }
    }
    this.#arm(this.options.everyMs);
  }
}
