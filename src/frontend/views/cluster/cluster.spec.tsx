/** One cluster from all sides. */
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
  screen,
  within
} from '@testing-library/react';
import { parse } from 'yaml';
import { CommandIDs } from '../../commands.js';
import { VisibleContext } from '../../elements/clock.js';
import { ANALYSIS, event, view, worker } from '../../fixtures/cluster-views.js';
import { settle } from '../../fixtures/fake-bridge.js';
import { Stage } from '../../fixtures/muster.js';
import { ClusterBody } from './body.js';
import { yamlOf } from './spec-yaml.js';
import { ViewState } from './view-state.js';
import type { Tab } from './view-state.js';

let stage: Stage;
let state: ViewState;
const BASE = `api/v1/clusters/${ANALYSIS}`;

const show = async (
  tab: Tab,
  ...clusters: ReturnType<typeof view>[]
): Promise<void> => {
  state = new ViewState({ cluster: ANALYSIS, tab, what: null });
  render(stage.wrap(<ClusterBody state={state} />));
  await act(async () => {
    await stage.show(clusters.length === 0 ? [view()] : clusters);
  });
  await advance(500);
};
const advance = async (milliseconds: number): Promise<void> => {
  await act(async () => {
    jest.advanceTimersByTime(milliseconds);
    await settle();
  });
};

// jsdom lays nothing out and has nowhere to scroll to.
Element.prototype.scrollIntoView = (): void => undefined;

beforeEach(() => {
  jest.useFakeTimers({ now: new Date('2026-11-30T14:00:00Z') });
  stage = new Stage();
  stage.note(...Object.values(CommandIDs));
  stage.bridge.answer('GET', `${BASE}/workers`, {
    body: {
      items: [
        worker(0),
        worker(1, { host: 'n18', status: 'paused', memoryUsed: 7 * 1024 ** 3 })
      ],
      next: null
    }
  });
  stage.bridge.answer('GET', `${BASE}/jobs`, {
    body: {
      items: [
        {
          id: worker(0).job,
          group: 'default',
          handle: { nativeId: '519605', incarnation: 1 },
          phase: 'ended',
          outcome: 'out-of-memory',
          nativeState: 'OUT_OF_MEMORY',
          reason: 'oom_kill event',
          exit: { code: 137, signal: null },
          host: 'n18',
          submittedAt: '2026-11-30T13:00:00Z',
          startedAt: '2026-11-30T13:01:40Z',
          endedAt: '2026-11-30T13:30:00Z',
          workers: [worker(0).id],
          logs: true
        }
      ],
      next: null
    }
  });
  stage.bridge.answer('GET', `${BASE}/events`, {
    body: {
      items: [
        event('created', { seq: 1, severity: 'info', message: 'made' }),
        event('worker-died', {
          seq: 2,
          message: 'Worker 1 was killed: out of memory',
          worker: worker(1).id,
          data: {
            exit: 137,
            logTail: '\u001b[31mMemoryError\u001b[0m\u001b]0;x\u0007'
          }
        })
      ],
      next: null
    }
  });
  stage.bridge.answer('GET', `${BASE}/logs/scheduler`, {
    text: 'State start\nScheduler at: tls://n17\n',
    headers: { 'X-Next-Offset': '36' }
  });
  stage.bridge.answer('GET', `${BASE}/logs/${worker(0).id}`, {
    text: 'worker log\n',
    headers: { 'X-Next-Offset': '11' }
  });
});
afterEach(() => {
  cleanup();
  stage.dispose();
  jest.useRealTimers();
});

describe('the view of a cluster', () => {
  it('says why a worker died, with its exit and the last words of its log', async () => {
    await show('overview');
    const wrong = screen.getByRole('region', {
      name: 'What went wrong lately'
    });
    expect(wrong.textContent).toContain('Worker 1 was killed: out of memory');
    expect(wrong.textContent).toContain('exit: 137');
    expect(wrong.querySelector('pre')?.textContent).toBe('MemoryError');
    expect(wrong.textContent).not.toContain('made');
  });

  it('adds what happens while it is open', async () => {
    await show('events');
    await act(async () => {
      stage.bridge.socket.say({
        type: 'event',
        seq: 9,
        event: event('submit-failed', { seq: 9, message: 'sbatch said no' })
      });
      await settle();
    });
    expect(screen.getByText('sbatch said no')).toBeTruthy();
    expect(screen.getByText('3 events')).toBeTruthy();
    fireEvent.change(screen.getByRole('combobox', { name: 'Kind of event' }), {
      target: { value: 'created' }
    });
    expect(screen.queryByText('sbatch said no')).toBeNull();
  });

  it('goes through its tabs by the arrow keys', async () => {
    await show('overview');
    fireEvent.keyDown(screen.getByRole('tablist'), { key: 'ArrowLeft' });
    expect(state.tab).toBe('spec');
    expect(screen.getByRole('tab', { selected: true }).textContent).toBe(
      'Spec'
    );
  });

  it('says that a forgotten cluster is gone', async () => {
    await show('overview');
    await act(async () => {
      stage.bridge.socket.say({ type: 'removed', seq: 2, id: ANALYSIS });
      await settle();
    });
    expect(
      screen.getByRole('status', { name: 'This cluster is gone' })
    ).toBeTruthy();
  });
});

describe('its workers', () => {
  it('are listed with host, memory and native job, and filtered by state', async () => {
    await show('workers');
    const table = screen.getByRole('table', { name: 'Workers of analysis' });
    expect(within(table).getAllByRole('row')).toHaveLength(3);
    expect(table.textContent).toContain('519605');
    expect(table.textContent).toContain('7.0 / 8 GiB');
    fireEvent.change(
      screen.getByRole('searchbox', { name: 'Filter workers' }),
      { target: { value: 'paused' } }
    );
    expect(within(table).getAllByRole('row')).toHaveLength(2);
  });

  it('are neither streamed nor asked for while nobody sees them, and stay as last known', async () => {
    state = new ViewState({ cluster: ANALYSIS, tab: 'workers', what: null });
    const body = (isVisible: boolean): React.JSX.Element =>
      stage.wrap(
        <VisibleContext.Provider value={isVisible}>
          <ClusterBody state={state} />
        </VisibleContext.Provider>
      );
    const { rerender } = render(body(true));
    await act(async () => {
      await stage.show([view()]);
    });
    await advance(500);
    rerender(body(false));
    await advance(10);
    expect(stage.bridge.socket.sent.at(-1)).toEqual({
      type: 'watch',
      id: ANALYSIS,
      workers: false
    });
    const asked = stage.bridge.asked.length;
    await act(async () => {
      stage.bridge.socket.say({
        type: 'cluster',
        seq: 3,
        cluster: view({ revision: 3 })
      });
      await settle();
    });
    await advance(20_000);
    expect(stage.bridge.asked).toHaveLength(asked);
    expect(screen.getAllByRole('row')).toHaveLength(3);
    rerender(body(true));
    await advance(10);
    expect(stage.bridge.socket.sent.at(-1)).toEqual({
      type: 'watch',
      id: ANALYSIS,
      workers: true
    });
  });

  it('count down to their reclaim', async () => {
    stage.bridge.answer('GET', `${BASE}/workers`, {
      body: {
        items: [worker(0, { reclaimAt: '2026-11-30T14:00:48Z' })],
        next: null
      }
    });
    await show('workers');
    expect(screen.getByRole('table').textContent).toContain(
      'reclaimed in 0:48'
    );
    await advance(3_000);
    expect(screen.getByRole('table').textContent).toMatch(
      /reclaimed in 0:4[45]/
    );
  });

  it('draws of 100 000 rows only those on screen', async () => {
    const items = Array.from({ length: 100_000 }, (_, index) => worker(index));
    stage.bridge.answer('GET', `${BASE}/workers`, {
      body: { items, next: null }
    });
    await show('workers');
    await advance(500);
    const table = screen.getByRole('table');
    expect(table.getAttribute('aria-rowcount')).toBe('100001');
    expect(within(table).getAllByRole('row').length).toBeLessThan(80);
  });

  it('are sorted by a click on a head, and back by another', async () => {
    await show('workers');
    const hosts = (): (string | null)[] =>
      screen
        .getAllByRole('row')
        .slice(1)
        .map(row => within(row).getAllByRole('cell')[2]?.textContent ?? null);
    fireEvent.click(screen.getByRole('button', { name: 'Host' }));
    expect(hosts()).toEqual(['n17', 'n18']);
    fireEvent.click(screen.getByRole('button', { name: 'Host' }));
    expect(hosts()).toEqual(['n18', 'n17']);
    expect(
      screen
        .getByRole('columnheader', { name: /Host/ })
        .getAttribute('aria-sort')
    ).toBe('descending');
  });

  it('lead to their log', async () => {
    await show('workers');
    await act(async () => {
      fireEvent.click(
        screen.getByRole('button', { name: `Log of ${worker(0).id}` })
      );
      await settle();
    });
    expect(state.tab).toBe('logs');
    expect(screen.getByText('worker log')).toBeTruthy();
  });
});

describe('its jobs', () => {
  it('say their native id, outcome, reason, wait and exit', async () => {
    await show('jobs');
    const row = screen.getAllByRole('row')[1];
    expect(row?.textContent).toContain('out of memory');
    expect(row?.textContent).toContain('519605');
    expect(row?.textContent).toContain('oom_kill event');
    expect(row?.textContent).toContain('1 min 40 s');
    expect(row?.textContent).toContain('137');
  });
});

describe('its logs', () => {
  it('show the scheduler’s first, grow while followed, and stop when not', async () => {
    await show('logs');
    expect(screen.getByText('State start')).toBeTruthy();
    stage.bridge.answer('GET', `${BASE}/logs/scheduler`, {
      text: 'Register worker\n',
      headers: { 'X-Next-Offset': '52' }
    });
    await advance(2_000);
    expect(screen.getByText('Register worker')).toBeTruthy();
    expect(stage.bridge.asked.some(one => one.path.includes('offset=36'))).toBe(
      true
    );
    fireEvent.click(screen.getByRole('checkbox', { name: 'Follow' }));
    const asked = stage.bridge.asked.filter(one =>
      one.path.includes('/logs/')
    ).length;
    await advance(60_000);
    expect(
      stage.bridge.asked.filter(one => one.path.includes('/logs/'))
    ).toHaveLength(asked);
  });

  it('are not read while nobody sees them', async () => {
    state = new ViewState({ cluster: ANALYSIS, tab: 'logs', what: null });
    const body = (isVisible: boolean): React.JSX.Element =>
      stage.wrap(
        <VisibleContext.Provider value={isVisible}>
          <ClusterBody state={state} />
        </VisibleContext.Provider>
      );
    const { rerender } = render(body(true));
    await act(async () => {
      await stage.show([view()]);
    });
    await advance(2_000);
    const read = (): number =>
      stage.bridge.asked.filter(one => one.path.includes('/logs/')).length;
    expect(read()).toBeGreaterThan(1);
    rerender(body(false));
    const before = read();
    await advance(60_000);
    expect(read()).toBe(before);
    rerender(body(true));
    await advance(10);
    expect(read()).toBe(before + 1);
  });

  it('find words, count them and mark them', async () => {
    await show('logs');
    const search = screen.getByRole('searchbox', { name: 'Search in the log' });
    fireEvent.change(search, { target: { value: 'STATE' } });
    expect(screen.getByText('1 of 1')).toBeTruthy();
    expect(document.querySelector('mark')?.textContent).toBe('State');
  });

  it('are text: markup in a log stays markup to read', async () => {
    stage.bridge.answer('GET', `${BASE}/logs/scheduler`, {
      text: '<img src=x onerror=alert(1)>\n'
    });
    await show('logs');
    expect(screen.getByText('<img src=x onerror=alert(1)>')).toBeTruthy();
    expect(document.querySelector('img')).toBeNull();
  });

  it('say why they cannot be read', async () => {
    stage.bridge.answer('GET', `${BASE}/logs/scheduler`, {
      status: 503,
      body: { error: { code: 'backend-unavailable', message: 'n17 is down' } }
    });
    await show('logs');
    expect(
      screen.getByText('This log cannot be read: n17 is down')
    ).toBeTruthy();
  });
});

describe('its spec', () => {
  it('is YAML that reads back to the same', () => {
    const { spec } = view({
      options: {
        queue: 'gpu',
        walltime: '2:00:00',
        nativeLines: ['#SBATCH a', 'yes', ''],
        nested: [{ a: 1, b: [] }],
        empty: {}
      }
    });
    const back = parse(yamlOf(spec)) as typeof spec;
    expect(back.groups[0]?.worker.memory).toBe('8 GiB');
    expect({
      ...back,
      groups: [{ ...back.groups[0], worker: spec.groups[0]?.worker }]
    }).toEqual(spec);
  });

  it('lets the lifetime be changed in place', async () => {
    stage.bridge.answer('PATCH', BASE, { body: view({ revision: 2 }) });
    await show('spec');
    const field = screen.getByRole('textbox', {
      name: 'Idle time after which the cluster stops'
    });
    fireEvent.change(field, { target: { value: 'soon' } });
    expect(field.getAttribute('aria-invalid')).toBe('true');
    fireEvent.blur(field);
    await advance(10);
    expect(stage.bridge.count('PATCH', BASE)).toBe(0);
    fireEvent.change(field, { target: { value: '2h30m' } });
    fireEvent.keyDown(field, { key: 'Enter' });
    await advance(10);
    expect(stage.bridge.asked.at(-1)?.body).toEqual({
      lifetime: { idleTimeout: 9000 }
    });
  });
});
