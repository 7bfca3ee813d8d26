/** The toolbar item and its menu, as a person meets them. */
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  jest
} from '@jest/globals';
import { NotebookModel } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act } from '@testing-library/react';
import { getByRole, queryByRole } from '@testing-library/dom';
import type { ClusterId, ClusterView } from '../../protocol/index.js';
import { ClusterPicker } from './cluster-picker.js';
import { NotebookLink } from './notebook-link.js';
import {
  ANALYSIS,
  cluster,
  EXPLORE,
  FakeKernel,
  FakeSession,
  FakeSource,
  settle
} from './fixtures/fakes.js';

let source: FakeSource;
let session: FakeSession;
let kernel: FakeKernel;
let model: NotebookModel;
let link: NotebookLink;
let picker: ClusterPicker;
let chosen: string[];
const startAgain = jest.fn(() => Promise.resolve());
const newCluster = jest.fn(() => Promise.resolve());

const show = async (): Promise<void> => {
  link = new NotebookLink({ model, source, session: session.watched });
  picker = new ClusterPicker({
    link,
    source,
    trans: nullTranslator.load('jupyterlab_muster'),
    choose: (each: ClusterView) => {
      chosen.push(each.name);
      link.bind(each);
    },
    startAgain,
    newCluster
  });
  await act(async () => {
    Widget.attach(picker, document.body);
    MessageLoop.flush();
    await settle();
  });
};

const button = (): HTMLElement => getByRole(picker.node, 'button');
const openMenu = (): HTMLElement => {
  act(() => {
    button().click();
    MessageLoop.flush();
  });
  return getByRole(document.body, 'menu');
};
const item = (name: RegExp): HTMLElement => {
  const found = Array.from(
    document.querySelectorAll<HTMLElement>('.lm-Menu-item')
  ).find(each => name.test(each.textContent));
  if (found === undefined) {
    throw new Error(`no menu item ${String(name)}`);
  }
  return found;
};
/** By keyboard: jsdom has no geometry to hit with a pointer. */
const key = (keyCode: number): void => {
  getByRole(document.body, 'menu').dispatchEvent(
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- what Lumino's menus read
    new KeyboardEvent('keydown', { keyCode, bubbles: true })
  );
  MessageLoop.flush();
};
const press = async (keyCode: number, until: RegExp): Promise<void> => {
  await act(async () => {
    for (
      let step = 0;
      !item(until).classList.contains('lm-mod-active');
      step += 1
    ) {
      if (step > 20) {
        throw new Error(`${String(until)} cannot be reached`);
      }
      key(keyCode);
    }
    await settle();
  });
};
const click = async (name: RegExp): Promise<void> => {
  await press(40, name);
  await act(async () => {
    key(13);
    await settle();
    MessageLoop.flush();
  });
};
const refresh = async (): Promise<void> => {
  await act(async () => {
    await settle();
    MessageLoop.flush();
  });
};

beforeEach(() => {
  source = new FakeSource();
  source.clusters = [
    cluster({ workers: 8 }),
    cluster({ id: EXPLORE, name: 'explore', workers: 1 })
  ];
  kernel = new FakeKernel('k1');
  session = new FakeSession(kernel);
  model = new NotebookModel();
  chosen = [];
});

afterEach(() => {
  act(() => {
    picker.dispose();
    link.dispose();
  });
  expect(source.attachments).toBe(0);
});

describe('the picker', () => {
  it('says that there is no cluster, and costs nothing then', async () => {
    await show();
    expect(button().textContent).toBe('No cluster');
    expect(source.attachments).toBe(0);
  });

  it('lists the living clusters with their workers while it is open', async () => {
    source.clusters.push(
      cluster({ id: ANALYSIS, name: 'old', phase: 'stopped' })
    );
    await show();
    openMenu();
    expect(source.attachments).toBe(1);
    expect(item(/analysis/).textContent).toContain('8 workers');
    expect(item(/explore/).textContent).toContain('1 worker');
    expect(() => item(/old/)).toThrow();
    source.set(
      cluster({ workers: 9 }),
      cluster({ id: EXPLORE, name: 'explore' })
    );
    await refresh();
    expect(item(/analysis/).textContent).toContain('9 workers');
  });

  it('stays open, at the same item, when a cluster comes or goes', async () => {
    await show();
    openMenu();
    await press(40, /explore/);
    source.set(
      cluster({ id: '0000000000000003' as ClusterId, name: 'fresh' }),
      ...source.clusters
    );
    await refresh();
    expect(item(/fresh/).textContent).toContain('2 workers');
    expect(item(/explore/).classList).toContain('lm-mod-active');
    expect(button().getAttribute('aria-expanded')).toBe('true');
    await click(/explore/);
    expect(chosen).toEqual(['explore']);
    expect(button().getAttribute('aria-expanded')).toBe('false');
  });

  it('binds the notebook to what is chosen and shows it connected with its workers', async () => {
    await show();
    openMenu();
    await click(/analysis/);
    expect(chosen).toEqual(['analysis']);
    expect(queryByRole(document.body, 'menu')).toBeNull();
    expect(button().textContent).toBe('analysis (connecting)');
    kernel.live.at(-1)?.answer({ state: 'connected', named: true });
    await refresh();
    expect(button().textContent).toBe('analysis · 8');
    expect(button().getAttribute('aria-label')).toContain(
      'connected to analysis (8 workers)'
    );
  });

  it('disconnects, and can be told not to reconnect', async () => {
    model.setMetadata('muster', {
      cluster: { id: ANALYSIS, name: 'analysis' }
    });
    await show();
    openMenu();
    expect(item(/Reconnect/).classList).toContain('lm-mod-toggled');
    await click(/Reconnect/);
    expect(link.binding?.reconnect).toBe(false);
    openMenu();
    await click(/Disconnect/);
    expect(button().textContent).toBe('No cluster');
  });

  it('offers to start an ended cluster again', async () => {
    source.clusters = [cluster({ phase: 'stopped' })];
    model.setMetadata('muster', {
      cluster: { id: ANALYSIS, name: 'analysis' }
    });
    await show();
    expect(button().textContent).toBe('analysis (stopped)');
    openMenu();
    await click(/Start analysis again/);
    expect(startAgain).toHaveBeenCalledTimes(1);
  });

  it('says in words that the kernel has no Dask', async () => {
    model.setMetadata('muster', {
      cluster: { id: ANALYSIS, name: 'analysis' }
    });
    await show();
    kernel.live
      .at(-1)
      ?.answer({ state: 'no-dask', message: 'No module named distributed' });
    await refresh();
    expect(button().textContent).toBe('analysis (no Dask)');
    expect(button().title).toContain('No module named distributed');
  });

  it('opens the dialog for a new cluster', async () => {
    await show();
    openMenu();
    await click(/New cluster/);
    expect(newCluster).toHaveBeenCalledTimes(1);
  });
});
