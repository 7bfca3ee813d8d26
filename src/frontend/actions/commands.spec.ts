/** The commands: whom they mean, what they ask, what they do when it fails. */
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  jest
} from '@jest/globals';
import { Dialog, Notification, WidgetTracker } from '@jupyterlab/apputils';
import type { Widget } from '@lumino/widgets';
import { CommandIDs } from '../commands.js';
import { ANALYSIS, EXPLORE, event, view } from '../fixtures/cluster-views.js';
import { FakeNotebook, Stage } from '../fixtures/muster.js';
import { MusterSettings } from '../model/settings.js';
import { ClusterNotifier } from '../panels/cluster-notifier.js';
import type { DashboardPane } from '../views/dashboard/index.js';
import { addClusterCommands } from './cluster-commands.js';
import { CommandTarget } from './command-target.js';
import { addDashboardCommands } from './dashboard-commands.js';
import { addPanelCommands } from './panel-commands.js';
import { whatIsLost } from './stop-question.js';

let stage: Stage;
let hit: HTMLElement | undefined;
let ids: string[];
let target: CommandTarget;

const DELETE = `api/v1/clusters/${ANALYSIS}`;
const execute = (id: string, args = {}): Promise<unknown> =>
  stage.commands.execute(id, args);
/** The dialog that is open now. */
const dialog = async (): Promise<Dialog<unknown>> => {
  for (let turn = 0; turn < 2_000; turn += 1) {
    const open =
      Dialog.tracker.currentWidget ??
      Dialog.tracker.find(one => one.isAttached);
    // Its title is drawn by React, a moment after the rest.
    const title = open?.node.querySelector('.jp-Dialog-header')?.textContent;
    if (open?.isAttached === true && (title ?? '') !== '') {
      return open;
    }
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  throw new Error('no dialog');
};
const notified = (): string[] =>
  Notification.manager.notifications.map(one => one.message);

beforeEach(() => {
  stage = new Stage();
  hit = undefined;
  target = new CommandTarget({
    model: stage.model,
    contextMenuHitTest: test =>
      hit !== undefined && test(hit) ? hit : undefined
  });
  ids = [
    ...addPanelCommands(stage.muster, {
      defaultProfile: () => 'night',
      activatePanel: jest.fn()
    }),
    ...addClusterCommands(stage.muster, target)
  ];
  stage.bridge.answer('DELETE', DELETE, {
    status: 202,
    body: view({ revision: 9, phase: 'stopping' })
  });
});
afterEach(() => {
  Notification.manager.notifications.forEach(one => {
    Notification.dismiss(one.id);
  });
  stage.dispose();
});

describe('every command', () => {
  it('has a label and says what arguments it takes', async () => {
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) {
      expect(stage.commands.label(id)).not.toBe('');
      expect((await stage.commands.describedBy(id)).args).toMatchObject({
        type: 'object'
      });
    }
  });

  it('means the row under the pointer before the selected one, and an argument before both', async () => {
    await stage.show([view(), view({ id: EXPLORE, name: 'explore' })]);
    expect(target.of({})).toBeNull();
    stage.model.select(ANALYSIS);
    expect(target.of({})?.name).toBe('analysis');
    hit = document.createElement('li');
    hit.dataset['cluster'] = EXPLORE;
    expect(target.of({})?.name).toBe('explore');
    expect(target.of({ cluster: 'analysis' })?.id).toBe(ANALYSIS);
    expect(target.of({ cluster: 'gone' })).toBeNull();
  });

  it('is not offered where it makes no sense', async () => {
    await stage.show([view({ phase: 'stopped' })]);
    stage.model.select(ANALYSIS);
    expect(stage.commands.isEnabled(CommandIDs.stopCluster)).toBe(false);
    expect(stage.commands.isEnabled(CommandIDs.startAgain)).toBe(true);
    expect(stage.commands.isEnabled(CommandIDs.insertCode)).toBe(false);
  });
});

describe('stopping', () => {
  it('asks once, naming the cluster and what is lost (row 18)', async () => {
    await stage.show([
      view({
        clients: 3,
        load: {
          tasks: {
            processing: 10,
            queued: 2,
            waiting: 0,
            unrunnable: 0,
            erred: 0,
            memory: 1
          },
          cpu: 0,
          memoryUsed: 0,
          memoryLimit: 0
        }
      })
    ]);
    const done = execute(CommandIDs.stopCluster, { cluster: ANALYSIS });
    const asked = await dialog();
    expect(asked.node.textContent).toContain('Stop cluster “analysis”?');
    expect(asked.node.textContent).toContain(
      '4 workers, 3 clients connected, 12 unfinished tasks, 1 result in memory'
    );
    expect(stage.bridge.count('DELETE', DELETE)).toBe(0);
    asked.resolve(1);
    await done;
    expect(stage.bridge.count('DELETE', DELETE)).toBe(1);
  });

  it('does nothing when the answer is no', async () => {
    await stage.show([view()]);
    const done = execute(CommandIDs.stopCluster, { cluster: ANALYSIS });
    (await dialog()).reject();
    await done;
    expect(stage.bridge.count('DELETE', DELETE)).toBe(0);
  });

  it('asks nothing of a failed cluster, which is removed at once (W1, B30)', async () => {
    await stage.show([view({ phase: 'failed' })]);
    await execute(CommandIDs.stopCluster, { cluster: ANALYSIS });
    expect(stage.bridge.count('DELETE', DELETE)).toBe(1);
  });

  it('says in the server’s words why it could not (row 27)', async () => {
    await stage.show([view({ phase: 'failed' })]);
    stage.bridge.answer('DELETE', DELETE, {
      status: 503,
      body: {
        error: {
          code: 'backend-unavailable',
          message: 'scancel: no route to host',
          hint: 'Try Force Stop.'
        }
      }
    });
    await execute(CommandIDs.stopCluster, { cluster: ANALYSIS });
    expect(notified().at(-1)).toBe(
      'analysis could not be stopped: scancel: no route to host\nTry Force Stop.'
    );
  });

  it('says so when nothing is lost', () => {
    expect(
      whatIsLost(view({ connected: 0, clients: 0 }), stage.muster.trans)
    ).toBe('');
  });
});

describe('scaling by command', () => {
  it('takes the amount as people write it', async () => {
    await stage.show([view()]);
    stage.bridge.answer('PATCH', DELETE, { body: view({ revision: 2 }) });
    await execute(CommandIDs.scaleCluster, {
      cluster: 'analysis',
      amount: '1 TB'
    });
    expect(stage.bridge.asked.at(-1)?.body).toEqual({
      scale: { default: { type: 'fixed', memory: 1e12 } }
    });
  });

  it.each(['-5', 'lots', ''])(
    'refuses %j with a word, and sends nothing (W10)',
    async amount => {
      await stage.show([view()]);
      await execute(CommandIDs.scaleCluster, { cluster: 'analysis', amount });
      expect(stage.bridge.count('PATCH', DELETE)).toBe(0);
      expect(notified().at(-1)).toContain('analysis keeps its size');
    }
  );
});

describe('starting in one click', () => {
  beforeEach(async () => {
    await stage.show([]);
    stage.bridge.answer('POST', 'api/v1/clusters', {
      status: 202,
      body: view({ phase: 'creating' })
    });
  });

  it('takes the default profile and the active notebook’s kernel', async () => {
    stage.service.setNotebookHooks(new FakeNotebook());
    expect(await execute(CommandIDs.startCluster)).toMatchObject({
      name: 'analysis'
    });
    expect(stage.bridge.asked.at(-1)?.body).toEqual({
      profile: 'night',
      environment: { kernelspec: 'python3' }
    });
  });

  it('can be tried again after the network dropped (W20)', async () => {
    stage.bridge.isOffline = true;
    expect(
      await execute(CommandIDs.startCluster, { backend: 'local' })
    ).toBeNull();
    expect(notified().at(-1)).toContain('The Jupyter server does not answer.');
    stage.bridge.isOffline = false;
    expect(stage.commands.isEnabled(CommandIDs.startCluster)).toBe(true);
    expect(
      await execute(CommandIDs.startCluster, { backend: 'local' })
    ).not.toBeNull();
    expect(stage.bridge.asked.at(-1)?.body).toEqual({ backend: 'local' });
  });
});

describe('dashboards by command', () => {
  let tracker: WidgetTracker<DashboardPane>;
  let added: Widget[];
  let layout: unknown;

  beforeEach(() => {
    tracker = new WidgetTracker({ namespace: 'test' });
    added = [];
    layout = {
      b: { mode: 'split-bottom', ref: 'a' },
      a: { mode: 'split-right' }
    };
    const shell = {
      add: (widget: Widget) => added.push(widget),
      activateById: jest.fn(),
      currentWidget: null // an empty main area (W23)
    };
    const settings = new MusterSettings();
    jest
      .spyOn(settings, 'defaultLayout', 'get')
      .mockImplementation(() => layout);
    addDashboardCommands({
      muster: stage.muster,
      settings,
      target,
      tracker,
      shell: shell as never
    });
  });
  afterEach(() => {
    added.forEach(widget => {
      widget.dispose();
    });
  });

  it('open one pane per plot, and the same one again', async () => {
    await stage.show([view()]);
    await execute(CommandIDs.openDashboard, {
      cluster: ANALYSIS,
      plot: `dashboards/${ANALYSIS}/individual-progress`
    });
    await execute(CommandIDs.openDashboard, {
      cluster: ANALYSIS,
      plot: 'individual-progress'
    });
    expect(added).toHaveLength(1);
    expect(stage.model.selected).toBe(ANALYSIS);
    await execute(CommandIDs.openDashboard, {
      cluster: ANALYSIS,
      plot: 'individual-progress',
      pinned: true
    });
    expect(added).toHaveLength(2);
  });

  it('open the default layout in an empty main area (W23)', async () => {
    await stage.show([view()]);
    await execute(CommandIDs.launchLayout);
    expect(added.map(widget => widget.title.label)).toEqual(['A', 'B']);
  });

  it('answer to the name dask’s own button calls, after the clusters are known (row 11, W24)', async () => {
    const done = execute('dask:populate-and-launch-layout', {
      url: `http://x/muster/dashboards/${ANALYSIS}/status`
    });
    expect(added).toHaveLength(0);
    await stage.show([view()]);
    await done;
    expect(stage.model.selected).toBe(ANALYSIS);
    expect(added).toHaveLength(2);
  });
});

describe('notifications', () => {
  const happen = (kind: Parameters<typeof event>[0], part = {}): void => {
    stage.bridge.socket.say({
      type: 'event',
      seq: 9,
      event: event(kind, part)
    });
  };
  let settings: MusterSettings;
  beforeEach(async () => {
    settings = new MusterSettings();
    new ClusterNotifier({ muster: stage.muster, settings });
    await stage.show([view()]);
  });

  it('tell of a worker’s death, once for a burst, with a way to the details', () => {
    happen('worker-died', { message: 'w-1 was killed' });
    happen('worker-died', { message: 'w-2 was killed' });
    happen('worker-died', { message: 'w-3 was killed' });
    expect(notified()).toEqual(['analysis: w-3 was killed (3 times)']);
    expect(
      Notification.manager.notifications[0]?.options.actions?.[0]?.label
    ).toBe('Details');
  });

  it('tell of refused submissions and reclaims, not of daily business', () => {
    happen('submit-failed');
    happen('worker-reclaiming', { severity: 'warning' });
    happen('worker-connected', { severity: 'info' });
    happen('scaled', { severity: 'info' });
    expect(notified()).toHaveLength(2);
  });

  it('are silent where the setting says so', () => {
    jest.spyOn(settings, 'notifications', 'get').mockReturnValue('none');
    happen('worker-died');
    expect(notified()).toEqual([]);
  });
});
