/**
 * Opens comms that are known to lead to the one scheduler: each new comm asks for its identity
 * first. An address is no identity: after a scheduler has died another may get its port.
 */
import { readIdentity } from './replies.js';
import type {
  LinkSecurity,
  OpenLinkOptions,
  SchedulerIdentity
} from './scheduler-link.js';
import { DEADLINES } from './operations.js';
import { readVersions, type SchedulerVersions } from './versions.js';
import { openComm } from './wire/comm.js';
import { LinkError } from './wire/errors.js';
import { RpcComm } from './wire/rpc.js';

export type FirstContact = {
  versions: SchedulerVersions;
  /** Without its workers where the version can leave them out. */
  identity: SchedulerIdentity;
};

export class Connector {
  constructor(options: OpenLinkOptions, signal: AbortSignal) {
    this._address = options.address;
    this._security = options.security;
    this._connectTimeoutMs = options.connectTimeoutMs;
    this._signal = signal;
    this._expectedId = options.expectedId;
  }

  /** Versions and identity: decides whether this is a scheduler we may and can speak to. */
  async introduce(): Promise<FirstContact> {
    const rpc = await this._openRaw();
    try {
      this._versions = readVersions(
        await rpc.call({ op: 'versions' }, DEADLINES.versions)
      );
      const identity = await this._verify(rpc);
      // From here on it must stay this one.
      this._expectedId = identity.id;
      return { versions: this._versions, identity };
    } finally {
      if (!rpc.comm.closed) {
        rpc.comm.close();
      }
    }
  }

  /** @throws LinkError `other-scheduler`, and those of `openComm` and `RpcComm.call`. */
  async open(): Promise<RpcComm> {
    const rpc = await this._openRaw();
    try {
      await this._verify(rpc);
    } catch (error) {
      rpc.comm.destroy();
      throw error;
    }
    return rpc;
  }

  private async _openRaw(): Promise<RpcComm> {
    return new RpcComm(
      await openComm({
        address: this._address,
        security: this._security,
        signal: this._signal,
        ...(this._connectTimeoutMs === undefined
          ? {}
          : { connectTimeoutMs: this._connectTimeoutMs })
      })
    );
  }

  private async _verify(rpc: RpcComm): Promise<SchedulerIdentity> {
    const { identity } = readIdentity(
      await rpc.call(
        {
          op: 'identity',
          n_workers:
            this._versions?.capabilities.limitedIdentity === true
              ? 0
              : undefined
        },
        DEADLINES.cheap
      )
    );
    if (this._expectedId !== null && identity.id !== this._expectedId) {
      throw new LinkError({
        kind: 'other-scheduler',
        message: `Another scheduler (${identity.id}) answers at ${this._address}`
      });
    }
    return identity;
  }

  private readonly _address: string;
  private readonly _security: LinkSecurity | null;
  private readonly _connectTimeoutMs: number | undefined;
  private readonly _signal: AbortSignal;
  private _expectedId: string | null;
  private _versions: SchedulerVersions | null = null;
}
