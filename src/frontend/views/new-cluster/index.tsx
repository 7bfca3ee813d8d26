/** The "New cluster" dialog: opens, asks the bridge what there is, and answers with the cluster. */
import { Dialog } from '@jupyterlab/apputils';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { useEffect, useState } from 'react';
import { Card } from '../../elements/card.js';
import { plugIcon } from '../../elements/icons.js';
import type { Muster } from '../../elements/muster-context.js';
import { MusterContext, useMuster } from '../../elements/muster-context.js';
import type {
  BackendView,
  ClusterView,
  EnvironmentView,
  ProfileView
} from '../../../protocol/index.js';
import { MusterError } from '../../../protocol/index.js';
import type { NewClusterStart } from './first-draft.js';
import { NewClusterForm } from './form.js';

/** Enter belongs to the fields: a half-filled form must not be closed by it. */
class NewClusterDialog extends Dialog<unknown> {
  protected override _evtKeydown(event: KeyboardEvent): void {
    if (event.key !== 'Enter') {
      super._evtKeydown(event);
    }
  }
}

export async function openNewClusterDialog(
  muster: Muster,
  args: ReadonlyPartialJSONObject
): Promise<ClusterView | null> {
  const { model, trans } = muster;
  const word = (name: string): string | null => {
    const value = args[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const from = word('from');
  const start: NewClusterStart = {
    backend: word('backend'),
    profile: word('profile'),
    from: from === null ? null : (model.get(from) ?? model.find(from) ?? null)
  };
  let created: ClusterView | null = null;
  const viewing = model.attach();
  const body = ReactWidget.create(
    <MusterContext.Provider value={muster}>
      <Loading
        start={start}
        onCreated={view => {
          created = view;
          dialog.reject();
        }}
        onCancel={() => {
          dialog.reject();
        }}
      />
    </MusterContext.Provider>
  );
  // eslint-disable-next-line jupyter/require-disposable-ownership -- disposed in `finally` below
  const dialog = new NewClusterDialog({
    title: trans.__('New cluster'),
    body,
    // The form has its own buttons; the dialog insists on one, which the style hides.
    buttons: [Dialog.cancelButton({ label: trans.__('Cancel') })],
    focusNodeSelector: 'input'
  });
  dialog.addClass('jp-MusterNewDialog');
  try {
    await dialog.launch();
  } finally {
    viewing.dispose();
    dialog.dispose();
  }
  return created;
}

type Offer = {
  backends: readonly BackendView[];
  profiles: readonly ProfileView[];
  environments: readonly EnvironmentView[];
  canSaveProfiles: boolean;
};

const STARTING_RETRY_MS = 500;
const PROFILE_ROUTE = /\/profiles\/\{\w+\}$/;

function Loading(props: {
  start: NewClusterStart;
  onCreated: (view: ClusterView) => void;
  onCancel: () => void;
}): React.JSX.Element {
  const { client, trans } = useMuster();
  const [offer, setOffer] = useState<Offer | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let isStale = false;
    let again = 0;
    Promise.all([
      client.backends(),
      // A cluster can be made without either of these: their failure must not stand in its way.
      client.profiles().catch(() => []),
      client.environments().catch(() => []),
      client.offers('put', PROFILE_ROUTE)
    ]).then(
      ([backends, profiles, environments, canSaveProfiles]) => {
        if (!isStale) {
          setOffer({ backends, profiles, environments, canSaveProfiles });
        }
      },
      (reason: unknown) => {
        if (isStale) {
          return;
        }
        if (
          reason instanceof MusterError &&
          reason.code === 'bridge-starting'
        ) {
          // Opened in the bridge's first second: it is waited for, not complained about.
          again = window.setTimeout(() => {
            setAttempt(attempt + 1);
          }, STARTING_RETRY_MS);
        } else {
          setError(reason instanceof Error ? reason.message : String(reason));
        }
      }
    );
    return () => {
      isStale = true;
      window.clearTimeout(again);
    };
  }, [client, attempt]);
  if (error !== null) {
    return (
      <Card
        icon={plugIcon}
        role="alert"
        title={trans.__('The bridge does not answer')}
        text={error}
        actions={[
          {
            label: trans.__('Try again'),
            accent: true,
            onClick: () => {
              setError(null);
              setAttempt(attempt + 1);
            }
          },
          { label: trans.__('Cancel'), onClick: props.onCancel }
        ]}
      />
    );
  }
  if (offer === null) {
    return (
      <Card icon="spinner" title={trans.__('Looking at what there is…')} />
    );
  }
  return <NewClusterForm {...props} {...offer} />;
}
