/** Work on one thing, one after the other: each sees what the one before left behind. */
export class Turns {
  /** Runs when everything taken before for this key has ended, however it ended. */
  take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this._last.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const ended = result.then(
      () => undefined,
      () => undefined
    );
    this._last.set(key, ended);
    void ended.then(() => {
      if (this._last.get(key) === ended) {
        this._last.delete(key);
      }
    });
    return result;
  }

  /** Keys with work that has not ended. */
  get size(): number {
    return this._last.size;
  }

  private readonly _last = new Map<string, Promise<void>>();
}
