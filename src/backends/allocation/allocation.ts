/**
 * What a batch system gave, seen from inside (specs/launchers-and-allocations.md §3, §8). A value
 * nobody told is null, never 0 and never a guess.
 */
export const ALLOCATION_KINDS = [
  'flux',
  'htcondor',
  'lsf',
  'pbs',
  'torque',
  'slurm',
  'sge',
  'oar',
  'cobalt'
] as const;

/** Whose allocation it is. In the order in which one is looked for, the innermost first. */
export type AllocationKind = (typeof ALLOCATION_KINDS)[number];

export type AllocatedNode = {
  host: string;
  /** Slots: how many tasks the batch system wants started here. */
  tasks: number | null;
  /** As the batch system counts them; often hardware threads. */
  cpus: number | null;
  memBytes: number | null;
  /** As the batch system names them; empty: none; null: not told. */
  gpus: string[] | null;
};

/** One component of a heterogeneous job; every other allocation has exactly one. */
export type AllocationGroup = { id: string; nodes: AllocatedNode[] };

export type Allocation = {
  kind: AllocationKind;
  id: string;
  /** How often the job was started again before; null: not told. */
  incarnation: number | null;
  array: { id: string; index: string } | null;
  /** Of all groups, in the order of the batch system. */
  nodes: AllocatedNode[];
  groups: AllocationGroup[];
  /** A file with one host per line that launchers can read. */
  nodeFile: string | null;
  /** Leads the list of some LSF sites and carries no tasks; not one of `nodes`. */
  launchNode: string | null;
  /** The variables, files and commands this was read from. */
  source: string[];
  warnings: string[];
};

/** What is inside: nothing, something that contradicts itself, something only a command can tell. */
export type AllocationAnswer =
  | { state: 'none' }
  | { state: 'inconsistent'; kind: AllocationKind; id: string; why: string }
  /** `asks`: commands whose answers `allocation` takes as its third argument. */
  | {
      state: 'incomplete';
      kind: AllocationKind;
      id: string;
      why: string;
      asks: string[][];
    }
  | { state: 'allocation'; allocation: Allocation };

export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a file; null where it cannot be read. */
export type ReadFile = (path: string) => string | null;

export type Answer = { rc: number | null; stdout: string; stderr: string };

/** Answers by the command's words joined by single blanks. */
export type Answers = Readonly<Record<string, Answer | undefined>>;

/** Thrown by the readers of this room, caught where an answer is made. */
export class Inconsistent extends Error {
  override name = 'Inconsistent';
}
