import { spawn } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { describeConformance, type ConformanceWorld } from '../conformance.js';
import type { Handle } from '../resource-manager.js';
import { readJournal } from '../pool/journal.js';
import { join } from 'node:path';
import { localHandleData, type LocalHandleData } from './local-handle.js';
import { ProcInspection } from './proc-inspection.js';
import { PsInspection } from './ps-inspection.js';
import type { ProcessInspection } from './process-inspection.js';
import { aliveOf, LocalWorld, PYTHON, until } from './fixtures/local-world.js';

function dataOf(handle: Handle): LocalHandleData {
  const data = localHandleData(handle);
  if (data === null) {
    throw new Error('not a local handle');
  }
  return data;
}

async function localWorld(
  inspection: ProcessInspection
): Promise<ConformanceWorld> {
  const world = await LocalWorld.open();
  const cleaners: (() => void)[] = [];
  return {
    manager: () => world.manager({ inspection, answerTimeoutMs: 1000 }),
    staying: () => world.sleeper(),
    ending: code =>
      world.intent([
        PYTHON,
        '-c',
        `import sys; print("bye", file=sys.stderr); sys.exit(${code})`
      ]),
    echoing: texts =>
      world.intent([
        PYTHON,
        '-c',
        'import sys, time\nfor text in sys.argv[1:]: print(text)\nwhile True: time.sleep(1)',
        ...texts
      ]),
    // Judged by the process itself, through /proc whatever the backend uses.
    runs: async handle => {
      const pids = dataOf(handle).processes.map(({ pid }) => pid);
      const found = await new ProcInspection().startTimes(pids);
      return pids.every(pid => found.has(pid));
    },
    count: async token => {
      let living = 0;
      for (const folder of await world.poolFolders()) {
        for (const own of await readJournal(join(folder, 'journal.jsonl'))) {
          const found = await new ProcInspection().startTimes([own.pid]);
          living += own.token === token && found.has(own.pid) ? 1 : 0;
        }
      }
      return living;
    },
    foreign: async handle => {
      const child = spawn('sleep', ['600'], {
        detached: true,
        stdio: 'ignore'
      });
      const pid = child.pid ?? 0;
      cleaners.push(() => child.kill('SIGKILL'));
      const startTime =
        (await new ProcInspection().startTimes([pid])).get(pid) ?? '';
      const data = dataOf(handle);
      const [own] = data.processes;
      return {
        forged: {
          ...handle,
          nativeId: `${pid}.${own?.startTime ?? ''}`,
          data: { ...data, processes: [{ ...own, pid, startTime: '1' }] }
        },
        stillThere: () => aliveOf({ pid, startTime })
      };
    },
    // The pool's folder is out of sight: neither socket nor journal can be found.
    hide: async handle => {
      const data = dataOf(handle);
      const folder = join(data.folder, 'pool', data.pool);
      await rename(folder, `${folder}.away`);
      return () => rename(`${folder}.away`, folder);
    },
    cutOff: async () => {
      const pools = await world.pools();
      pools.forEach(({ hello }) => process.kill(hello.pid, 'SIGSTOP'));
      return () => {
        pools.forEach(({ hello }) => process.kill(hello.pid, 'SIGCONT'));
        return Promise.resolve();
      };
    },
    until,
    close: async () => {
      cleaners.forEach(clean => {
        clean();
      });
      await world.close();
    }
  };
}

describeConformance('the local backend', () =>
  localWorld(new ProcInspection())
);
describeConformance('the local backend with ps instead of /proc', () =>
  localWorld(new PsInspection())
);
