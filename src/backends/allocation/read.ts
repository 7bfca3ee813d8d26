/**
 * EnvironmentInterface: where am I, and what was I given (specs/resource-manager.md §4). Pure, given
 * the environment and a reader of files.
 */
import {
  Inconsistent,
  type Allocation,
  type AllocationAnswer,
  type AllocationKind,
  type Answers,
  type Environment,
  type ReadFile
} from './allocation.js';
import { cobaltReader } from './cobalt.js';
import { fluxReader } from './flux.js';
import { htcondorReader } from './htcondor.js';
import { lsfReader } from './lsf.js';
import { oarReader } from './oar.js';
import { pbsReader, torqueReader } from './pbs.js';
import { sameHost, type SystemReader } from './reader.js';
import { sgeReader } from './sge.js';
import { slurmReader } from './slurm.js';

/** In the order of `ALLOCATION_KINDS`: the innermost first. */
const READERS: readonly SystemReader[] = [
  fluxReader,
  htcondorReader,
  lsfReader,
  pbsReader,
  torqueReader,
  slurmReader,
  sgeReader,
  oarReader,
  cobaltReader
];

/**
 * The batch systems around this process, innermost first. A variable is a hint: one of an outer or
 * an earlier job may still be there.
 */
export function detect(env: Environment): AllocationKind[] {
  return READERS.filter(reader => reader.jobId(env) !== null).map(
    reader => reader.kind
  );
}

/** This process: its host, and how many cpus its mask and cgroup leave it. */
export type Here = { host: string; cpus: number };

/** The mask of the process outranks the variable where it is smaller (§7, rule 3). */
function within(allocation: Allocation, here: Here | undefined): Allocation {
  const node = allocation.nodes.find(
    one => here !== undefined && sameHost(one.host, here.host)
  );
  if (
    here === undefined ||
    node?.cpus === undefined ||
    node.cpus === null ||
    here.cpus >= node.cpus
  ) {
    return allocation;
  }
  allocation.warnings.push(
    `this process may use ${here.cpus} of the ${node.cpus} cpus of ${node.host}`
  );
  // The groups hold the same objects.
  node.cpus = here.cpus;
  return allocation;
}

/**
 * What the innermost batch system gave, or that of `kind`. Text that contradicts itself is
 * `inconsistent`, never a guess.
 * @param options `answers` of the commands an earlier `incomplete` answer asked for; `here`: what
 *   this process itself may use, which counts where it is less.
 */
export function readAllocation(
  env: Environment,
  readFile: ReadFile,
  options: {
    answers?: Answers;
    kind?: AllocationKind;
    here?: Here | undefined;
  } = {}
): AllocationAnswer {
  for (const reader of READERS) {
    const id = reader.jobId(env);
    if (
      id === null ||
      (options.kind !== undefined && reader.kind !== options.kind)
    ) {
      continue;
    }
    const { kind } = reader;
    try {
      const reading = reader.read(id, {
        env,
        readFile,
        answers: options.answers ?? {}
      });
      return 'ask' in reading
        ? {
            state: 'incomplete',
            kind,
            id,
            why: reading.why,
            asks: reading.ask
          }
        : { state: 'allocation', allocation: within(reading, options.here) };
    } catch (error) {
      if (error instanceof Inconsistent) {
        return { state: 'inconsistent', kind, id, why: error.message };
      }
      throw error;
    }
  }
  return { state: 'none' };
}
