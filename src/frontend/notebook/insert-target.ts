/** Where connect code would go now, and which language it has to be in. */
import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { ConsolePanel, IConsoleTracker } from '@jupyterlab/console';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { ISessionContext } from '@jupyterlab/apputils';
import type { Widget } from '@lumino/widgets';

export type InsertTarget =
  | { kind: 'notebook'; panel: NotebookPanel }
  | { kind: 'console'; panel: ConsolePanel }
  | { kind: 'editor'; editor: CodeEditor.IEditor; mimeType: string };

export type InsertPlaces = {
  notebooks: INotebookTracker | null;
  consoles: IConsoleTracker | null;
  /** The main area's current widget. */
  current: () => Widget | null;
};

/**
 * What the user looks at, where it can take code; else the notebook last worked in, else the
 * console.
 */
export function insertTarget(places: InsertPlaces): InsertTarget | null {
  const { notebooks, consoles } = places;
  const current = places.current();
  if (current !== null) {
    const notebook = notebooks?.find(panel => panel === current);
    if (notebook !== undefined) {
      return { kind: 'notebook', panel: notebook };
    }
    const console = consoles?.find(panel => panel === current);
    if (console !== undefined) {
      return { kind: 'console', panel: console };
    }
    const editor = editorOf(current);
    if (editor !== null) {
      return { kind: 'editor', editor, mimeType: editor.model.mimeType };
    }
  }
  if (notebooks?.currentWidget) {
    return { kind: 'notebook', panel: notebooks.currentWidget };
  }
  if (consoles?.currentWidget) {
    return { kind: 'console', panel: consoles.currentWidget };
  }
  return null;
}

/** The session behind a target; files have none. */
export function sessionOf(target: InsertTarget): ISessionContext | null {
  return target.kind === 'editor' ? null : target.panel.sessionContext;
}

/**
 * The language at a target in lower case, or null where it has none (plain text, no kernel yet).
 * A notebook without a running kernel still says its language in its metadata.
 */
export async function languageAt(target: InsertTarget): Promise<string | null> {
  if (target.kind === 'editor') {
    return languageOfMimeType(target.mimeType);
  }
  const kernel = target.panel.sessionContext.session?.kernel ?? null;
  const spec =
    kernel === null ? undefined : await kernel.spec.catch(() => undefined);
  if (spec !== undefined) {
    return spec.language.toLowerCase();
  }
  return target.kind === 'notebook'
    ? (target.panel.content.model?.defaultKernelLanguage.toLowerCase() ?? null)
    : null;
}

/** `text/x-python` → `python`; plain text and markup have none. */
function languageOfMimeType(mimeType: string): string | null {
  const match = /^text\/x-(?:i)?([a-z+#-]+)$/.exec(mimeType);
  switch (match?.[1]) {
    case undefined:
    case 'markdown':
    case 'pythongfm':
      return null;
    case 'sh':
    case 'bash':
      return 'shell';
    default:
      return match?.[1] ?? null;
  }
}

/** A document widget's text editor, by shape: one token less to depend on. */
function editorOf(widget: Widget): CodeEditor.IEditor | null {
  const content: unknown = 'content' in widget ? widget.content : null;
  if (typeof content !== 'object' || content === null) {
    return null;
  }
  const editor: unknown = 'editor' in content ? content.editor : null;
  return typeof editor === 'object' &&
    editor !== null &&
    'getCursorPosition' in editor &&
    'model' in editor
    ? (editor as CodeEditor.IEditor)
    : null;
}
