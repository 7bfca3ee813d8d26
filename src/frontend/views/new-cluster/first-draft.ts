/** What the form begins with: a cluster to duplicate, a profile, a backend, or what is usable. */
import type {
  BackendView,
  ClusterView,
  EnvironmentView,
  ProfileView
} from '../../../protocol/index.js';
import type { Draft } from './draft.js';
import { draftFrom } from './draft.js';
import { preferred } from './environment-select.js';

export type NewClusterStart = {
  backend: string | null;
  profile: string | null;
  /** A cluster to duplicate. */
  from: ClusterView | null;
};

export function firstDraft(
  start: NewClusterStart,
  backends: readonly BackendView[],
  profiles: readonly ProfileView[],
  environments: readonly EnvironmentView[],
  notebook: string | null
): Draft {
  const profile = profiles.find(one => one.name === start.profile);
  const spec: Record<string, unknown> =
    start.from !== null
      ? { ...start.from.spec, name: '' }
      : (profile?.spec ?? {});
  const wanted = start.backend ?? (spec['backend'] as string | undefined);
  const backend =
    backends.find(one => one.name === wanted) ??
    backends.find(one => one.available);
  const draft = draftFrom({
    spec,
    profile: start.from === null ? (profile?.name ?? null) : null,
    backend
  });
  if (draft.kernelspec === null && draft.python === null) {
    const chosen = preferred(environments, notebook);
    return {
      ...draft,
      kernelspec: chosen?.kernelspec ?? null,
      python: chosen?.python ?? null
    };
  }
  return draft;
}
