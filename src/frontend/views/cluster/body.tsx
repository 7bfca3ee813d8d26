import { useEffect, useReducer, useState } from 'react';
import { Card } from '../../elements/card.js';
import { clustersIcon } from '../../elements/icons.js';
import { useClusters, useMuster } from '../../elements/muster-context.js';
import { LinkCard } from '../../panels/clusters/cards.js';
import type { ClusterView } from '../../../protocol/index.js';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Events } from './events.js';
import { Header } from './header.js';
import { Jobs } from './jobs.js';
import { Logs } from './logs.js';
import { Overview } from './overview.js';
import { Spec } from './spec.js';
import { Timeline } from './timeline.js';
import type { Tab, ViewState } from './view-state.js';
import { TABS } from './view-state.js';
import { Workers } from './workers.js';

function tabTitle(tab: Tab, trans: TranslationBundle): string {
  switch (tab) {
    case 'overview':
      return trans.__('Overview');
    case 'workers':
      return trans.__('Workers');
    case 'jobs':
      return trans.__('Jobs');
    case 'logs':
      return trans.__('Logs');
    case 'events':
      return trans.__('Events');
    case 'spec':
      return trans.__('Spec');
  }
}

/** One cluster from all sides; or the word that it is gone. */
export function ClusterBody(props: { state: ViewState }): React.JSX.Element {
  const model = useClusters();
  const { trans } = useMuster();
  const { state } = props;
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    state.changed.connect(again);
    return () => {
      state.changed.disconnect(again);
    };
  }, [state]);
  const view = model.get(state.cluster);
  if (view !== undefined) {
    return <Tabs key={view.id} view={view} state={state} />;
  }
  if (!model.isReady) {
    return <LinkCard link={model.link} />;
  }
  return (
    <Card
      icon={clustersIcon}
      title={trans.__('This cluster is gone')}
      text={trans.__('Its record was forgotten. Nothing of it runs.')}
    />
  );
}

function Tabs(props: {
  view: ClusterView;
  state: ViewState;
}): React.JSX.Element {
  const { trans, client, model } = useMuster();
  const { view, state } = props;
  const [timeline, setTimeline] = useState<Timeline | null>(null);
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const created = new Timeline({ client, model, cluster: view.id });
    created.changed.connect(again);
    setTimeline(created);
    return () => {
      created.changed.disconnect(again);
      created.dispose();
    };
  }, [client, model, view.id]);
  const move = (event: React.KeyboardEvent<HTMLDivElement>): void => {
    const step =
      event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) {
      return;
    }
    event.preventDefault();
    const at = (TABS.indexOf(state.tab) + step + TABS.length) % TABS.length;
    state.show(TABS[at] ?? 'overview');
    event.currentTarget.querySelectorAll('button')[at]?.focus();
  };
  const onLog = (what: string): void => {
    state.show('logs', what);
  };
  return (
    <div className="jp-MusterView">
      <Header view={view} />
      <div
        className="jp-MusterView-tabs"
        role="tablist"
        aria-label={trans.__('Sides of %1', view.name)}
        onKeyDown={move}
      >
        {TABS.map(tab => (
          <button
            key={tab}
            type="button"
            role="tab"
            aria-selected={tab === state.tab}
            tabIndex={tab === state.tab ? 0 : -1}
            onClick={() => {
              state.show(tab);
            }}
          >
            {tabTitle(tab, trans)}
          </button>
        ))}
      </div>
      <div
        className="jp-MusterView-panel"
        role="tabpanel"
        aria-label={tabTitle(state.tab, trans)}
      >
        {state.tab === 'overview' && timeline !== null ? (
          <Overview view={view} timeline={timeline} />
        ) : state.tab === 'workers' ? (
          <Workers view={view} onLog={onLog} />
        ) : state.tab === 'jobs' ? (
          <Jobs view={view} onLog={onLog} />
        ) : state.tab === 'logs' ? (
          <Logs view={view} what={state.what} onWhat={onLog} />
        ) : state.tab === 'events' && timeline !== null ? (
          <Events timeline={timeline} />
        ) : state.tab === 'spec' ? (
          <Spec view={view} />
        ) : null}
      </div>
    </div>
  );
}
