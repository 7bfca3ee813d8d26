/** What the panel may ask of the notebook half: insert code, drag code, which kernel is in use. */
import {
  Clipboard,
  Notification,
  type ISessionContext
} from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { ISignal } from '@lumino/signaling';
import type { ClusterView, ConnectionView } from '../../protocol/index.js';
import type { INotebookHooks } from '../tokens.js';
import { dragCluster } from './cluster-drag.js';
import type { IClusterSource } from './cluster-source.js';
import { connectCode } from './connect-code.js';
import {
  insertInConsole,
  insertInEditor,
  insertInNotebook
} from './insert-code.js';
import type { InsertOutcome } from './insert-code.js';
import { runInKernel } from './kernel-task.js';
import { speaksPython } from './notebook-link.js';
import { insertTarget, languageAt, sessionOf } from './insert-target.js';
import type { InsertPlaces, InsertTarget } from './insert-target.js';

export class NotebookHooks implements INotebookHooks, IDisposable {
  constructor(options: NotebookHooks.IOptions) {
    this._options = options;
    for (const signal of this._placeSignals()) {
      signal.connect(this._onPlaceChanged, this);
    }
    this._follow();
  }

  get canInsert(): boolean {
    return insertTarget(this._options.places) !== null;
  }

  get kernelspec(): string | null {
    return this._session?.session?.kernel?.name ?? null;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  async insert(cluster: ClusterView): Promise<void> {
    const { trans, places } = this._options;
    const connection = await this._connection(cluster);
    if (connection === null) {
      return;
    }
    const target = insertTarget(places);
    if (target === null) {
      this._offerCopy(
        trans.__('No notebook, console or file is open to take the code.'),
        connection
      );
      return;
    }
    const found = connectCode(connection, await languageAt(target));
    if (found.code === null) {
      this._offerCopy(
        trans.__(
          'This speaks %1, and there is no connect code for that language: Dask clusters need Python.',
          found.language
        ),
        connection
      );
      return;
    }
    const outcome = put(target, found.code);
    if (!outcome.done) {
      this._offerCopy(
        outcome.reason === 'read-only'
          ? trans.__('The document is read-only.')
          : trans.__('There is no place for the code yet.'),
        connection
      );
    }
  }

  async findScheduler(): Promise<FoundScheduler> {
    const { trans } = this._options;
    const none = (reason: string): FoundScheduler => ({
      address: null,
      reason
    });
    const kernel = this._session?.session?.kernel ?? null;
    if (kernel === null) {
      return none(
        trans.__('No notebook or console with a running kernel is open.')
      );
    }
    const language = (await kernel.spec)?.language ?? 'python';
    if (!speaksPython(language.toLowerCase())) {
      return none(trans.__('The kernel speaks %1, not Python.', language));
    }
    // The reply is awaited, not an output: code that prints nothing must not be waited for (W13).
    const report = await within(
      FIND_LIMIT,
      runInKernel(kernel, { do: 'find' })
    );
    switch (report?.state) {
      case 'found':
        return { address: report.address, security: report.security };
      case 'none':
        return none(trans.__('There is no Dask client in this kernel.'));
      case 'failed':
        return none(report.message);
      default:
        return none(trans.__('The kernel is busy and did not answer.'));
    }
  }

  startDrag(
    cluster: ClusterView,
    origin: { clientX: number; clientY: number; row: HTMLElement }
  ): void {
    const code = this._options.source
      .connection(cluster.id)
      .then(connection => connection.snippets.python.trimEnd());
    dragCluster({ name: cluster.name, code, ...origin }).catch(
      (error: unknown) => {
        this._sayNoConnection(cluster, error);
      }
    );
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    for (const signal of this._placeSignals()) {
      signal.disconnect(this._onPlaceChanged, this);
    }
    this._session?.kernelChanged.disconnect(this._onKernelChanged, this);
    this._session = null;
    Signal.clearData(this);
  }

  private async _connection(
    cluster: ClusterView
  ): Promise<ConnectionView | null> {
    try {
      return await this._options.source.connection(cluster.id);
    } catch (error) {
      this._sayNoConnection(cluster, error);
      return null;
    }
  }

  private _sayNoConnection(cluster: ClusterView, error: unknown): void {
    Notification.error(
      this._options.trans.__(
        'There is no connect code for %1: %2',
        cluster.name,
        error instanceof Error ? error.message : String(error)
      ),
      { autoClose: false }
    );
  }

  private _offerCopy(message: string, connection: ConnectionView): void {
    const { trans } = this._options;
    Notification.warning(message, {
      actions: [
        {
          label: trans.__('Copy code'),
          caption: trans.__('Copy the Python code to the clipboard'),
          callback: () => {
            Clipboard.copyToSystem(connection.snippets.python.trimEnd());
          }
        }
      ]
    });
  }

  private _placeSignals(): ISignal<unknown, unknown>[] {
    const { notebooks, consoles } = this._options.places;
    return [
      ...(notebooks === null ? [] : [notebooks.currentChanged]),
      ...(consoles === null ? [] : [consoles.currentChanged]),
      ...(this._options.currentChanged === null
        ? []
        : [this._options.currentChanged])
    ];
  }

  private _onPlaceChanged(): void {
    this._follow();
    this._changed.emit();
  }

  /** Listen to the kernel of whatever would take the code now. */
  private _follow(): void {
    const target = insertTarget(this._options.places);
    const session = target === null ? null : sessionOf(target);
    if (session === this._session) {
      return;
    }
    this._session?.kernelChanged.disconnect(this._onKernelChanged, this);
    this._session = session;
    this._session?.kernelChanged.connect(this._onKernelChanged, this);
  }

  private _onKernelChanged(): void {
    this._changed.emit();
  }

  private readonly _options: NotebookHooks.IOptions;
  private readonly _changed = new Signal<this, void>(this);
  private _session: ISessionContext | null = null;
  private _isDisposed = false;
}

export namespace NotebookHooks {
  export interface IOptions {
    source: IClusterSource;
    places: InsertPlaces;
    /** The main area's current widget changed; null where the shell does not say. */
    currentChanged: ISignal<unknown, unknown> | null;
    trans: TranslationBundle;
  }
}

type FoundScheduler = Awaited<ReturnType<INotebookHooks['findScheduler']>>;

/** Milliseconds a person waits for a kernel that may be busy for hours. */
const FIND_LIMIT = 5_000;

function within<T>(
  milliseconds: number,
  promise: Promise<T>
): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      resolve(null);
    }, milliseconds);
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}

function put(target: InsertTarget, code: string): InsertOutcome {
  switch (target.kind) {
    case 'notebook':
      return insertInNotebook(target.panel, code);
    case 'console':
      return insertInConsole(target.panel.console, code);
    case 'editor':
      return insertInEditor(target.editor, code);
  }
}
