import { CommandIDs } from '../../commands.js';
import { secondsSince, useNow } from '../../elements/clock.js';
import { Dot } from '../../elements/dot.js';
import { warningIcon } from '../../elements/icons.js';
import { useMuster } from '../../elements/muster-context.js';
import {
  ago,
  clusterTone,
  clusterWord,
  sentences
} from '../../elements/words.js';
import type { ClusterView } from '../../../protocol/index.js';

/** A cluster that is over: its cause, its log, and the way back. */
export function EndedRow(props: {
  view: ClusterView;
  isSelected: boolean;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { view } = props;
  const now = useNow(30_000);
  const hasFailed = view.phase === 'failed';
  const cause = view.reasons[0];
  const since = ago(secondsSince(view.stoppedAt ?? view.createdAt, now), trans);
  return (
    <>
      <div className="jp-MusterCluster-line">
        <Dot tone={clusterTone(view)} word={clusterWord(view, trans)} />
        <span className="jp-MusterCluster-name" title={view.name}>
          {view.name}
        </span>
        <span className="jp-MusterChip">{view.backend}</span>
        <span className="jp-MusterCluster-summary" title={since}>
          {hasFailed ? (
            clusterWord(view, trans)
          ) : (
            <>
              <span className="jp-mod-long">{since} · </span>
              <Action
                view={view}
                command={CommandIDs.startAgain}
                label={trans.__('Start again')}
              />
            </>
          )}
        </span>
      </div>
      {hasFailed || (props.isSelected && cause !== undefined) ? (
        <p className={`jp-MusterNote jp-type-${hasFailed ? 'error' : 'quiet'}`}>
          <warningIcon.react tag="span" width="16px" height="16px" />
          <span>
            {cause === undefined
              ? trans.__('It ended without giving a reason.')
              : sentences(cause.message, cause.hint)}{' '}
            <Action
              view={view}
              command={CommandIDs.showLogs}
              label={trans.__('Show log')}
            />
            {hasFailed ? (
              <>
                {' · '}
                <Action
                  view={view}
                  command={CommandIDs.startAgain}
                  label={trans.__('Retry')}
                />
              </>
            ) : null}
          </span>
        </p>
      ) : null}
      {props.isSelected ? (
        <p className="jp-MusterCluster-ended">
          {hasFailed || cause !== undefined ? null : (
            <>
              <Action
                view={view}
                command={CommandIDs.showLogs}
                label={trans.__('Show log')}
              />
              {' · '}
            </>
          )}
          <Action
            view={view}
            command={CommandIDs.forgetCluster}
            label={trans.__('Forget')}
          />
          {' · '}
          <Action
            view={view}
            command={CommandIDs.forgetEnded}
            label={trans.__('Forget ended')}
          />
        </p>
      ) : null}
    </>
  );
}

function Action(props: {
  view: ClusterView;
  command: string;
  label: string;
}): React.JSX.Element {
  const { commands } = useMuster();
  return (
    <button
      type="button"
      className="jp-MusterLink"
      onClick={event => {
        event.stopPropagation();
        void commands.execute(props.command, { cluster: props.view.id });
      }}
    >
      {props.label}
    </button>
  );
}
