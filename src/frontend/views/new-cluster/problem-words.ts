/** What is wrong, as a sentence with an example where one helps. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { DraftGroup, Problem } from './draft.js';

/** @param problem with its path relative to the group. */
export function groupProblem(
  problem: Problem,
  trans: TranslationBundle
): string {
  if (
    problem.path === 'worker.memory' &&
    problem.message.includes('not a size')
  ) {
    return trans.__(
      'memory %1. Write 16 GiB, 1.5 TB or 800MB.',
      problem.message
    );
  }
  if (problem.path.startsWith('scale')) {
    return trans.__('size %1. Write 8, 64 cores or 1 TB.', problem.message);
  }
  const field = problem.path.split('.').at(-1) ?? problem.path;
  return `${field} ${problem.message}`;
}

/** The same for a problem anywhere in the form; fields by the names they have there. */
export function problemSentence(
  problem: Problem,
  groups: readonly DraftGroup[],
  trans: TranslationBundle
): string {
  const match = /^groups\[(\d+)\]\.(.*)$/.exec(problem.path);
  if (match !== null) {
    const name = groups[Number(match[1])]?.name ?? '';
    return trans.__(
      '%1: %2',
      name,
      groupProblem({ path: match[2] ?? '', message: problem.message }, trans)
    );
  }
  const field = problem.path.split('.').at(-1) ?? '';
  return `${field} ${problem.message}`.trim();
}
