/** Plots of the cluster pointed at; nothing is ever asked of a dead one. */
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
import { ANALYSIS, EXPLORE, view } from '../../fixtures/cluster-views.js';
import { settle } from '../../fixtures/fake-bridge.js';
import { Stage } from '../../fixtures/muster.js';
import { ClusterChooser, DashboardsBody } from './body.js';
import { PlotsModel } from './model.js';
import { plotOf, plotTitle } from './plot-name.js';

let stage: Stage;
let plots: PlotsModel;

const LIST = `api/v1/clusters/${ANALYSIS}/dashboards`;
const plot = (name: string, title: string, id = ANALYSIS): unknown => ({
  name,
  title,
  path: `dashboards/${id}/${name}`
});
const show = async (...clusters: ReturnType<typeof view>[]): Promise<void> => {
  render(
    stage.wrap(
      <>
        <ClusterChooser />
        <DashboardsBody plots={plots} />
      </>
    )
  );
  await act(async () => {
    plots.isActive = true;
    await stage.show(clusters);
  });
};
const say = (
  message: Parameters<typeof stage.bridge.socket.say>[0]
): Promise<void> =>
  act(async () => {
    stage.bridge.socket.say(message);
    await settle();
  });
const advance = async (milliseconds: number): Promise<void> => {
  for (let passed = 0; passed < milliseconds; passed += 1_000) {
    await act(async () => {
      jest.advanceTimersByTime(1_000);
      await settle();
    });
  }
};
const titles = (): (string | null)[] =>
  screen.queryAllByRole('button').map(one => one.textContent);

beforeEach(() => {
  jest.useFakeTimers();
  stage = new Stage();
  stage.note(CommandIDs.openDashboard);
  plots = new PlotsModel({ clusters: stage.model });
  stage.bridge.answer('GET', LIST, {
    body: {
      items: [
        plot('individual-task-stream', 'Individual Task Stream'),
        plot('individual-gpu-memory', 'Individual Gpu Memory'),
        plot('status', 'Status')
      ],
      next: null
    }
  });
});
afterEach(() => {
  cleanup();
  plots.dispose();
  stage.dispose();
  jest.useRealTimers();
});

describe('the list of plots', () => {
  it('is the scheduler’s own, in alphabetic order, without saying "Individual" each time (B29)', async () => {
    await show(view());
    expect(titles()).toEqual(['GPU Memory', 'Status', 'Task Stream']);
  });

  it('opens a plot by a click', async () => {
    await show(view());
    fireEvent.click(screen.getByRole('button', { name: 'Task Stream' }));
    expect(stage.executed).toEqual([
      {
        id: CommandIDs.openDashboard,
        args: {
          cluster: ANALYSIS,
          plot: 'individual-task-stream',
          title: 'Task Stream'
        }
      }
    ]);
  });

  it('is filtered while typing; Enter opens the first', async () => {
    await show(view());
    const filter = screen.getByRole('searchbox', { name: 'Filter plots' });
    fireEvent.change(filter, { target: { value: 'mem' } });
    expect(titles()).toEqual(['GPU Memory']);
    fireEvent.keyDown(filter, { key: 'Enter' });
    expect(stage.executed).toHaveLength(1);
  });

  it('follows the cluster that is chosen', async () => {
    stage.bridge.answer('GET', `api/v1/clusters/${EXPLORE}/dashboards`, {
      body: {
        items: [plot('individual-progress', 'Individual Progress', EXPLORE)],
        next: null
      }
    });
    await show(view(), view({ id: EXPLORE, name: 'explore' }));
    expect(screen.getByText('Choose a cluster to see its plots.')).toBeTruthy();
    await act(async () => {
      fireEvent.change(screen.getByRole('combobox'), {
        target: { value: EXPLORE }
      });
      await settle();
    });
    expect(titles()).toEqual(['Progress']);
    expect(stage.model.selected).toBe(EXPLORE);
  });

  it('drops the answer of a cluster no longer looked at (W19)', async () => {
    let answer: (() => void) | undefined;
    stage.bridge.answer(
      'GET',
      LIST,
      () =>
        new Promise(resolve => {
          answer = () => {
            resolve({ body: { items: [plot('late', 'Late')], next: null } });
          };
        })
    );
    stage.bridge.answer('GET', `api/v1/clusters/${EXPLORE}/dashboards`, {
      body: { items: [plot('b', 'B', EXPLORE)], next: null }
    });
    await show(view(), view({ id: EXPLORE, name: 'explore' }));
    await act(async () => {
      stage.model.select(ANALYSIS);
      await settle();
      stage.model.select(EXPLORE);
      await settle();
      answer?.();
      await settle();
    });
    expect(titles()).toEqual(['B']);
  });

  it('tries again, less and less often, where it cannot be had yet, and says why', async () => {
    stage.bridge.answer('GET', LIST, {
      status: 503,
      body: {
        error: { code: 'backend-unavailable', message: 'no dashboard yet' }
      }
    });
    await show(view());
    expect(screen.getByRole('status').textContent).toContain(
      'no dashboard yet'
    );
    await advance(60_000);
    expect(stage.bridge.count('GET', LIST)).toBeLessThanOrEqual(6);
    expect(stage.bridge.count('GET', LIST)).toBeGreaterThan(2);
  });

  it('asks nothing more for a cluster that has ended (W12, B23)', async () => {
    stage.bridge.answer('GET', LIST, { status: 503, body: {} });
    await show(view());
    await say({
      type: 'cluster',
      seq: 2,
      cluster: view({ revision: 2, phase: 'stopped' })
    });
    const asked = stage.bridge.count('GET', LIST);
    await advance(300_000);
    expect(stage.bridge.count('GET', LIST)).toBe(asked);
    expect(
      screen.getByText('The plots of a running cluster appear here.')
    ).toBeTruthy();
  });

  it('asks nothing while the section is hidden (W31: no idle polling)', async () => {
    await show(view());
    act(() => {
      plots.isActive = false;
    });
    const asked = stage.bridge.count('GET', LIST);
    const moved = view({ revision: 2 });
    await say({
      type: 'cluster',
      seq: 2,
      cluster: {
        ...moved,
        scheduler: { ...moved.scheduler, address: 'tls://n18:1' }
      }
    });
    await advance(120_000);
    expect(stage.bridge.count('GET', LIST)).toBe(asked);
  });
});

describe('a plot', () => {
  it.each([
    ['dashboards/k3v9qx7m2d8tn4ra/individual-progress', 'individual-progress'],
    ['/individual-progress', 'individual-progress'],
    ['/status?token=x', 'status?token=x'],
    ['mystatus', 'mystatus']
  ])('is known by %j without its cluster: %j (W16, W17)', (path, name) => {
    expect(plotOf(path)).toBe(name);
  });

  it('has a title where Dask gives none', () => {
    expect(plotTitle({ name: 'x', title: 'Individual ', path: 'x' })).toBe('x');
    expect(plotTitle({ name: 'x', title: '', path: 'x' })).toBe('x');
  });
});
