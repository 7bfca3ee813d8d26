import { useEffect, useReducer, useRef } from 'react';
import { CommandIDs } from '../../commands.js';
import { secondsSince, useNow } from '../../elements/clock.js';
import { useClusters, useMuster } from '../../elements/muster-context.js';
import { clusterWord } from '../../elements/words.js';
import { hasEnded } from '../../model/cluster-order.js';
import type { ClusterView } from '../../../protocol/index.js';
import { formatDuration } from '../../../protocol/index.js';
import { EmptyCard, LinkCard, StartLine } from './cards.js';
import { EndedRow } from './ended-row.js';
import { ClusterRow } from './row.js';

/** How far the pointer moves before a press becomes a drag, in pixels. */
const DRAG_THRESHOLD = 5;

/** The list of clusters, or the card that says why there is none. */
export function ClustersBody(): React.JSX.Element {
  const model = useClusters();
  const { service, trans } = useMuster();
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    service.notebookChanged.connect(again);
    const hooks = service.notebook;
    hooks?.changed.connect(again);
    return () => {
      service.notebookChanged.disconnect(again);
      hooks?.changed.disconnect(again);
    };
  }, [service, service.notebook]);
  const { clusters, link } = model;
  const isStale = link.state === 'reconnecting';
  // Clusters once known are shown on, whatever becomes of the way to them, with a word on top.
  if (!model.isReady || clusters.length === 0) {
    return link.state === 'live' ? <EmptyCard /> : <LinkCard link={link} />;
  }
  return (
    <>
      {link.state === 'live' ? null : <Banner />}
      <ul
        className="jp-MusterClusters-list"
        aria-label={trans.__('Clusters')}
        aria-busy={isStale}
      >
        {clusters.map(view => (
          <Item
            key={view.id}
            view={view}
            isSelected={view.id === model.selected}
          />
        ))}
      </ul>
      {link.state === 'live' && clusters.every(hasEnded) ? <StartLine /> : null}
    </>
  );
}

function Banner(): React.JSX.Element {
  const { trans, model, commands } = useMuster();
  const now = useNow(1_000);
  const { link } = model;
  return (
    <div className="jp-MusterBanner" role="status">
      <span>
        {link.state === 'reconnecting'
          ? trans.__(
              'Reconnecting… as of %1 ago',
              formatDuration(
                secondsSince(new Date(link.since).toISOString(), now)
              )
            )
          : link.state === 'starting'
            ? trans.__('Starting the bridge, %1 s', Math.round(link.seconds))
            : link.state === 'failed' || link.state === 'node-missing'
              ? trans.__('The bridge does not answer: %1', link.message)
              : trans.__('Not connected')}
      </span>
      {link.state === 'failed' ? (
        <button
          type="button"
          className="jp-MusterLink"
          onClick={() => {
            void commands.execute(CommandIDs.restartBridge);
          }}
        >
          {trans.__('Restart bridge')}
        </button>
      ) : (
        <button
          type="button"
          className="jp-MusterLink"
          onClick={() => {
            void commands.execute(CommandIDs.refresh);
          }}
        >
          {trans.__('Try now')}
        </button>
      )}
    </div>
  );
}

function Item(props: {
  view: ClusterView;
  isSelected: boolean;
}): React.JSX.Element {
  const { commands, model, service, trans } = useMuster();
  const { view, isSelected } = props;
  const pressed = useRef<{ x: number; y: number } | null>(null);
  const onKeyDown = (event: React.KeyboardEvent<HTMLLIElement>): void => {
    if (event.target !== event.currentTarget) {
      return; // a control inside has the key
    }
    const rows = [
      ...(event.currentTarget.parentElement?.querySelectorAll<HTMLElement>(
        ':scope > li'
      ) ?? [])
    ];
    const at = rows.indexOf(event.currentTarget);
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: rows.length - 1
    }[event.key];
    if (to !== undefined) {
      rows[to]?.focus();
    } else if (event.key === ' ') {
      model.select(isSelected ? null : view.id);
    } else if (event.key === 'Enter') {
      model.select(view.id);
      void commands.execute(CommandIDs.openCluster, { cluster: view.id });
    } else if (event.key === 'Delete') {
      void commands.execute(
        view.phase === 'stopped'
          ? CommandIDs.forgetCluster
          : CommandIDs.stopCluster,
        { cluster: view.id }
      );
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <li
      className={`jp-MusterCluster ${isSelected ? 'jp-mod-selected' : ''} ${
        hasEnded(view) ? 'jp-mod-over' : ''
      } ${view.phase === 'stopped' ? 'jp-mod-ended' : ''}`}
      data-cluster={view.id}
      tabIndex={0}
      aria-current={isSelected}
      aria-label={trans.__(
        'Cluster %1 on %2: %3',
        view.name,
        view.backend,
        clusterWord(view, trans)
      )}
      onClick={() => {
        model.select(view.id);
      }}
      onDoubleClick={event => {
        if (!(event.target as HTMLElement).closest('button,input')) {
          void commands.execute(CommandIDs.openCluster, { cluster: view.id });
        }
      }}
      onKeyDown={onKeyDown}
      onPointerDown={event => {
        const isControl =
          (event.target as HTMLElement).closest('button,input,a') !== null;
        pressed.current =
          event.button === 0 && !isControl
            ? { x: event.clientX, y: event.clientY }
            : null;
      }}
      onPointerMove={event => {
        const from = pressed.current;
        if (from === null || event.buttons !== 1 || hasEnded(view)) {
          return;
        }
        const { clientX, clientY, currentTarget: row } = event;
        if (
          Math.abs(clientX - from.x) >= DRAG_THRESHOLD ||
          Math.abs(clientY - from.y) >= DRAG_THRESHOLD
        ) {
          pressed.current = null;
          service.notebook?.startDrag(view, { clientX, clientY, row });
        }
      }}
      onPointerUp={() => {
        pressed.current = null;
      }}
    >
      {hasEnded(view) ? (
        <EndedRow view={view} isSelected={isSelected} />
      ) : (
        <ClusterRow view={view} isSelected={isSelected} />
      )}
    </li>
  );
}
