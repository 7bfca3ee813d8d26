/** A notebook's tie to a cluster through kernel starts, restarts and changes (W14, W15, B4). */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NotebookModel } from '@jupyterlab/notebook';
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

let model: NotebookModel;
let source: FakeSource;
let session: FakeSession;
let kernel: FakeKernel;
let links: NotebookLink[];

const bound = (reconnect = true): void => {
  model.setMetadata('muster', {
    cluster: { id: ANALYSIS, name: 'analysis' },
    reconnect
  });
};

const open = (options: { automatic?: () => boolean } = {}): NotebookLink => {
  const link = new NotebookLink({
    model,
    source,
    session: session.watched,
    ...options
  });
  links.push(link);
  return link;
};

const answer = async (): Promise<void> => {
  kernel.live.at(-1)?.answer({ state: 'connected', named: true });
  await settle();
};

beforeEach(() => {
  model = new NotebookModel();
  source = new FakeSource();
  source.clusters = [cluster({})];
  kernel = new FakeKernel('k1');
  session = new FakeSession(kernel);
  links = [];
});

afterEach(() => {
  for (const link of links) {
    link.dispose();
  }
  expect(source.attachments).toBe(0);
  model.dispose();
});

describe('choosing a cluster', () => {
  it('keeps the name and id in the metadata and nothing else', async () => {
    const link = open();
    link.bind(cluster({}));
    await settle();
    await answer();
    expect(model.getMetadata('muster')).toEqual({
      cluster: { id: ANALYSIS, name: 'analysis' },
      reconnect: true
    });
    expect(JSON.stringify(model.toJSON())).not.toContain('10.0.0.1');
  });

  it('runs the code quietly and says connected when the kernel has said so', async () => {
    const link = open();
    await settle();
    link.bind(cluster({}));
    await settle();
    expect(kernel.requests).toHaveLength(1);
    expect(kernel.requests[0]).toMatchObject({
      silent: true,
      store_history: false
    });
    expect(link.state).toEqual({ kind: 'connecting' });
    await answer();
    expect(link.state).toEqual({ kind: 'connected', named: true });
  });

  it('waits for a cluster that is still starting, then connects', async () => {
    source.clusters = [cluster({ phase: 'creating' })];
    const link = open();
    link.bind(cluster({ phase: 'creating' }));
    await settle();
    expect(link.state).toEqual({ kind: 'cluster-starting' });
    expect(source.attachments).toBe(1);
    source.set(cluster({}));
    await settle();
    expect(kernel.requests).toHaveLength(1);
    await answer();
    expect(link.state.kind).toBe('connected');
    expect(source.attachments).toBe(0);
  });

  it('takes the last of two choices made while the kernel was busy', async () => {
    source.clusters = [cluster({}), cluster({ id: EXPLORE, name: 'explore' })];
    const link = open();
    await settle();
    link.bind(cluster({}));
    await settle();
    link.bind(cluster({ id: EXPLORE, name: 'explore' }));
    await settle();
    const [first, second] = kernel.requests;
    first?.answer({ state: 'failed', message: 'late' });
    await settle();
    expect(link.state).toEqual({ kind: 'connecting' });
    second?.answer({ state: 'connected', named: true });
    await settle();
    expect(link.state.kind).toBe('connected');
    expect(link.cluster?.id).toBe(EXPLORE);
  });

  it('is refused by a kernel of another language', async () => {
    kernel = new FakeKernel('k1', 'R');
    session = new FakeSession(kernel);
    bound();
    const link = open();
    await settle();
    expect(link.refusal).toEqual({ language: 'r' });
    expect(link.state).toEqual({ kind: 'wrong-language', language: 'r' });
    expect(kernel.requests).toHaveLength(0);
  });

  it('asks again when the kernel dropped the request behind a failing cell', async () => {
    bound();
    const link = open();
    await settle();
    kernel.requests[0]?.abort();
    await settle();
    expect(kernel.requests).toHaveLength(2);
    await answer();
    expect(link.state.kind).toBe('connected');
  });

  it('connects again after a failure when the same cluster is chosen again', async () => {
    bound();
    const link = open();
    await settle();
    kernel.requests[0]?.answer({ state: 'failed', message: 'no route' });
    await settle();
    expect(link.state).toEqual({ kind: 'failed', message: 'no route' });
    source.changed.emit();
    await settle();
    expect(kernel.requests).toHaveLength(1);
    link.bind(cluster({}));
    await settle();
    expect(kernel.requests).toHaveLength(2);
  });

  it('says what the bridge said when there is no connection to be had', async () => {
    source.answer = () => Promise.reject(new Error('the scheduler is not up'));
    bound();
    const link = open();
    await settle();
    expect(link.state).toEqual({
      kind: 'failed',
      message: 'the scheduler is not up'
    });
  });
});

describe('a bound notebook', () => {
  it('connects by itself when its kernel first starts', async () => {
    bound();
    session = new FakeSession(null);
    const link = open();
    await settle();
    expect(link.state).toEqual({ kind: 'no-kernel' });
    expect(source.asked).toEqual([ANALYSIS]);
    session.replace(kernel);
    await settle();
    expect(kernel.requests).toHaveLength(1);
    expect(source.asked).toEqual([ANALYSIS]);
  });

  it('connects again one microtask after a restart, so that the request is not thrown away', async () => {
    bound();
    open();
    await settle();
    await answer();
    session.restart();
    expect(kernel.live).toHaveLength(0);
    await Promise.resolve();
    await Promise.resolve();
    expect(kernel.live).toHaveLength(1);
    session.up();
    await settle();
    expect(kernel.live).toHaveLength(1);
    await answer();
    session.up();
    expect(source.asked).toEqual([ANALYSIS]);
  });

  it('acts once when the server restarts a crashed kernel', async () => {
    bound();
    const link = open();
    await settle();
    await answer();
    session.autoRestart();
    await settle();
    expect(kernel.live).toHaveLength(1);
    session.up();
    await settle();
    expect(kernel.live).toHaveLength(1);
    await answer();
    expect(link.state.kind).toBe('connected');
  });

  it('connects once for each of three restarts', async () => {
    bound();
    open();
    await settle();
    await answer();
    for (let round = 0; round < 3; round += 1) {
      session.restart();
      await settle();
      session.up();
      await answer();
    }
    expect(kernel.requests).toHaveLength(4);
  });

  it('connects again when somebody else restarted the kernel', async () => {
    bound();
    open();
    await settle();
    await answer();
    session.say('starting');
    await settle();
    expect(kernel.requests).toHaveLength(2);
  });

  it('connects the kernel that replaces the old one', async () => {
    bound();
    open();
    await settle();
    await answer();
    const other = new FakeKernel('k2');
    session.replace(other);
    await settle();
    expect(other.requests).toHaveLength(1);
    expect(kernel.requests).toHaveLength(1);
  });

  it('does nothing when only the connection to the server came back', async () => {
    bound();
    open();
    await settle();
    await answer();
    session.say('unknown');
    session.say('idle');
    await settle();
    expect(kernel.requests).toHaveLength(1);
  });

  it('stays unconnected after a restart where reconnecting is off', async () => {
    const link = open();
    await settle();
    link.bind(cluster({}));
    await settle();
    await answer();
    link.setReconnect(false);
    session.restart();
    await settle();
    session.up();
    await settle();
    expect(kernel.live).toHaveLength(0);
    expect(link.state).toEqual({ kind: 'paused' });
    link.bind(cluster({}));
    await settle();
    expect(kernel.live).toHaveLength(1);
    expect(link.binding?.reconnect).toBe(false);
  });

  it('waits for the setting that lets notebooks connect by themselves', async () => {
    bound();
    let allowed = false;
    const link = open({ automatic: () => allowed });
    await settle();
    expect(kernel.requests).toHaveLength(0);
    allowed = true;
    link.lookAgain();
    await settle();
    expect(kernel.requests).toHaveLength(1);
  });

  it('follows a scheduler that came back at another address', async () => {
    bound();
    open();
    await settle();
    await answer();
    source.set(cluster({ address: 'tcp://10.0.0.9:1' }));
    await settle();
    expect(kernel.requests).toHaveLength(2);
    expect(kernel.requests[1]?.code).toContain('10.0.0.9');
  });

  it('is not called stopped before the bridge has said which clusters there are', async () => {
    source.ready = false;
    source.clusters = [];
    bound();
    const link = open();
    expect(link.state).toEqual({ kind: 'unknown' });
    source.ready = true;
    source.set();
    await settle();
    expect(link.state).toEqual({ kind: 'cluster-ended', record: null });
  });

  it('says that its cluster has ended, and starts it again on request', async () => {
    bound();
    const link = open();
    await settle();
    await answer();
    source.set(cluster({ phase: 'stopped' }));
    expect(link.state).toEqual({ kind: 'cluster-ended', record: ANALYSIS });
    await link.startAgain();
    await settle();
    expect(link.binding?.cluster.id).toBe(EXPLORE);
    expect(kernel.requests).toHaveLength(2);
  });

  it('follows the name to a living cluster without rewriting a shared notebook', async () => {
    source.clusters = [
      cluster({ phase: 'stopped' }),
      cluster({ id: EXPLORE, name: 'analysis' })
    ];
    bound();
    const link = open();
    await settle();
    expect(link.cluster?.id).toBe(EXPLORE);
    expect(kernel.requests).toHaveLength(1);
    expect(link.binding?.cluster.id).toBe(ANALYSIS);
  });

  it('follows a choice made by somebody else in the same notebook', async () => {
    const link = open();
    await settle();
    expect(link.state).toEqual({ kind: 'unbound' });
    bound();
    await settle();
    expect(kernel.requests).toHaveLength(1);
    model.deleteMetadata('muster');
    await settle();
    expect(link.state).toEqual({ kind: 'unbound' });
    expect(kernel.requests).toHaveLength(1);
  });

  it('ignores a binding that is not one of ours', () => {
    model.setMetadata('muster', { cluster: { id: '../x', name: '<b>' } });
    expect(open().state).toEqual({ kind: 'unbound' });
  });

  it('asks for live clusters only while it is on screen or waits for one', async () => {
    bound();
    const link = open();
    await settle();
    await answer();
    expect(source.attachments).toBe(0);
    link.setVisible(true);
    expect(source.attachments).toBe(1);
    link.setVisible(false);
    expect(source.attachments).toBe(0);
  });
});

describe('disconnecting', () => {
  it('closes the client in the kernel and forgets the binding', async () => {
    bound();
    const link = open();
    await settle();
    await answer();
    link.unbind();
    await settle();
    expect(model.getMetadata('muster')).toBeUndefined();
    expect(kernel.requests).toHaveLength(2);
    expect(kernel.requests[1]?.code).toContain('disconnect');
    expect(link.state).toEqual({ kind: 'unbound' });
  });

  it('leaves no listener behind when the notebook closes, twenty times', async () => {
    bound();
    for (let round = 0; round < 20; round += 1) {
      const link = open();
      await settle();
      link.dispose();
    }
    const before = kernel.requests.length;
    session.restart();
    source.changed.emit();
    bound(false);
    await settle();
    expect(kernel.requests).toHaveLength(before);
  });
});
