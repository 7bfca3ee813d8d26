/** Which cluster a view shows, which tab, whose log: what is restored after a reload. */
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

export const TABS = [
  'overview',
  'workers',
  'jobs',
  'logs',
  'events',
  'spec'
] as const;
export type Tab = (typeof TABS)[number];

export function isTab(value: unknown): value is Tab {
  return TABS.some(tab => tab === value);
}

export class ViewState {
  constructor(options: { cluster: string; tab: Tab; what: string | null }) {
    this.cluster = options.cluster;
    this._tab = options.tab;
    this._what = options.what ?? 'scheduler';
  }

  readonly cluster: string;

  get tab(): Tab {
    return this._tab;
  }

  /** `scheduler`, a job id or a worker id. */
  get what(): string {
    return this._what;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  show(tab: Tab, what: string | null = null): void {
    this._tab = tab;
    this._what = what ?? this._what;
    this._changed.emit();
  }

  private _tab: Tab;
  private _what: string;
  private _changed = new Signal<this, void>(this);
}
