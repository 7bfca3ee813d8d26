/**
 * The batch systems there are: the built-in ones and those a site describes itself
 * (docs/batch-systems/). A new one is one file of facts and one line here.
 */
import { SpecError, type SpecProblem } from './errors.js';
import { flux } from './flux.js';
import { htcondor } from './htcondor.js';
import { lsf } from './lsf.js';
import { oar } from './oar.js';
import { pbs } from './pbs.js';
import { sge } from './sge.js';
import { slurm } from './slurm.js';
import { systemFactsSchema, type SystemFacts } from './specification.js';
import { torque } from './torque.js';

export type Systems = ReadonlyMap<string, SystemFacts>;

export const BUILT_IN: Systems = new Map(
  [slurm, pbs, torque, sge, lsf, htcondor, oar, flux].map(one => [
    one.name,
    one
  ])
);

/**
 * The built-in systems and a site's own, each a description as in `specification.ts`; with
 * `basedOn` only the differences (objects are merged, lists replaced).
 * @throws SpecError naming every wrong key of every description.
 */
export function withSiteSystems(
  descriptions: readonly unknown[],
  base: Systems = BUILT_IN
): Systems {
  const systems = new Map(base);
  const problems: SpecProblem[] = [];
  descriptions.forEach((description, at) => {
    const read = readSystem(description, systems);
    if ('problems' in read) {
      problems.push(
        ...read.problems.map(one => ({
          field: `batchSystems.${at}${one.field === '' ? '' : `.${one.field}`}`,
          message: one.message
        }))
      );
    } else {
      systems.set(read.facts.name, read.facts);
    }
  });
  if (problems.length > 0) {
    throw new SpecError(problems);
  }
  return systems;
}

function readSystem(
  description: unknown,
  systems: Systems
): { facts: SystemFacts } | { problems: SpecProblem[] } {
  if (!isObject(description)) {
    return { problems: [{ field: '', message: 'is not an object' }] };
  }
  const { basedOn, ...own } = description;
  let whole: unknown = own;
  if (basedOn !== undefined) {
    const base = typeof basedOn === 'string' ? systems.get(basedOn) : undefined;
    if (base === undefined) {
      return {
        problems: [
          {
            field: 'basedOn',
            message: `there is no batch system ${JSON.stringify(basedOn)}`
          }
        ]
      };
    }
    whole = merge(base, own);
  }
  const parsed = systemFactsSchema.safeParse(whole);
  return parsed.success
    ? { facts: parsed.data }
    : {
        problems: parsed.error.issues.map(issue => ({
          field: issue.path.map(String).join('.'),
          message: issue.message
        }))
      };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function merge(base: unknown, own: unknown): unknown {
  if (!isObject(base) || !isObject(own)) {
    return own;
  }
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(own)) {
    merged[key] = Object.hasOwn(base, key) ? merge(base[key], value) : value;
  }
  return merged;
}
