/** Background failures as notifications with "Details": one per cluster and kind, counting up. */
import { Notification } from '@jupyterlab/apputils';
import { CommandIDs } from '../commands.js';
import type { Muster } from '../elements/muster-context.js';
import type { MusterSettings } from '../model/settings.js';
import type { IClustersModel } from '../tokens.js';
import type { ClusterEvent, EventKind } from '../../protocol/index.js';

/** What is told at the level "problems"; "all" adds arrivals and endings. */
const PROBLEMS: ReadonlySet<EventKind> = new Set<EventKind>([
  'worker-died',
  'worker-reclaiming',
  'submit-failed',
  'group-failing',
  'scheduler-died',
  'failed'
]);
const NEWS: ReadonlySet<EventKind> = new Set<EventKind>([
  'scheduler-started',
  'recovered',
  'adopted',
  'stopped'
]);
/** Events of a kind closer together than this share one notification. */
const BURST_MS = 60_000;

export class ClusterNotifier {
  constructor(options: ClusterNotifier.IOptions) {
    this._muster = options.muster;
    this._settings = options.settings;
    this._muster.model.happened.connect(this._onHappened, this);
  }

  private _onHappened(model: IClustersModel, event: ClusterEvent): void {
    const level = this._settings.notifications;
    const isWanted =
      level === 'all'
        ? PROBLEMS.has(event.kind) || NEWS.has(event.kind)
        : level === 'problems' && PROBLEMS.has(event.kind);
    if (!isWanted) {
      return;
    }
    const key = `${event.cluster} ${event.kind}`;
    const name = model.get(event.cluster)?.name ?? event.cluster;
    const now = Date.now();
    const open = this._open.get(key);
    if (open !== undefined && now - open.time < BURST_MS) {
      const count = open.count + 1;
      const { trans } = this._muster;
      const isShown = Notification.update({
        id: open.id,
        message: trans.__('%1: %2 (%3 times)', name, event.message, count)
      });
      if (isShown) {
        this._open.set(key, { id: open.id, time: now, count });
        return;
      }
    }
    this._open.set(key, { id: this._emit(name, event), time: now, count: 1 });
  }

  private _emit(name: string, event: ClusterEvent): string {
    const { commands, trans } = this._muster;
    const type =
      event.severity === 'error'
        ? 'error'
        : event.severity === 'warning'
          ? 'warning'
          : 'info';
    return Notification.emit(trans.__('%1: %2', name, event.message), type, {
      autoClose: type === 'error' ? false : 8_000,
      actions: [
        {
          label: trans.__('Details'),
          callback: () => {
            void commands.execute(CommandIDs.openCluster, {
              cluster: event.cluster,
              tab: event.worker === undefined ? 'events' : 'overview'
            });
          }
        },
        ...(event.worker === undefined && event.job === undefined
          ? []
          : [
              {
                label: trans.__('Show log'),
                callback: () => {
                  void commands.execute(CommandIDs.showLogs, {
                    cluster: event.cluster,
                    what: event.worker ?? event.job ?? 'scheduler'
                  });
                }
              }
            ])
      ]
    });
  }

  private _muster: Muster;
  private _settings: MusterSettings;
  private _open = new Map<
    string,
    { id: string; time: number; count: number }
  >();
}

export namespace ClusterNotifier {
  export interface IOptions {
    muster: Muster;
    settings: MusterSettings;
  }
}
