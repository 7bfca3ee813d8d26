/** The settings as the panel uses them; defaults until the registry has answered. */
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

export type NotificationLevel = 'all' | 'problems' | 'none';

export class MusterSettings {
  get defaultProfile(): string {
    return this._text('defaultProfile');
  }

  get notifications(): NotificationLevel {
    const level = this._text('notifications');
    return level === 'all' || level === 'none' ? level : 'problems';
  }

  /** `{plot: {mode, ref?, title?}}`. */
  get defaultLayout(): unknown {
    return this._settings?.get('defaultLayout').composite ?? {};
  }

  get hidesClusters(): boolean {
    return this._settings?.get('hideClusters').composite === true;
  }

  get hidesDashboards(): boolean {
    return this._settings?.get('hideDashboards').composite === true;
  }

  /** Keep the stream open while the panel is hidden, for the status bar and notifications. */
  get watchesInBackground(): boolean {
    return this._settings?.get('watchInBackground').composite === true;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  take(settings: ISettingRegistry.ISettings): void {
    this._settings = settings;
    settings.changed.connect(() => {
      this._changed.emit();
    }, this);
    this._changed.emit();
  }

  private _text(name: string): string {
    const value = this._settings?.get(name).composite;
    return typeof value === 'string' ? value : '';
  }

  private _settings: ISettingRegistry.ISettings | null = null;
  private _changed = new Signal<this, void>(this);
}
