/**
 * A few comms for requests: cheap ops share a small number, slow ones (`retire_workers` blocks
 * whatever follows it) have their own, so that a stuck retirement never holds up a look.
 */
import { LinkError } from './errors.js';
import type { RpcComm, Request } from './rpc.js';

export type CallOptions = {
  deadlineMs: number;
  /** May take long, or for ever: never shares the lane of the cheap ones. */
  slow?: boolean;
};

export type RpcPoolOptions = {
  /** Opens a comm and proves that it leads to the right scheduler. */
  open: () => Promise<RpcComm>;
  cheapLanes?: number;
  slowLanes?: number;
};

const IDLE_KEPT = 2;

export class RpcPool {
  constructor(options: RpcPoolOptions) {
    this._open = options.open;
    this._lanes = {
      cheap: new Lane(options.cheapLanes ?? 2),
      slow: new Lane(options.slowLanes ?? 8)
    };
  }

  /** See `RpcComm.call`; besides, the errors of opening a comm. */
  async call(request: Request, options: CallOptions): Promise<unknown> {
    const lane = this._lanes[options.slow === true ? 'slow' : 'cheap'];
    await lane.enter();
    try {
      const rpc = await this._acquire();
      try {
        return await rpc.call(request, options.deadlineMs);
      } finally {
        this._release(rpc);
      }
    } finally {
      lane.leave();
    }
  }

  /** Destroys all comms; requests under way fail, later ones open new comms. */
  reset(reason: LinkError | null = null): void {
    for (const rpc of [...this._busy, ...this._idle]) {
      rpc.comm.destroy(reason);
    }
    this._idle = [];
  }

  /** Ends idle comms politely and the others at once; nothing can be called afterwards. */
  close(): void {
    this._closed = true;
    for (const rpc of this._idle) {
      rpc.comm.close();
    }
    this.reset();
  }

  private async _acquire(): Promise<RpcComm> {
    this._refuseWhenClosed();
    let rpc = this._idle.pop();
    while (rpc !== undefined && rpc.comm.closed) {
      rpc = this._idle.pop();
    }
    if (rpc === undefined) {
      rpc = await this._open();
      try {
        this._refuseWhenClosed();
      } catch (error) {
        rpc.comm.destroy();
        throw error;
      }
    }
    this._busy.add(rpc);
    return rpc;
  }

  private _refuseWhenClosed(): void {
    if (this._closed) {
      throw new LinkError({
        kind: 'closed',
        message: 'The link to the scheduler has been closed'
      });
    }
  }

  private _release(rpc: RpcComm): void {
    this._busy.delete(rpc);
    if (rpc.comm.closed) {
      return;
    }
    if (this._closed || this._idle.length >= IDLE_KEPT) {
      rpc.comm.close();
    } else {
      this._idle.push(rpc);
    }
  }

  private readonly _open: () => Promise<RpcComm>;
  private readonly _lanes: { cheap: Lane; slow: Lane };
  private readonly _busy = new Set<RpcComm>();
  private _idle: RpcComm[] = [];
  private _closed = false;
}

/** At most so many at once; the others wait in order. Each has a deadline, so the wait ends. */
class Lane {
  constructor(places: number) {
    this._places = places;
  }

  async enter(): Promise<void> {
    if (this._places > 0) {
      this._places -= 1;
    } else {
      await new Promise<void>(resolve => this._waiting.push(resolve));
    }
  }

  leave(): void {
    const next = this._waiting.shift();
    if (next === undefined) {
      this._places += 1;
    } else {
      next();
    }
  }

  private _places: number;
  private readonly _waiting: (() => void)[] = [];
}
