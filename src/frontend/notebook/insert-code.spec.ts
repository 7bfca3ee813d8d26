/** Connect code put where the user works (B5, W21, W22). */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NotebookModel } from '@jupyterlab/notebook';
import type { Notebook, NotebookPanel } from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import { CodeCellModel } from '@jupyterlab/cells';
import type { CodeConsole } from '@jupyterlab/console';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import { connectCode } from './connect-code.js';
import {
  insertInConsole,
  insertInEditor,
  insertInNotebook
} from './insert-code.js';

const CODE = 'from distributed import Client\nclient = Client("tcp://h:1")';

describe('inserting into a notebook', () => {
  let notebook: Notebook;
  let panel: NotebookPanel;

  const sources = (): string[] =>
    notebook.model?.sharedModel.cells.map(cell => cell.getSource()) ?? [];

  beforeEach(() => {
    notebook = NBTestUtils.createNotebook();
    const model = new NotebookModel();
    model.sharedModel.insertCells(0, [
      { cell_type: 'code', source: 'a = 1' },
      { cell_type: 'code', source: 'b = 2' },
      { cell_type: 'code', source: '' },
      { cell_type: 'markdown', source: '' }
    ]);
    model.sharedModel.clearUndoHistory();
    notebook.model = model;
    panel = { content: notebook } as unknown as NotebookPanel;
  });

  afterEach(() => {
    notebook.dispose();
  });

  it('adds exactly one cell below the active one and goes there', () => {
    notebook.activeCellIndex = 0;
    expect(insertInNotebook(panel, CODE)).toEqual({ done: true });
    expect(sources()).toEqual(['a = 1', CODE, 'b = 2', '', '']);
    expect(notebook.activeCellIndex).toBe(1);
  });

  it('uses an empty active cell instead of adding one', () => {
    notebook.activeCellIndex = 2;
    insertInNotebook(panel, CODE);
    expect(sources()).toEqual(['a = 1', 'b = 2', CODE, '']);
  });

  it('does not turn an empty text cell into code', () => {
    notebook.activeCellIndex = 3;
    insertInNotebook(panel, CODE);
    expect(sources()).toEqual(['a = 1', 'b = 2', '', '', CODE]);
  });

  it.each([0, 2])('is one undo step of its own (cell %i)', index => {
    const before = sources();
    notebook.activeCellIndex = index;
    // What was typed a moment ago is another step.
    const shared = notebook.model?.sharedModel;
    shared?.transact(() => shared.cells[1]?.setSource('b = 22'));
    insertInNotebook(panel, CODE);
    notebook.model?.sharedModel.undo();
    expect(sources()).toEqual([before[0], 'b = 22', '', '']);
    notebook.model?.sharedModel.undo();
    expect(sources()).toEqual(before);
  });

  it('refuses a read-only notebook', () => {
    if (notebook.model !== null) {
      notebook.model.readOnly = true;
    }
    expect(insertInNotebook(panel, CODE)).toEqual({
      done: false,
      reason: 'read-only'
    });
    expect(sources()).toHaveLength(4);
  });
});

describe('inserting at a console prompt', () => {
  const consoleWith = (typed: string): CodeConsole => {
    const model = new CodeCellModel();
    model.sharedModel.setSource(typed);
    return { promptCell: { model, editor: null } } as unknown as CodeConsole;
  };
  const prompt = (console: CodeConsole): string =>
    console.promptCell?.model.sharedModel.getSource() ?? '';

  it('fills an empty prompt', () => {
    const console = consoleWith('');
    insertInConsole(console, CODE);
    expect(prompt(console)).toBe(CODE);
  });

  it('keeps what is half typed (W21)', () => {
    const console = consoleWith('df.groupby("x"');
    insertInConsole(console, CODE);
    expect(prompt(console)).toBe(`${CODE}\ndf.groupby("x"`);
  });
});

describe('inserting into a file', () => {
  const editorAt = (text: string, line: number): CodeEditor.IEditor => {
    const model = new CodeCellModel();
    model.sharedModel.setSource(text);
    const lines = (): string[] => model.sharedModel.getSource().split('\n');
    return {
      model,
      getOption: () => false,
      getCursorPosition: () => ({ line, column: 3 }),
      setCursorPosition: () => undefined,
      getLine: (index: number) => lines()[index],
      getOffsetAt: (at: CodeEditor.IPosition) =>
        lines().slice(0, at.line).join('\n').length +
        (at.line > 0 ? 1 : 0) +
        at.column,
      getPositionAt: () => undefined,
      focus: () => undefined
    } as unknown as CodeEditor.IEditor;
  };

  it('goes below the line of the cursor, indented like it', () => {
    const editor = editorAt('def f():\n    x = 1\n    return x\n', 1);
    insertInEditor(editor, 'a\nb');
    expect(editor.model.sharedModel.getSource()).toBe(
      'def f():\n    x = 1\n    a\n    b\n    return x\n'
    );
  });

  it('takes an empty line itself', () => {
    const editor = editorAt('x = 1\n\ny = 2\n', 1);
    insertInEditor(editor, 'a');
    expect(editor.model.sharedModel.getSource()).toBe('x = 1\na\ny = 2\n');
  });
});

describe('the language of the code', () => {
  const connection = {
    address: 'tcp://h:1',
    dashboard: null,
    security: null,
    snippets: {
      python: `${CODE}\n`,
      env: 'export DASK_SCHEDULER_ADDRESS=tcp://h:1\n'
    }
  };

  it('is the snippet of the bridge for Python and for text', () => {
    expect(connectCode(connection, 'python')).toEqual({ code: CODE });
    expect(connectCode(connection, null)).toEqual({ code: CODE });
  });

  it('is the environment for a shell', () => {
    expect(connectCode(connection, 'bash')).toEqual({
      code: 'export DASK_SCHEDULER_ADDRESS=tcp://h:1'
    });
  });

  it('is refused for R, by name (W22)', () => {
    expect(connectCode(connection, 'r')).toEqual({ code: null, language: 'r' });
  });
});
