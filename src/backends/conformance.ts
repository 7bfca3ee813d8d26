/**
 * What every backend must do, whatever it drives (specs/resource-manager.md §7). A backend's spec
 * calls `describeConformance` with a way to make its world; the simulated backend runs it as a unit
 * test, real ones as integration tests. Once it passes, everything above the contract works.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type {
  BackendEvent,
  Handle,
  JobIntent,
  JobObservation,
  ResourceManager
} from './resource-manager.js';

/** One test's own world, with at least room for three jobs. */
export type ConformanceWorld = {
  /** A new instance that knows nothing of what others did. The world closes it. */
  manager(): ResourceManager;
  /** A job that runs until it is released. */
  staying(): JobIntent;
  /** A job that ends by itself with this exit code, after a line "bye" on its standard error. */
  ending(code: number): JobIntent;
  /** A job that writes the given texts to its standard output, one per line, and stays. */
  echoing(texts: readonly string[]): JobIntent;
  /** Looked at without the backend: does it run? */
  runs(handle: Handle): Promise<boolean>;
  /** Looked at without the backend: how many things carry this token and have not ended. */
  count(token: string): Promise<number>;
  /** Something of the same kind that is not ours. `forged`: a handle of ours, bent to point at it. */
  foreign(handle: Handle): Promise<{
    forged: Handle;
    stillThere: () => Promise<boolean>;
  }>;
  /** The manager's listing lacks the job for a moment; the result makes it whole again. */
  hide(handle: Handle): Promise<() => Promise<void>>;
  /** The manager does not answer; the result lets it answer again. */
  cutOff(): Promise<() => Promise<void>>;
  /** The manager says it will take the job back, then does. Only with `reclaimNotice`. */
  reclaim?: (handle: Handle) => Promise<void>;
  /** Let time pass until the condition holds. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
  close(): Promise<void>;
};

/** @param open makes a world; called before each test. */
export function describeConformance(
  name: string,
  open: () => Promise<ConformanceWorld>
): void {
  describe(`${name} keeps the contract of a backend`, () => {
    let world: ConformanceWorld;
    let manager: ResourceManager;
    beforeEach(async () => {
      world = await open();
      manager = world.manager();
    });
    afterEach(async () => {
      await world.close();
    });

    const look = async (
      handle: Handle,
      by: ResourceManager = manager
    ): Promise<JobObservation | undefined> => {
      const { jobs } = await by.observe({ handles: [handle], tokens: [] });
      return jobs.get(handle.nativeId);
    };
    const accepted = async (
      intent: JobIntent,
      by: ResourceManager = manager
    ): Promise<Handle> => {
      const [result] = await by.request([intent]);
      if (result?.type !== 'accepted') {
        throw new Error(`not accepted: ${JSON.stringify(result)}`);
      }
      return result.handle;
    };
    const running = async (intent: JobIntent): Promise<Handle> => {
      const handle = await accepted(intent);
      await world.until(async () => (await look(handle))?.phase === 'running');
      expect(await world.runs(handle)).toBe(true);
      return handle;
    };

    it('starts one job for the same intent asked for twice, also by a fresh instance', async () => {
      const intent = world.staying();
      const first = await accepted(intent);
      // The answer is lost with the bridge; a new one asks again.
      const second = await accepted(intent, world.manager());
      const [third] = await manager.request([intent]);
      expect(second.nativeId).toBe(first.nativeId);
      expect(third).toMatchObject({
        type: 'accepted',
        handle: { nativeId: first.nativeId }
      });
      expect(await world.count(intent.token)).toBe(1);
    });

    it('finds a job whose answer was lost by its token', async () => {
      const intent = world.staying();
      const handle = await accepted(intent);
      const fresh = world.manager();
      const other = world.staying();
      const { foreign, complete } = await fresh.observe({
        handles: [],
        tokens: [
          { token: intent.token, folder: intent.folder },
          { token: other.token, folder: other.folder }
        ]
      });
      expect(complete).toBe(true);
      expect(
        foreign.map(found => [found.token, found.handle.nativeId])
      ).toEqual([[intent.token, handle.nativeId]]);
      expect(foreign[0]?.phase).not.toBe('ended');
    });

    it('answers every intent in order, the impossible one beside the others', async () => {
      const bad: JobIntent = {
        ...world.staying(),
        options: { 'no such option': true }
      };
      const results = await manager.request([
        world.staying(),
        bad,
        world.staying()
      ]);
      expect(results.map(({ type }) => type)).toEqual([
        'accepted',
        'rejected',
        'accepted'
      ]);
      expect(await world.count(bad.token)).toBe(0);
    });

    it('releases exactly the job that is named', async () => {
      const [a, b, c] = [
        await running(world.staying()),
        await running(world.staying()),
        await running(world.staying())
      ];
      const options = { graceSeconds: 5 };
      expect(await manager.release([b], options)).toEqual([{ type: 'gone' }]);
      expect(await world.runs(a)).toBe(true);
      expect(await world.runs(b)).toBe(false);
      expect(await world.runs(c)).toBe(true);
      expect(await manager.release([b], options)).toEqual([
        { type: 'already-gone' }
      ]);
      expect((await look(b))?.phase).toBe('ended');
      expect((await look(b))?.outcome).toBe('cancelled');
    });

    it('does not take a job that is missing once for dead', async () => {
      const handle = await running(world.staying());
      const events: BackendEvent[] = [];
      const fresh = world.manager();
      fresh.onEvent(event => events.push(event));
      const restore = await world.hide(handle);
      expect((await look(handle, fresh))?.phase).not.toBe('ended');
      expect((await look(handle, manager))?.phase).not.toBe('ended');
      await restore();
      await world.until(
        async () => (await look(handle, fresh))?.phase === 'running'
      );
      expect(events.filter(({ type }) => type === 'ended')).toEqual([]);
    });

    it('never touches what is not its own', async () => {
      const handle = await running(world.staying());
      const foreign = await world.foreign(handle);
      const [result] = await manager.release([foreign.forged], {
        graceSeconds: 0
      });
      expect(result?.type).not.toBe('gone');
      expect(await foreign.stillThere()).toBe(true);
      await manager.release([handle], { graceSeconds: 0 });
      await manager.retireCluster(
        world.staying().cluster,
        world.staying().folder
      );
      expect(await foreign.stillThere()).toBe(true);
    });

    it('announces before it takes back, where it can', async () => {
      const { reclaimNotice } = manager.describe().capabilities;
      if (reclaimNotice === 'none' || world.reclaim === undefined) {
        expect(reclaimNotice).toBe('none');
        expect(world.reclaim).toBeUndefined();
        return;
      }
      const events: BackendEvent[] = [];
      manager.onEvent(event => events.push(event));
      const handle = await running(world.staying());
      await world.reclaim(handle);
      await world.until(() => events.some(({ type }) => type === 'ended'));
      const kinds = events
        .map(({ type }) => type)
        .filter(type => type !== 'changed');
      expect(kinds[0]).toBe('reclaiming');
      expect(kinds.at(-1)).toBe('ended');
    });

    it('tells how a job ended, once, with its last words', async () => {
      const events: BackendEvent[] = [];
      manager.onEvent(event => events.push(event));
      const handle = await accepted(world.ending(3));
      await world.until(() => events.some(({ type }) => type === 'ended'));
      const observed = await look(handle);
      expect(observed).toMatchObject({ phase: 'ended', outcome: 'failed' });
      const ended = events.filter(event => event.type === 'ended');
      expect(ended).toHaveLength(1);
      expect(ended[0]).toMatchObject({ outcome: 'failed' });
      expect(ended[0]?.handle.nativeId).toBe(handle.nativeId);
      expect(ended[0]?.logTail).toContain('bye');
      if (manager.describe().capabilities.exitCodes) {
        expect(ended[0]?.exit).toEqual({ code: 3, signal: null });
        expect(observed?.exit).toEqual({ code: 3, signal: null });
      }
      const good = await accepted(world.ending(0));
      await world.until(
        async () => (await look(good))?.outcome === 'completed'
      );
    });

    it('never shows as ended what it cannot know', async () => {
      const handle = await running(world.staying());
      const elsewhere: Handle = {
        ...handle,
        nativeId: `${handle.nativeId}9`,
        data: { ...handle.data, host: 'another-host', bootId: 'another-boot' }
      };
      const nonsense: Handle = {
        nativeId: 'nonsense',
        incarnation: 0,
        data: {}
      };
      const { jobs, complete } = await manager.observe({
        handles: [elsewhere, nonsense, handle],
        tokens: []
      });
      expect(complete).toBe(false);
      expect(jobs.get(elsewhere.nativeId)?.phase).not.toBe('ended');
      expect(jobs.get(nonsense.nativeId)).toBeUndefined();
      expect(jobs.get(handle.nativeId)?.phase).toBe('running');
    });

    it('says that it cannot be reached, and makes good afterwards', async () => {
      const handle = await running(world.staying());
      const events: BackendEvent[] = [];
      manager.onEvent(event => events.push(event));
      const intent = world.staying();
      const restore = await world.cutOff();
      const [asked] = await manager.request([intent]);
      expect(['unavailable', 'uncertain']).toContain(asked?.type);
      const [released] = await manager.release([handle], { graceSeconds: 0 });
      expect(['unreachable', 'uncertain', 'gone']).toContain(released?.type);
      if (released?.type !== 'gone') {
        expect((await look(handle))?.phase).not.toBe('ended');
      }
      await restore();
      await world.until(async () => {
        const [again] = await manager.request([intent]);
        return again?.type === 'accepted';
      });
      expect(await world.count(intent.token)).toBe(1);
      await world.until(async () => {
        const [again] = await manager.release([handle], { graceSeconds: 0 });
        return again?.type === 'gone' || again?.type === 'already-gone';
      });
      expect(await world.runs(handle)).toBe(false);
    });

    it('takes jobs over from their handles alone', async () => {
      const handle = await running(world.staying());
      const stored = JSON.stringify(handle);
      expect(stored.length).toBeLessThan(4096);
      await manager.close();
      const fresh = world.manager();
      const events: BackendEvent[] = [];
      fresh.onEvent(event => events.push(event));
      const restored = JSON.parse(stored) as Handle;
      expect((await look(restored, fresh))?.phase).toBe('running');
      expect(await fresh.release([restored], { graceSeconds: 5 })).toEqual([
        { type: 'gone' }
      ]);
      expect(await world.runs(restored)).toBe(false);
      expect((await look(restored, fresh))?.phase).toBe('ended');
    });

    it('hands hostile texts on exactly as they are', async () => {
      const texts = [
        '$(touch /tmp/canary) `id` ${HOME}',
        `'"; rm -rf "$PWD" #`,
        '--help',
        'ünï—çødé 🐍 \\n \\',
        '*'
      ];
      const intent = world.echoing(texts);
      const handle = await running(intent);
      const launch = intent.launches[0]?.id;
      if (launch === undefined) {
        throw new Error('the world made a job without a process');
      }
      const read = async (): Promise<string> => {
        const { text } = await manager.logs({
          handle,
          launch,
          folder: intent.folder,
          stream: 'stdout',
          offset: 0,
          limit: 1 << 16
        });
        return text;
      };
      await world.until(
        async () => (await read()).split('\n').length > texts.length
      );
      expect(await read()).toBe(`${texts.join('\n')}\n`);
    });

    it('leaves everything running when it is closed', async () => {
      const handle = await running(world.staying());
      await manager.close();
      expect(await world.runs(handle)).toBe(true);
      const fresh = world.manager();
      await world.until(
        async () => (await look(handle, fresh))?.phase === 'running'
      );
    });
  });
}
