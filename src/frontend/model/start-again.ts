/** From what a cluster was to what a request for the same may say. Pure. */
import type { ClusterSpec, ResolvedSpec } from '../../protocol/index.js';

/**
 * @param spec of the old cluster, every default filled.
 * @param taken names of clusters that have not ended.
 */
export function specToStartAgain(
  spec: ResolvedSpec,
  taken: ReadonlySet<string>
): ClusterSpec {
  return {
    name: freeName(spec.name, taken),
    backend: spec.backend,
    scheduler: spec.scheduler,
    groups: spec.groups.map(group => ({
      name: group.name,
      worker: group.worker,
      workersPerJob: group.workersPerJob,
      scale: group.scale,
      launcher: group.launcher,
      options: group.options
    })),
    environment: spec.environment,
    lifetime: spec.lifetime,
    security: spec.security
  };
}

/** `analysis`, else `analysis-2`, `analysis-3`, …; at most 40 characters, as names are. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) {
    return name;
  }
  const stem = name.replace(/-\d+$/, '');
  for (let number = 2; ; number += 1) {
    const suffix = `-${number}`;
    const candidate =
      stem.slice(0, 40 - suffix.length).replace(/-+$/, '') + suffix;
    if (!taken.has(candidate)) {
      return candidate;
    }
  }
}
