/** The panel's "insert" button, from the click to the place the code goes to. */
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  jest
} from '@jest/globals';
import { Notification } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookModel } from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';
import { NotebookHooks } from './notebook-hooks.js';
import {
  cluster,
  FakeKernel,
  FakeSession,
  FakeSource,
  settle
} from './fixtures/fakes.js';

let source: FakeSource;
let session: FakeSession;
let panel: NotebookPanel | null;
let current: Widget | null;
let hooks: NotebookHooks;
const currentChanged = new Signal<unknown, void>({});

beforeEach(() => {
  source = new FakeSource();
  source.clusters = [cluster({})];
  session = new FakeSession(new FakeKernel('k1'));
  const notebook = NBTestUtils.createNotebook();
  notebook.model = new NotebookModel();
  panel = {
    content: notebook,
    sessionContext: session
  } as unknown as NotebookPanel;
  current = null;
  const notebooks = {
    currentChanged: new Signal<unknown, void>({}),
    get currentWidget() {
      return panel;
    },
    find: (test: (each: NotebookPanel) => boolean) =>
      panel !== null && test(panel) ? panel : undefined
  } as unknown as INotebookTracker;
  hooks = new NotebookHooks({
    source,
    places: { notebooks, consoles: null, current: () => current },
    currentChanged,
    trans: nullTranslator.load('jupyterlab_muster')
  });
});

afterEach(() => {
  hooks.dispose();
  Notification.dismiss();
});

const messages = (): string[] =>
  Notification.manager.notifications.map(each => each.message);

describe('inserting from the panel', () => {
  it('puts the snippet of the bridge into the notebook last worked in', async () => {
    await hooks.insert(cluster({}));
    expect(
      panel?.content.model?.sharedModel.cells.map(cell => cell.getSource())
    ).toContain('client = Client("0000000000000001")');
    expect(messages()).toEqual([]);
  });

  it('refuses an R notebook in words and offers the code for the clipboard (W22)', async () => {
    session.kernel = new FakeKernel('k2', 'R');
    const before = panel?.content.model?.sharedModel.toJSON();
    await hooks.insert(cluster({}));
    expect(panel?.content.model?.sharedModel.toJSON()).toEqual(before);
    expect(messages()[0]).toContain('This speaks r');
    expect(
      Notification.manager.notifications[0]?.options.actions?.map(
        each => each.label
      )
    ).toEqual(['Copy code']);
  });

  it('offers the code for the clipboard where nothing can take it', async () => {
    panel = null;
    expect(hooks.canInsert).toBe(false);
    await hooks.insert(cluster({}));
    expect(messages()[0]).toContain('No notebook');
  });

  it('says what the bridge said when the cluster has no connection', async () => {
    source.answer = () => Promise.reject(new Error('it is still starting'));
    await hooks.insert(cluster({}));
    expect(messages()[0]).toContain('it is still starting');
  });

  it('finds the scheduler of the notebook’s own client (W13)', async () => {
    const found = hooks.findScheduler();
    await settle();
    session.kernel?.live
      .at(-1)
      ?.answer({ state: 'found', address: 'tcp://h:1', security: null });
    expect(await found).toEqual({ address: 'tcp://h:1', security: null });
  });

  it('does not wait for ever for a kernel that is busy (W13)', async () => {
    jest.useFakeTimers();
    try {
      const found = hooks.findScheduler();
      await jest.advanceTimersByTimeAsync(6_000);
      expect(await found).toEqual({
        address: null,
        reason: 'The kernel is busy and did not answer.'
      });
    } finally {
      jest.useRealTimers();
    }
  });

  it('tells the panel which kernel is in use, and when that changes', () => {
    expect(hooks.kernelspec).toBe('python3');
    let changes = 0;
    hooks.changed.connect(() => {
      changes += 1;
    });
    session.replace(null);
    expect(hooks.kernelspec).toBeNull();
    currentChanged.emit();
    expect(changes).toBe(2);
  });
});
