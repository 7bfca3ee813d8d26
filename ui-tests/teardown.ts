/** The last word of a run: nothing of any test may still be alive. */
import { settledProcesses, processesMarked } from './processes.js';

export default async function teardown(): Promise<void> {
  const left = await settledProcesses(
    () => processesMarked('/tmp/mui-'),
    5_000
  );
  if (left.length > 0) {
    throw new Error(
      `left alive by the UI tests:\n${left.map(({ pid, command }) => `${pid} ${command}`).join('\n')}`
    );
  }
}
