/** "I no longer need these": exactly these, politely, then by force. */
import { join } from 'node:path';
import type { PoolDirectory } from '../pool/pool-directory.js';
import type { Handle, ReleaseResult } from '../resource-manager.js';
import type { LocalFacts } from './local-facts.js';
import { localHandleData, type LocalHandleData } from './local-handle.js';
import { hasEnded } from './local-observation.js';
import type { ProcessFacts } from './local-outcome.js';
import { endDirectly } from './direct-release.js';
import type { ProcessInspection } from './process-inspection.js';

export type LocalReleasesOptions = {
  inspection: ProcessInspection;
  pools: PoolDirectory;
  facts: LocalFacts;
  answerTimeoutMs: number;
};

/** Beyond the grace: SIGKILL needs a moment, a process in the kernel's hands longer. */
const KILL_WAIT_MS = 5000;
const LONGEST_STEP_MS = 200;

export class LocalReleases {
  constructor(options: LocalReleasesOptions) {
    this.#options = options;
  }

  readonly #options: LocalReleasesOptions;

  async release(
    handles: readonly Handle[],
    graceSeconds: number
  ): Promise<ReleaseResult[]> {
    const grace = Math.max(0, graceSeconds);
    const results = new Map<number, ReleaseResult>();
    const open = new Map<number, LocalHandleData>();
    handles.forEach((handle, index) => {
      const data = localHandleData(handle);
      if (data === null) {
        results.set(index, {
          type: 'denied',
          message: 'this is not a job of the local backend'
        });
      } else {
        open.set(index, data);
      }
    });
    const before = await this.#options.facts.of([...open.values()], 'end');
    for (const [index, data] of [...open]) {
      const facts = before.get(data);
      if (facts?.type !== 'known') {
        results.set(index, {
          type: 'unreachable',
          message: facts?.message ?? 'nothing is known of it'
        });
        open.delete(index);
      } else if (hasEnded(facts.processes)) {
        results.set(index, { type: 'already-gone' });
        open.delete(index);
      } else {
        // Not waited for: it ends when the process does, which is looked at below.
        void this.#end(data, facts.processes, grace)
          .catch((error: unknown) => String(error))
          .then(message => {
            if (message !== null) {
              results.set(index, { type: 'denied', message });
              open.delete(index);
            }
          });
      }
    }
    await this.#untilGone(open, results, grace);
    return handles.map(
      (_, index) =>
        results.get(index) ?? {
          type: 'uncertain',
          message: 'it was killed but has not gone yet'
        }
    );
  }

  async #untilGone(
    open: Map<number, LocalHandleData>,
    results: Map<number, ReleaseResult>,
    graceSeconds: number
  ): Promise<void> {
    const deadline = Date.now() + graceSeconds * 1000 + KILL_WAIT_MS;
    for (
      let wait = 20;
      open.size > 0;
      wait = Math.min(wait * 2, LONGEST_STEP_MS)
    ) {
      await new Promise(resolve => setTimeout(resolve, wait));
      const facts = await this.#options.facts.of([...open.values()], 'end');
      for (const [index, data] of [...open]) {
        const found = facts.get(data);
        if (found?.type === 'known' && hasEnded(found.processes)) {
          results.set(index, { type: 'gone' });
          open.delete(index);
        }
      }
      if (Date.now() > deadline) {
        return;
      }
    }
  }

  /** Why it may not be ended; null: it is on its way out. */
  async #end(
    data: LocalHandleData,
    facts: readonly ProcessFacts[],
    graceSeconds: number
  ): Promise<string | null> {
    const { pools, inspection, answerTimeoutMs } = this.#options;
    const reach = await pools.reach(join(data.folder, 'pool', data.pool));
    const messages = await Promise.all(
      data.processes.map(async (own, index) => {
        if (facts[index]?.state === 'ended') {
          return null;
        }
        if (reach.type === 'connected') {
          try {
            const known = await reach.client.terminate(
              { id: own.launch, pid: own.pid, startTime: own.startTime },
              graceSeconds,
              answerTimeoutMs
            );
            if (known !== null) {
              return null;
            }
          } catch {
            // The pool died meanwhile: directly, then.
          }
        }
        return endDirectly(inspection, own, graceSeconds);
      })
    );
    return messages.find(message => message !== null) ?? null;
  }
}
