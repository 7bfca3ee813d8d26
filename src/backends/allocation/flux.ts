/**
 * An allocation of Flux: a task of a job, or the script of an instance of its own (`flux batch`,
 * `flux alloc`). Its variables name only the job, so its resource set R is asked for
 * (specs/launchers-and-allocations.md §3).
 */
import { z } from 'zod';
import {
  Inconsistent,
  type AllocatedNode,
  type Environment
} from './allocation.js';
import { expandIndices } from './counts.js';
import { expandHostList } from './hostlist.js';
import {
  allocationOf,
  answered,
  node,
  set,
  whole,
  type SystemReader
} from './reader.js';

/** F58 (with ƒ, or with f where the locale has no ƒ), decimal, dotted hexadecimal. */
const FLUX_ID =
  /^(?:[ƒf][1-9A-HJ-NP-Za-km-z]{1,12}|\d{1,20}|0x[0-9a-f]{1,16}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){3})$/u;

/** The innermost job: of the task, else of the instance around the script. */
export function fluxJob(
  env: Environment
): { id: string; parent: boolean } | null {
  for (const [name, parent] of [
    ['FLUX_JOB_ID', false],
    ['FLUX_ENCLOSING_ID', true]
  ] as const) {
    const id = set(env, name);
    if (id !== null && FLUX_ID.test(id)) {
      return { id, parent };
    }
  }
  return null;
}

const resourceSet = z.object({
  version: z.literal(1),
  execution: z.object({
    R_lite: z
      .array(
        z.object({
          rank: z.string(),
          children: z.object({
            core: z.string().optional(),
            gpu: z.string().optional()
          })
        })
      )
      .min(1),
    nodelist: z.array(z.string()).min(1)
  })
});

export const fluxReader: SystemReader = {
  kind: 'flux',
  jobId: env => fluxJob(env)?.id ?? null,
  read: (id, inside) => {
    const { env } = inside;
    const parent = fluxJob(env)?.parent === true;
    const ask = [
      'flux',
      ...(parent ? ['--parent'] : []),
      'job',
      'info',
      id,
      'R'
    ];
    const answer = answered(inside, ask);
    if (answer === undefined || answer.rc !== 0) {
      return {
        ask: [ask],
        why:
          answer === undefined
            ? 'Flux names its hosts only when it is asked'
            : `Flux does not tell: ${answer.stderr.trim().split('\n')[0] ?? ''}`
      };
    }
    const nodes = readResourceSet(answer.stdout);
    const warnings: string[] = [];
    const told = parent ? null : whole(env, 'FLUX_JOB_NNODES');
    if (told !== null && told !== nodes.length) {
      warnings.push(
        `FLUX_JOB_NNODES is ${told}, the resource set has ${nodes.length} nodes`
      );
    }
    const tasks = parent ? null : whole(env, 'FLUX_JOB_SIZE');
    if (tasks !== null && tasks % nodes.length === 0) {
      for (const one of nodes) {
        one.tasks = tasks / nodes.length;
      }
    }
    const index = set(env, 'FLUX_JOB_CC');
    return allocationOf({
      kind: 'flux',
      id,
      array: index === null || parent ? null : { id, index },
      nodes,
      source: [ask.join(' ')],
      warnings
    });
  }
};

/** R of version 1: ranks with their cores and gpus, and the hosts in the order of the ranks. */
export function readResourceSet(text: string): AllocatedNode[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Inconsistent('the resource set is not of version 1');
  }
  const parsed = resourceSet.safeParse(json);
  if (!parsed.success) {
    throw new Inconsistent('the resource set is not of version 1');
  }
  const { R_lite, nodelist } = parsed.data.execution;
  const hosts = nodelist.flatMap(list => expandHostList(list, 'flux'));
  const ranks = R_lite.flatMap(({ rank, children }) => {
    const cpus =
      children.core === undefined ? null : expandIndices(children.core).length;
    const gpus =
      children.gpu === undefined || children.gpu === ''
        ? []
        : expandIndices(children.gpu).map(String);
    return expandIndices(rank).map(number => ({ number, cpus, gpus }));
  }).sort((one, other) => one.number - other.number);
  if (ranks.length !== hosts.length) {
    throw new Inconsistent(
      `the resource set has ${ranks.length} ranks and ${hosts.length} hosts`
    );
  }
  return ranks.map(({ cpus, gpus }, at) =>
    node(hosts[at] ?? '', { cpus, gpus: [...gpus] })
  );
}
