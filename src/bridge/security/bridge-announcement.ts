/**
 * Keeps the bridge's record where its clients look for it. Cleaners of temporary folders remove old
 * files and leave sockets alone; without the record nobody could find a bridge that runs well, nor
 * start another beside it.
 */
import { MusterError } from '../../protocol/index.js';
import { ensurePrivateFolder } from './private-files.js';
import {
  readBridgeRecord,
  removeBridgeRecord,
  writeBridgeRecord,
  type BridgeRecord
} from './secret.js';

const LOOK_MS = 2_000;

export type BridgeAnnouncementOptions = {
  runtimeFolder: string;
  record: BridgeRecord;
  onError: (error: unknown) => void;
  lookMs?: number;
};

export class BridgeAnnouncement {
  constructor(options: BridgeAnnouncementOptions) {
    this._options = options;
  }

  /** Write the record, and again whenever it is found missing or unreadable. */
  open(): void {
    this.write();
    this._timer ??= setInterval(() => {
      try {
        this._look();
      } catch (error) {
        this._options.onError(error);
      }
    }, this._options.lookMs ?? LOOK_MS);
    this._timer.unref();
  }

  write(): void {
    const { runtimeFolder, record } = this._options;
    ensurePrivateFolder(runtimeFolder);
    writeBridgeRecord(runtimeFolder, record);
  }

  /** The bridge ends: its record goes, another's stays. */
  close(): void {
    clearInterval(this._timer);
    removeBridgeRecord(
      this._options.runtimeFolder,
      this._options.record.secret
    );
  }

  /** A record of another bridge, or one that others may read, is left alone: that is the user's to see. */
  private _look(): void {
    try {
      if (readBridgeRecord(this._options.runtimeFolder) !== null) {
        return;
      }
    } catch (error) {
      if (!(error instanceof MusterError) || error.code !== 'internal') {
        throw error;
      }
    }
    this.write();
  }

  private readonly _options: BridgeAnnouncementOptions;
  private _timer: NodeJS.Timeout | undefined;
}
