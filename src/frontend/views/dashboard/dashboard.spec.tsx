/** Dashboard panes: follow or pinned, inactive when the cluster is gone. */
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  jest
} from '@jest/globals';
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import { CommandIDs } from '../../commands.js';
import { VisibleContext } from '../../elements/clock.js';
import { ANALYSIS, EXPLORE, view } from '../../fixtures/cluster-views.js';
import { settle } from '../../fixtures/fake-bridge.js';
import { Stage } from '../../fixtures/muster.js';
import { DashboardBody } from './body.js';
import { inLayoutOrder, titleOf } from './layout.js';
import { PaneState } from './pane-state.js';

let stage: Stage;
const show = async (
  state: PaneState,
  ...clusters: ReturnType<typeof view>[]
): Promise<void> => {
  render(stage.wrap(<DashboardBody state={state} />));
  await act(async () => {
    await stage.show(clusters);
  });
};
const frame = (): HTMLIFrameElement | null => document.querySelector('iframe');
const state = (pinned: typeof ANALYSIS | null = null): PaneState =>
  new PaneState({ plot: 'individual-progress', title: 'Progress', pinned });

beforeEach(() => {
  stage = new Stage();
  stage.note(CommandIDs.startAgain, CommandIDs.showPanel);
});
afterEach(() => {
  cleanup();
  stage.dispose();
});

describe('a pane', () => {
  it('goes through the relay, same-origin with the page (B14, B15), under the prefix (B20)', async () => {
    await show(state(), view());
    expect(frame()?.src).toBe(
      `http://localhost/user/x/muster/dashboards/${ANALYSIS}/individual-progress`
    );
  });

  it('gives the dashboard no origin of Jupyter’s (W28)', async () => {
    await show(state(), view());
    const sandbox = frame()?.getAttribute('sandbox') ?? '';
    expect(sandbox.split(' ')).toContain('allow-scripts');
    expect(sandbox).not.toMatch(
      /allow-same-origin|allow-top-navigation|allow-forms/
    );
  });

  it('follows the cluster the panel points at', async () => {
    await show(state(), view(), view({ id: EXPLORE, name: 'explore' }));
    expect(frame()).toBeNull();
    act(() => {
      stage.model.select(ANALYSIS);
    });
    expect(frame()?.src).toContain(ANALYSIS);
    act(() => {
      stage.model.select(EXPLORE);
    });
    expect(frame()?.src).toContain(EXPLORE);
  });

  it('stays with its cluster once pinned, so that two clusters stand side by side', async () => {
    const pane = state();
    await show(pane, view(), view({ id: EXPLORE, name: 'explore' }));
    act(() => {
      stage.model.select(ANALYSIS);
    });
    fireEvent.click(screen.getByRole('button', { name: /^Pin to analysis/ }));
    act(() => {
      stage.model.select(EXPLORE);
    });
    expect(pane.pinned).toBe(ANALYSIS);
    expect(frame()?.src).toContain(ANALYSIS);
  });

  it('loads anew when the scheduler has moved', async () => {
    await show(state(), view());
    const before = frame();
    const moved = view({ revision: 2 });
    await act(async () => {
      stage.bridge.socket.say({
        type: 'cluster',
        seq: 2,
        cluster: {
          ...moved,
          scheduler: { ...moved.scheduler, address: 'tls://n18:1' }
        }
      });
      await settle();
    });
    expect(frame()).not.toBe(before);
  });

  it('is taken away with its cluster, so that nothing polls a dead one (W12), and can start it again', async () => {
    const pane = state(ANALYSIS);
    await show(pane, view());
    await act(async () => {
      stage.bridge.socket.say({
        type: 'cluster',
        seq: 2,
        cluster: view({ revision: 2, phase: 'stopped' })
      });
      await settle();
    });
    expect(frame()).toBeNull();
    expect(
      screen.getByRole('status', { name: 'analysis: stopped' })
    ).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Start again' }));
    expect(stage.executed.at(-1)).toEqual({
      id: CommandIDs.startAgain,
      args: { cluster: ANALYSIS }
    });
    expect(pane.pinned).toBeNull();
  });

  it('lets go of its plot when nobody has seen it for a while, and takes it up again (W31)', async () => {
    jest.useFakeTimers();
    const pane = (isVisible: boolean): React.JSX.Element =>
      stage.wrap(
        <VisibleContext.Provider value={isVisible}>
          <DashboardBody state={state(ANALYSIS)} />
        </VisibleContext.Provider>
      );
    const { rerender } = render(pane(true));
    await act(async () => {
      await stage.show([view()]);
    });
    rerender(pane(false));
    expect(frame()).not.toBeNull();
    act(() => {
      jest.advanceTimersByTime(121_000);
    });
    expect(frame()).toBeNull();
    rerender(pane(true));
    expect(frame()).not.toBeNull();
    jest.useRealTimers();
  });

  it('waits without a cluster, and says so', async () => {
    await show(state());
    expect(
      screen.getByRole('status', { name: 'Progress is waiting for a cluster' })
    ).toBeTruthy();
  });
});

describe('the default layout', () => {
  it('opens each plot after the one it stands beside', () => {
    const order = inLayoutOrder({
      c: { mode: 'split-right', ref: 'b' },
      b: { mode: 'split-bottom', ref: 'a' },
      a: { mode: 'split-right' }
    });
    expect(order.map(one => one.plot)).toEqual(['a', 'b', 'c']);
  });

  it('opens also what refers in a circle or to nothing', () => {
    const order = inLayoutOrder({
      a: { ref: 'b' },
      b: { ref: 'a' },
      c: { ref: 'gone' }
    });
    expect(order.map(one => [one.plot, one.ref])).toEqual([
      ['a', null],
      ['b', null],
      ['c', null]
    ]);
    expect(inLayoutOrder(undefined)).toEqual([]);
  });

  it('titles a plot by its name', () => {
    expect(titleOf('individual-workers-memory')).toBe('Workers memory');
  });
});
