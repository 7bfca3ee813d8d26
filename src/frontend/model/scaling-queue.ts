/**
 * Wishes of size on their way: shown at once, sent once after a burst of clicks with the last
 * value, taken back when refused (dask/distributed#2257; peer row W5).
 */
import type { ClusterPatch, ClusterView, Scale } from '../../protocol/index.js';
import { rangeOf } from '../../protocol/index.js';

/** Clicks closer together than this are one wish. */
export const BURST_MS = 300;

type Wish = {
  scales: Map<string, Scale>;
  /** Those in `scales` that are not in the request under way. */
  unsent: Set<string>;
  timer: number;
  isSending: boolean;
  waiters: { resolve: () => void; reject: (error: unknown) => void }[];
};

export class ScalingQueue {
  constructor(options: ScalingQueue.IOptions) {
    this._options = options;
  }

  /** Resolves when the wish, or a later one that replaced it, was accepted. */
  scale(id: string, group: string, scale: Scale): Promise<void> {
    const wish = this._wishes.get(id) ?? this._newWish(id);
    wish.scales.set(group, scale);
    wish.unsent.add(group);
    const done = new Promise<void>((resolve, reject) => {
      wish.waiters.push({ resolve, reject });
    });
    this._arm(id, wish);
    this._options.onChanged();
    return done;
  }

  /** The view as it will be once the wishes are granted. */
  overlay(view: ClusterView): ClusterView {
    const wish = this._wishes.get(view.id);
    if (wish === undefined) {
      return view;
    }
    return {
      ...view,
      groups: view.groups.map(group => {
        const scale = wish.scales.get(group.name);
        const shape = view.spec.groups.find(one => one.name === group.name);
        if (scale === undefined || shape === undefined) {
          return group;
        }
        const range = rangeOf({ ...shape, scale });
        return {
          ...group,
          scale,
          target: Math.min(Math.max(group.target, range.minimum), range.maximum)
        };
      })
    };
  }

  /** The cluster is gone: nothing more is sent for it. */
  drop(id: string): void {
    const wish = this._wishes.get(id);
    if (wish !== undefined) {
      window.clearTimeout(wish.timer);
      this._wishes.delete(id);
      wish.waiters.forEach(waiter => {
        waiter.resolve();
      });
    }
  }

  dispose(): void {
    for (const id of [...this._wishes.keys()]) {
      this.drop(id);
    }
  }

  private _newWish(id: string): Wish {
    const wish: Wish = {
      scales: new Map(),
      unsent: new Set(),
      timer: 0,
      isSending: false,
      waiters: []
    };
    this._wishes.set(id, wish);
    return wish;
  }

  private _arm(id: string, wish: Wish): void {
    window.clearTimeout(wish.timer);
    wish.timer = window.setTimeout(() => {
      void this._send(id, wish);
    }, BURST_MS);
  }

  private async _send(id: string, wish: Wish): Promise<void> {
    if (wish.isSending) {
      // The answer under way decides when: `_send` runs again after it.
      return;
    }
    const waiters = wish.waiters.splice(0);
    const names = [...wish.unsent];
    wish.unsent.clear();
    wish.isSending = true;
    const scale: NonNullable<ClusterPatch['scale']> = {};
    for (const name of names) {
      const wanted = wish.scales.get(name);
      if (wanted !== undefined) {
        scale[name] = wanted;
      }
    }
    try {
      const view = await this._options.patch(id, { scale });
      this._settle(id, wish, names);
      this._options.onAccepted(view);
      waiters.forEach(waiter => {
        waiter.resolve();
      });
    } catch (error) {
      this._settle(id, wish, names);
      this._options.onChanged();
      waiters.forEach(waiter => {
        waiter.reject(error);
      });
    }
  }

  /** Forget what was sent; what was wished meanwhile stays and is sent next. */
  private _settle(id: string, wish: Wish, names: string[]): void {
    wish.isSending = false;
    for (const name of names) {
      if (!wish.unsent.has(name)) {
        wish.scales.delete(name);
      }
    }
    if (this._wishes.get(id) !== wish) {
      return;
    }
    if (wish.unsent.size > 0) {
      this._arm(id, wish);
    } else {
      this._wishes.delete(id);
    }
  }

  private _options: ScalingQueue.IOptions;
  private _wishes = new Map<string, Wish>();
}

export namespace ScalingQueue {
  export interface IOptions {
    patch: (id: string, patch: ClusterPatch) => Promise<ClusterView>;
    /** A wish was accepted; the answer is at least as new as the wish. */
    onAccepted: (view: ClusterView) => void;
    /** What `overlay` answers may have changed. */
    onChanged: () => void;
  }
}
