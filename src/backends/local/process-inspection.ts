/**
 * Is that process still the one we started? A pid alone is never an identity: pid, start time and
 * boot id together are (reliability-and-security.md R3).
 */
export interface ProcessInspection {
  /** The pool is told to look at processes in the same way, so that start times compare. */
  readonly name: 'proc' | 'ps';
  /** Changes with every start of the machine. */
  bootId(): Promise<string>;
  /** Start times of those that live; a zombie is dead. In the inspection's own unit. */
  startTimes(pids: readonly number[]): Promise<ReadonlyMap<number, string>>;
  /** Do two start times mean the same process? */
  same(left: string | undefined, right: string): boolean;
}

/** Does the process of this pid and start time live, on the present boot? */
export async function isAlive(
  inspection: ProcessInspection,
  process: { pid: number; startTime: string }
): Promise<boolean> {
  const found = await inspection.startTimes([process.pid]);
  return inspection.same(found.get(process.pid), process.startTime);
}
