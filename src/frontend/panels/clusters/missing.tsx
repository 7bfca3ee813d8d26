/** Why something is missing: never silent about it. */
import { useMuster } from '../../elements/muster-context.js';
import { sentences } from '../../elements/words.js';
import { waitIcon, warningIcon } from '../../elements/icons.js';
import { CommandIDs } from '../../commands.js';
import type {
  ClusterView,
  GroupView,
  HealthReason
} from '../../../protocol/index.js';
import type { TranslationBundle } from '@jupyterlab/translation';

/** Slurm's and others' words for waiting, as people say them; anything else stays as it is. */
function reasonWord(reason: string, trans: TranslationBundle): string {
  switch (reason) {
    case 'Resources':
      return trans.__('waiting for resources');
    case 'Priority':
      return trans.__('behind others in the queue');
    case 'JobHeldUser':
    case 'JobHeldAdmin':
      return trans.__('held');
    default:
      return reason;
  }
}

/** The queue the group asks for, under the name its backend has for it. */
function queueOf(view: ClusterView, group: string): string | null {
  const options = view.spec.groups.find(one => one.name === group)?.options;
  for (const key of ['queue', 'partition', 'namespace']) {
    const value = options?.[key];
    if (typeof value === 'string' && value !== '') {
      return value;
    }
  }
  return null;
}

const clockTime = (time: string): string =>
  new Date(time).toLocaleTimeString(undefined, {
    hour: '2-digit',
    minute: '2-digit'
  });

function Waiting(props: {
  view: ClusterView;
  group: GroupView;
}): React.JSX.Element | null {
  const { trans } = useMuster();
  const { group, view } = props;
  const { counts } = group;
  const parts: string[] = [];
  if (counts.queued > 0) {
    parts.push(trans._n('%1 queued', '%1 queued', counts.queued));
  }
  if (counts.starting > 0) {
    parts.push(trans._n('%1 starting', '%1 starting', counts.starting));
  }
  if (counts.requested > 0) {
    parts.push(trans._n('%1 requested', '%1 requested', counts.requested));
  }
  if (counts.uncertain > 0) {
    parts.push(trans._n('%1 uncertain', '%1 uncertain', counts.uncertain));
  }
  if (parts.length === 0) {
    return null;
  }
  const queue = queueOf(view, group.name);
  const why = group.pendingReasons.map(one => {
    const word = reasonWord(one.reason, trans);
    return one.estimatedStart === undefined
      ? word
      : trans.__('%1, expected %2', word, clockTime(one.estimatedStart));
  });
  return (
    <p className="jp-MusterNote jp-type-warn">
      <waitIcon.react tag="span" width="16px" height="16px" />
      <span>
        {parts.join(', ')}
        {queue !== null && counts.queued > 0 ? (
          <>
            {' '}
            {trans.__('on')} <b>{queue}</b>
          </>
        ) : null}
        {why.length === 0 ? null : `: ${why.join('; ')}`}
      </span>
    </p>
  );
}

function Reason(props: {
  view: ClusterView;
  reason: HealthReason;
}): React.JSX.Element {
  const { trans, commands } = useMuster();
  const { reason, view } = props;
  const isResumable =
    reason.code === 'group-failing' || reason.code === 'submit-failed';
  return (
    <p
      className={`jp-MusterNote jp-type-${view.health === 'unreachable' ? 'error' : 'warn'}`}
    >
      <warningIcon.react tag="span" width="16px" height="16px" />
      <span>
        {sentences(reason.message, reason.hint)}{' '}
        <button
          type="button"
          className="jp-MusterLink"
          onClick={event => {
            event.stopPropagation();
            void commands.execute(CommandIDs.openCluster, {
              cluster: view.id,
              tab: 'events'
            });
          }}
        >
          {trans.__('Details')}
        </button>
        {isResumable ? (
          <>
            {' · '}
            <button
              type="button"
              className="jp-MusterLink"
              onClick={event => {
                event.stopPropagation();
                void commands.execute(CommandIDs.resumeCluster, {
                  cluster: view.id
                });
              }}
            >
              {trans.__('Try again now')}
            </button>
          </>
        ) : null}
      </span>
    </p>
  );
}

/** Two lines at most while folded; all of them in the selected row. */
export function Missing(props: {
  view: ClusterView;
  all: boolean;
}): React.JSX.Element | null {
  const { view } = props;
  return (
    <>
      {view.groups.map(group => (
        <Waiting key={group.name} view={view} group={group} />
      ))}
      {view.reasons.slice(0, props.all ? undefined : 1).map(reason => (
        <Reason key={reason.code + reason.since} view={view} reason={reason} />
      ))}
    </>
  );
}
