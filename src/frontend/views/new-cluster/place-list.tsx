/** The dialog's left side: profiles, then where a cluster can run, and why it cannot elsewhere. */
import { useMuster } from '../../elements/muster-context.js';
import type { BackendView, ProfileView } from '../../../protocol/index.js';

export type Place = { profile: string | null; backend: string };

export function PlaceList(props: {
  profiles: readonly ProfileView[];
  backends: readonly BackendView[];
  chosen: Place;
  onChoose: (place: Place) => void;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { profiles, backends, chosen, onChoose } = props;
  const fallback = backends.find(backend => backend.available)?.name ?? 'local';
  return (
    <nav className="jp-MusterNew-places" aria-label={trans.__('Where to run')}>
      {profiles.length === 0 ? null : (
        <>
          <h4>{trans.__('Profiles')}</h4>
          <ul>
            {profiles.map(profile => (
              <li key={profile.name}>
                <button
                  type="button"
                  aria-current={chosen.profile === profile.name}
                  title={trans.__('Profile from the %1', profile.source)}
                  onClick={() => {
                    const backend = profile.spec['backend'];
                    onChoose({
                      profile: profile.name,
                      backend: typeof backend === 'string' ? backend : fallback
                    });
                  }}
                >
                  <span>{profile.title ?? profile.name}</span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      <h4>{trans.__('On')}</h4>
      <ul>
        {[...backends]
          .sort((a, b) => Number(b.available) - Number(a.available))
          .map(backend => (
            <li key={backend.name}>
              <button
                type="button"
                disabled={!backend.available}
                aria-current={
                  chosen.profile === null && chosen.backend === backend.name
                }
                onClick={() => {
                  onChoose({ profile: null, backend: backend.name });
                }}
              >
                <span>{backend.title}</span>
                <small>
                  {backend.available ? (backend.version ?? '') : ''}
                </small>
              </button>
              {backend.available ? null : (
                <p>{backend.reason ?? trans.__('not found here')}</p>
              )}
            </li>
          ))}
      </ul>
    </nav>
  );
}
