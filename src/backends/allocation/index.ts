/** EnvironmentInterface: what a job was given and how long it may still run, seen from inside. */
export {
  ALLOCATION_KINDS,
  type AllocatedNode,
  type Allocation,
  type AllocationAnswer,
  type AllocationGroup,
  type AllocationKind,
  type Answer,
  type Answers,
  type Environment,
  type ReadFile
} from './allocation.js';
export {
  expandCounts,
  readExecHost,
  readLsfHosts,
  readNodeFile,
  type HostSlots
} from './counts.js';
export {
  compressHostList,
  expandHostList,
  type HostListDialect
} from './hostlist.js';
export { hereNow, inspect, textFile, type Asking } from './inspect.js';
export { detect, readAllocation, type Here } from './read.js';
export {
  deadlineChanged,
  timeLeft,
  timeLeftFrom,
  type TimeLeft
} from './time-left.js';
