/** The few things about a job no table can say. Named by a specification's `adapters`. */
import type { TextRecord } from './readers/read.js';
import type { JobInfo } from './results.js';
import type { SystemFacts } from './specification.js';

export type Adapter = (job: JobInfo, record: TextRecord) => JobInfo;

const ADAPTERS: Readonly<Record<string, Adapter>> = {};

/** @throws RangeError where a specification names an adapter that does not exist. */
export function adapt(
  facts: SystemFacts,
  job: JobInfo,
  record: TextRecord
): JobInfo {
  return facts.adapters.reduce((made, name) => {
    const adapter = Object.hasOwn(ADAPTERS, name) ? ADAPTERS[name] : undefined;
    if (adapter === undefined) {
      throw new RangeError(`there is no adapter '${name}'`);
    }
    return adapter(made, record);
  }, job);
}
