import { refreshIcon } from '@jupyterlab/ui-components';
import { useContext, useEffect, useReducer, useState } from 'react';
import { CommandIDs } from '../../commands.js';
import { Card } from '../../elements/card.js';
import { VisibleContext } from '../../elements/clock.js';
import { Dot } from '../../elements/dot.js';
import { IconButton } from '../../elements/icon-button.js';
import { openIcon, pinIcon, plotIcon } from '../../elements/icons.js';
import { useClusters, useMuster } from '../../elements/muster-context.js';
import { clusterTone, clusterWord } from '../../elements/words.js';
import { hasEnded } from '../../model/cluster-order.js';
import { LinkCard } from '../../panels/clusters/cards.js';
import type { PaneState } from './pane-state.js';

/** One plot of one cluster, through the relay; a card while there is none to show. */
export function DashboardBody(props: { state: PaneState }): React.JSX.Element {
  const model = useClusters();
  const { client, trans } = useMuster();
  const { state } = props;
  const [, again] = useReducer((count: number) => count + 1, 0);
  const [reload, setReload] = useState(0);
  useEffect(() => {
    state.changed.connect(again);
    return () => {
      state.changed.disconnect(again);
    };
  }, [state]);
  const isParked = useParked();
  const view = state.clusterOf(model);
  if (view === null) {
    return <Inactive state={state} />;
  }
  const url = client.dashboardUrl(view.id, state.plot);
  return (
    <div className="jp-MusterPane">
      <div
        className="jp-MusterPane-bar"
        role="toolbar"
        aria-label={trans.__('Dashboard toolbar')}
      >
        <Dot tone={clusterTone(view)} word={clusterWord(view, trans)} />
        <b>{view.name}</b>
        <span className="jp-MusterPane-title">{state.title}</span>
        <span className="jp-MusterSpring" />
        <IconButton
          icon={pinIcon}
          pressed={state.pinned !== null}
          label={
            state.pinned === null
              ? trans.__('Pin to %1: do not follow the panel', view.name)
              : trans.__('Unpin: follow the cluster selected in the panel')
          }
          onClick={() => {
            state.pinned = state.pinned === null ? view.id : null;
          }}
        />
        <IconButton
          icon={refreshIcon}
          label={trans.__('Reload')}
          onClick={() => {
            setReload(reload + 1);
          }}
        />
        <IconButton
          icon={openIcon}
          label={trans.__('Open in a browser tab')}
          onClick={() => {
            window.open(url, '_blank', 'noopener');
          }}
        />
      </div>
      {isParked ? null : (
        <iframe
          key={`${view.id} ${view.scheduler.address ?? ''} ${reload}`}
          className="jp-MusterPane-frame"
          title={trans.__('%1 of %2', state.title, view.name)}
          src={url}
          // A dashboard is foreign code: no origin of Jupyter's, no forms, no navigating away (W28).
          // What it loads is let through by the ticket the relay puts into its address.
          sandbox="allow-scripts allow-downloads allow-popups"
          referrerPolicy="no-referrer"
        />
      )}
    </div>
  );
}

/** A pane nobody has seen for a while lets go of its plot: Dask draws for no one (DK #185). */
const PARK_MS = 120_000;

function useParked(): boolean {
  const isVisible = useContext(VisibleContext);
  const [isParked, setIsParked] = useState(false);
  useEffect(() => {
    if (isVisible) {
      setIsParked(false);
      return;
    }
    const timer = window.setTimeout(() => {
      setIsParked(true);
    }, PARK_MS);
    return () => {
      window.clearTimeout(timer);
    };
  }, [isVisible]);
  return isParked;
}

function Inactive(props: { state: PaneState }): React.JSX.Element {
  const model = useClusters();
  const { trans, commands } = useMuster();
  const { state } = props;
  if (!model.isReady) {
    return <LinkCard link={model.link} />;
  }
  const pinned = state.pinned === null ? undefined : model.get(state.pinned);
  const show = {
    label: trans.__('Show clusters'),
    onClick: () => {
      void commands.execute(CommandIDs.showPanel);
    }
  };
  if (state.pinned === null) {
    const running = model.clusters.filter(view => view.phase === 'running');
    return (
      <Card
        icon={plotIcon}
        title={trans.__('%1 is waiting for a cluster', state.title)}
        text={
          running.length > 1
            ? trans.__('Select one in the panel.')
            : trans.__('It appears when one runs.')
        }
        actions={[show]}
      />
    );
  }
  const follow = {
    label: trans.__('Follow the selected cluster'),
    onClick: () => {
      state.pinned = null;
    }
  };
  return (
    <Card
      icon={plotIcon}
      title={
        pinned === undefined
          ? trans.__('Its cluster is gone')
          : trans.__('%1: %2', pinned.name, clusterWord(pinned, trans))
      }
      text={trans.__('%1 was pinned to it.', state.title)}
      actions={[
        ...(pinned !== undefined && hasEnded(pinned)
          ? [
              {
                label: trans.__('Start again'),
                accent: true,
                onClick: () => {
                  state.pinned = null;
                  void commands.execute(CommandIDs.startAgain, {
                    cluster: pinned.id
                  });
                }
              }
            ]
          : []),
        follow,
        show
      ]}
    />
  );
}
