/** The sidebar and what surrounds it: costs nothing hidden, leaks nothing, remembers what it should. */
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  jest
} from '@jest/globals';
import { StateDB } from '@jupyterlab/statedb';
import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act } from '@testing-library/react';
import { CommandIDs } from '../commands.js';
import { ANALYSIS, EXPLORE, view } from '../fixtures/cluster-views.js';
import { settle } from '../fixtures/fake-bridge.js';
import { Stage } from '../fixtures/muster.js';
import { keepSelection } from '../model/selection-keeper.js';
import { RunningClusters } from './running-clusters.js';
import { MusterSidebar } from './sidebar.js';
import { StatusItem } from './status-item.js';

let stage: Stage;

const turn = (milliseconds = 0): Promise<void> =>
  act(async () => {
    MessageLoop.flush();
    jest.advanceTimersByTime(milliseconds);
    await settle();
  });
const open = async (): Promise<MusterSidebar> => {
  const sidebar = new MusterSidebar({
    muster: stage.muster,
    translator: nullTranslator
  });
  await act(async () => {
    Widget.attach(sidebar, document.body);
    await settle();
  });
  return sidebar;
};

beforeEach(() => {
  jest.useFakeTimers();
  stage = new Stage();
  stage.note(...Object.values(CommandIDs));
});
afterEach(() => {
  stage.dispose();
  jest.useRealTimers();
});

describe('the sidebar', () => {
  it('is silent while hidden, and current again when shown', async () => {
    const sidebar = await open();
    await turn();
    expect(stage.bridge.sockets).toHaveLength(1);
    await act(async () => {
      stage.bridge.socket.hello();
      stage.bridge.socket.say({
        type: 'snapshot',
        seq: 1,
        clusters: [view(), view({ id: EXPLORE, name: 'e', phase: 'creating' })],
        backends: []
      });
      await settle();
    });
    expect(sidebar.node.textContent).toContain('4 of 8 workers');
    act(() => {
      sidebar.hide();
    });
    await turn();
    await turn(60_000);
    expect(stage.bridge.socket.isClosed).toBe(true);
    expect(jest.getTimerCount()).toBe(0); // no clock ticks for nobody
    const asked = stage.bridge.asked.length;
    await turn(3_600_000);
    expect(stage.bridge.asked).toHaveLength(asked);
    act(() => {
      sidebar.show();
    });
    await turn();
    expect(stage.bridge.sockets).toHaveLength(2);
    await act(async () => {
      sidebar.dispose();
      await settle();
    });
  });

  it('opens and closes twenty times and leaves no timer, stream or node (row 37)', async () => {
    await turn();
    for (let round = 0; round < 20; round += 1) {
      const sidebar = await open();
      await turn(500);
      await act(async () => {
        sidebar.dispose();
        await settle();
      });
      await turn(10_000);
    }
    expect(
      stage.bridge.sockets.filter(socket => !socket.isClosed)
    ).toHaveLength(0);
    expect(document.querySelector('.jp-MusterPanel')).toBeNull();
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('the selection', () => {
  it('survives a reload', async () => {
    const state = new StateDB();
    await state.save('jupyterlab-muster:selected', EXPLORE);
    void keepSelection(stage.model, state);
    await stage.show([view(), view({ id: EXPLORE, name: 'explore' })]);
    await turn();
    expect(stage.model.selected).toBe(EXPLORE);
  });

  it('is not restored, and is forgotten, where the cluster is gone (W12)', async () => {
    const state = new StateDB();
    await state.save('jupyterlab-muster:selected', EXPLORE);
    void keepSelection(stage.model, state);
    await stage.show([view()]);
    await turn();
    expect(stage.model.selected).toBeNull();
    expect(await state.fetch('jupyterlab-muster:selected')).toBeUndefined();
  });

  it('is dropped from the store with its cluster', async () => {
    const state = new StateDB();
    void keepSelection(stage.model, state);
    await stage.show([view()]);
    await turn();
    stage.model.select(ANALYSIS);
    await turn();
    expect(await state.fetch('jupyterlab-muster:selected')).toBe(ANALYSIS);
    stage.bridge.socket.say({ type: 'removed', seq: 2, id: ANALYSIS });
    await turn();
    expect(await state.fetch('jupyterlab-muster:selected')).toBeUndefined();
  });
});

describe('the Running panel', () => {
  it('lists what lives, with its workers, and stops by the asking command', async () => {
    const running = new RunningClusters({ muster: stage.muster });
    await stage.show([
      view(),
      view({ id: EXPLORE, name: 'explore', phase: 'stopped' })
    ]);
    const items = running.running();
    expect(items.map(item => [item.label(), item.detail?.()])).toEqual([
      ['analysis', '4 workers']
    ]);
    items[0]?.shutdown?.();
    await turn();
    expect(stage.executed).toEqual([
      { id: CommandIDs.stopCluster, args: { cluster: ANALYSIS } }
    ]);
  });

  it('is told of arrivals and departures, not of every breath', async () => {
    const running = new RunningClusters({ muster: stage.muster });
    const told = jest.fn();
    running.runningChanged.connect(told);
    await stage.show([view()]);
    expect(told).toHaveBeenCalledTimes(1);
    stage.bridge.socket.say({
      type: 'cluster',
      seq: 2,
      cluster: view({ revision: 2 })
    });
    expect(told).toHaveBeenCalledTimes(1);
    stage.bridge.socket.say({
      type: 'cluster',
      seq: 3,
      cluster: view({ revision: 3, connected: 5 })
    });
    expect(told).toHaveBeenCalledTimes(2);
  });

  it('stops all at once, having asked itself', async () => {
    const running = new RunningClusters({ muster: stage.muster });
    await stage.show([view(), view({ id: EXPLORE, name: 'explore' })]);
    running.shutdownAll();
    await turn();
    expect(
      stage.bridge.asked.filter(one => one.method === 'DELETE')
    ).toHaveLength(2);
  });
});

describe('the status bar', () => {
  it('says how many clusters and workers, and only what is current', async () => {
    const item = new StatusItem({ muster: stage.muster });
    await act(async () => {
      Widget.attach(item, document.body);
      await stage.show([
        view(),
        view({ id: EXPLORE, name: 'explore', connected: 8 })
      ]);
    });
    await turn();
    expect(item.isWorthShowing).toBe(true);
    expect(item.node.textContent).toContain('2 · 12 workers');
    await act(async () => {
      stage.bridge.socket.drop();
      await settle();
    });
    expect(item.node.textContent).toContain('reconnecting…');
    await act(async () => {
      item.dispose();
      await settle();
    });
  });
});
