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
  return trans.__('%1 %2', fieldWord(problem.path, trans), problem.message);
}

/** A field by the name it has in the form; one the form does not show, by its own. */
function fieldWord(path: string, trans: TranslationBundle): string {
  const field = path.split('.').at(-1) ?? path;
  switch (field) {
    case 'name':
      return trans.__('name');
    case 'cores':
      return trans.__('cores');
    case 'memory':
      return trans.__('memory');
    case 'gpus':
      return trans.__('GPUs');
    case 'workersPerJob':
      return trans.__('workers per job');
    case 'idleTimeout':
      return trans.__('when idle:');
    case 'maximumAge':
      return trans.__('in any case:');
    default:
      return field;
  }
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
  return problem.path === ''
    ? problem.message
    : trans.__('%1 %2', fieldWord(problem.path, trans), problem.message);
}
