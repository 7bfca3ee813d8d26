/** What will happen, in one sentence: `Up to 31 × 4 and 2 × 1 workers on gpu, 2 h each`. Pure. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { BackendView } from '../../../protocol/index.js';
import { clusterSpecSchema, rangeOf } from '../../../protocol/index.js';
import type { Draft } from './draft.js';
import { specOf } from './draft.js';

/** @returns null while something is wrong: then the problem is what is said. */
export function sentenceOf(
  draft: Draft,
  backend: BackendView | undefined,
  trans: TranslationBundle
): string | null {
  const parsed = clusterSpecSchema.safeParse(specOf(draft));
  if (!parsed.success || parsed.data.groups === undefined) {
    return null;
  }
  let workers = 0;
  const parts = parsed.data.groups.map(group => {
    const range = rangeOf({
      ...group,
      worker: {
        cores: 1,
        gpus: 0,
        resources: {},
        ...group.worker,
        memory: group.worker?.memory ?? null
      }
    });
    workers += range.maximum;
    const jobs = range.maximum / group.workersPerJob;
    return group.workersPerJob === 1
      ? String(range.maximum)
      : `${jobs} × ${group.workersPerJob}`;
  });
  const size = parts.join(' + ');
  const options = parsed.data.groups[0]?.options ?? {};
  const queue = [
    options['queue'],
    options['partition'],
    options['namespace']
  ].find(one => typeof one === 'string' && one !== '');
  const place =
    typeof queue === 'string' ? queue : (backend?.title ?? draft.backend);
  const walltime = options['walltime'];
  const isAdaptive = parsed.data.groups.some(
    group => group.scale.type === 'adaptive'
  );
  const sentence = isAdaptive
    ? trans._n(
        'Up to %2 worker on %3, as the load asks',
        'Up to %2 workers on %3, as the load asks',
        workers,
        size,
        place
      )
    : trans._n('%2 worker on %3', '%2 workers on %3', workers, size, place);
  return typeof walltime === 'string' && walltime !== ''
    ? trans.__('%1, %2 each', sentence, walltime)
    : sentence;
}
