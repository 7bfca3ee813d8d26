/**
 * Puts connect code where the user works: a notebook's cell, a console's prompt, a file.
 * Nothing that was typed is ever replaced (specs/peer-features.md W21).
 */
import { NotebookActions } from '@jupyterlab/notebook';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { CodeConsole } from '@jupyterlab/console';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { ISharedText } from '@jupyter/ydoc';

export type InsertOutcome =
  { done: true } | { done: false; reason: 'read-only' | 'no-place' };

/**
 * One cell below the active one; an empty active code cell is used itself. Through the shared
 * model, so that collaborators see it too, and as one undo step of its own.
 */
export function insertInNotebook(
  panel: NotebookPanel,
  code: string
): InsertOutcome {
  const notebook = panel.content;
  const model = notebook.model;
  if (model === null) {
    return { done: false, reason: 'no-place' };
  }
  if (model.readOnly) {
    return { done: false, reason: 'read-only' };
  }
  const shared = model.sharedModel;
  const active = notebook.activeCell?.model.sharedModel;
  const reuse =
    active?.cell_type === 'code' && active.getSource().trim() === '';
  const index = reuse ? notebook.activeCellIndex : notebook.activeCellIndex + 1;
  ownUndoStep(shared, () => {
    shared.transact(() => {
      if (reuse) {
        active.setSource(code);
      } else {
        shared.insertCell(index, {
          cell_type: 'code',
          source: code,
          // As for every cell a user makes; it has no output that could be untrusted.
          metadata: { trusted: true }
        });
      }
    });
  });
  notebook.deselectAll();
  notebook.activeCellIndex = index;
  void NotebookActions.focusActiveCell(notebook);
  return { done: true };
}

/** At the prompt: above what is typed there, with the cursor left at the same letter. */
export function insertInConsole(
  console: CodeConsole,
  code: string
): InsertOutcome {
  const prompt = console.promptCell;
  if (prompt === null) {
    return { done: false, reason: 'no-place' };
  }
  const shared = prompt.model.sharedModel;
  const typed = shared.getSource();
  const editor = prompt.editor;
  const offset = editor?.getOffsetAt(editor.getCursorPosition()) ?? 0;
  const added = typed.trim() === '' ? code : `${code}\n`;
  ownUndoStep(shared, () => {
    shared.updateSource(0, typed.trim() === '' ? typed.length : 0, added);
  });
  if (editor !== null) {
    const cursor = typed.trim() === '' ? code.length : added.length + offset;
    const position = editor.getPositionAt(cursor);
    if (position !== undefined) {
      editor.setCursorPosition(position);
    }
    editor.focus();
  }
  return { done: true };
}

/** In a file: on lines of their own below the cursor's line, indented like it. */
export function insertInEditor(
  editor: CodeEditor.IEditor,
  code: string
): InsertOutcome {
  if (editor.getOption('readOnly') === true) {
    return { done: false, reason: 'read-only' };
  }
  const shared: ISharedText = editor.model.sharedModel;
  const { line } = editor.getCursorPosition();
  const text = editor.getLine(line) ?? '';
  const indent = /^[ \t]*/.exec(text)?.[0] ?? '';
  const block = code
    .split('\n')
    .map(each => (each === '' ? each : indent + each))
    .join('\n');
  const start = editor.getOffsetAt({ line, column: 0 });
  const empty = text.trim() === '';
  const from = empty ? start : start + text.length;
  const added = empty ? block : `\n${block}`;
  ownUndoStep(shared, () => {
    shared.updateSource(from, start + text.length, added);
  });
  const position = editor.getPositionAt(from + added.length);
  if (position !== undefined) {
    editor.setCursorPosition(position);
  }
  editor.focus();
  return { done: true };
}

/**
 * Changes made within half a second are one undo step by default: the code would vanish together
 * with what was typed just before (yjs: UndoManager, captureTimeout).
 */
function ownUndoStep(shared: object, change: () => void): void {
  const manager =
    'undoManager' in shared
      ? (shared.undoManager as { stopCapturing?: () => void } | null)
      : null;
  manager?.stopCapturing?.();
  change();
  manager?.stopCapturing?.();
}
