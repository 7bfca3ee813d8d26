import { CommandIDs } from '../../commands.js';
import { secondsSince, useNow } from '../../elements/clock.js';
import { Dot } from '../../elements/dot.js';
import { useMuster } from '../../elements/muster-context.js';
import { ScaleControl } from '../../elements/scale-control.js';
import { clusterTone, clusterWord } from '../../elements/words.js';
import { hasEnded } from '../../model/cluster-order.js';
import { showScaleError } from '../../panels/clusters/scale-error.js';
import type { ClusterView } from '../../../protocol/index.js';
import { formatDuration } from '../../../protocol/index.js';

/** Name, state, address, age, size; what is done most. */
export function Header(props: { view: ClusterView }): React.JSX.Element {
  const { trans, model, commands } = useMuster();
  const { view } = props;
  const now = useNow(hasEnded(view) ? 0 : 10_000);
  const { scheduler } = view;
  const queue = view.spec.groups[0]?.options['queue'];
  const isOver = hasEnded(view);
  const facts = [
    view.phase === 'running' ? '' : clusterWord(view, trans),
    scheduler.address ?? '',
    isOver
      ? ''
      : formatDuration(secondsSince(view.startedAt ?? view.createdAt, now)),
    scheduler.version === null ? '' : trans.__('dask %1', scheduler.version),
    isOver ? '' : trans._n('%1 client', '%1 clients', scheduler.clients)
  ].filter(fact => fact !== '');
  const only = view.groups.length === 1 ? view.groups[0] : undefined;
  const shape = view.spec.groups.find(group => group.name === only?.name);
  const run = (command: string): void => {
    void commands.execute(command, { cluster: view.id });
  };
  return (
    <header className="jp-MusterView-header">
      <Dot tone={clusterTone(view)} word={clusterWord(view, trans)} />
      <h2>{view.name}</h2>
      <span className="jp-MusterChip">
        {typeof queue === 'string'
          ? `${view.backend} · ${queue}`
          : view.backend}
      </span>
      <span className="jp-MusterView-facts" title={facts.join(' · ')}>
        {facts.join(' · ')}
      </span>
      {only === undefined || shape === undefined || isOver ? null : (
        <ScaleControl
          group={only}
          shape={shape}
          showName={false}
          onChange={scale => {
            model.scale(view.id, only.name, scale).catch((error: unknown) => {
              showScaleError(view, error, trans);
            });
          }}
        />
      )}
      {isOver ? (
        <>
          <HeaderButton
            label={trans.__('Start again')}
            onClick={() => {
              run(CommandIDs.startAgain);
            }}
          />
          <HeaderButton
            label={trans.__('Forget')}
            onClick={() => {
              run(CommandIDs.forgetCluster);
            }}
          />
        </>
      ) : (
        <>
          <HeaderButton
            label={trans.__('Connect…')}
            onClick={() => {
              run(CommandIDs.showConnection);
            }}
          />
          <HeaderButton
            label={trans.__('Stop')}
            onClick={() => {
              run(CommandIDs.stopCluster);
            }}
          />
        </>
      )}
    </header>
  );
}

function HeaderButton(props: {
  label: string;
  onClick: () => void;
}): React.JSX.Element {
  return (
    <button type="button" className="jp-MusterButton" onClick={props.onClick}>
      {props.label}
    </button>
  );
}
