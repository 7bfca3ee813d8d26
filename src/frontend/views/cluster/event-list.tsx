/** Events as lines; each opens to what the bridge knows of it: exit, reason, the log's last words. */
import { CommandIDs } from '../../commands.js';
import { useMuster } from '../../elements/muster-context.js';
import { textOf } from '../../elements/text-of.js';
import { eventWord } from '../../elements/words.js';
import type { ClusterEvent } from '../../../protocol/index.js';
import { AnsiReader } from '../logs/ansi.js';

export function EventList(props: {
  events: readonly ClusterEvent[];
}): React.JSX.Element {
  return (
    <ol className="jp-MusterEvents">
      {props.events.map(event => (
        <EventLine key={event.seq} event={event} />
      ))}
    </ol>
  );
}

function EventLine(props: { event: ClusterEvent }): React.JSX.Element {
  const { trans, commands } = useMuster();
  const { event } = props;
  const { data } = event;
  const tail = logTail(data);
  const facts = Object.entries(data).flatMap(([name, value]) =>
    INTERNAL.has(name) || value === null || value === ''
      ? []
      : [[name, factText(name, value)] as const]
  );
  const hasMore = tail !== '' || facts.length > 0 || event.worker !== undefined;
  const line = (
    <>
      <time dateTime={event.time} title={new Date(event.time).toLocaleString()}>
        {new Date(event.time).toLocaleTimeString()}
      </time>
      <span className={`jp-MusterEvents-kind jp-type-${event.severity}`}>
        {eventWord(event.kind, trans)}
      </span>
      <span className="jp-MusterEvents-message">{event.message}</span>
    </>
  );
  if (!hasMore) {
    return <li className="jp-MusterEvents-line">{line}</li>;
  }
  return (
    <li>
      <details open={event.severity === 'error' && tail !== ''}>
        <summary className="jp-MusterEvents-line">{line}</summary>
        <div className="jp-MusterEvents-more">
          {event.worker === undefined ? null : (
            <p>{trans.__('Worker %1', event.worker)}</p>
          )}
          {event.job === undefined ? null : (
            <p>{trans.__('Job %1', event.job)}</p>
          )}
          {event.worker === undefined && event.job === undefined ? null : (
            <p>
              <button
                type="button"
                className="jp-MusterLink"
                onClick={() => {
                  void commands.execute(CommandIDs.showLogs, {
                    cluster: event.cluster,
                    what: event.worker ?? event.job ?? ''
                  });
                }}
              >
                {trans.__('Show log')}
              </button>
            </p>
          )}
          {facts.map(([name, value]) => (
            <p key={name}>
              {name}: <code>{value}</code>
            </p>
          ))}
          {tail === '' ? null : <pre>{tail}</pre>}
        </div>
      </details>
    </li>
  );
}

/** What the bridge keeps for itself, or the line above says already. */
const INTERNAL = new Set([
  'log',
  'logTail',
  'message',
  'expected',
  'retryable',
  'neverConnected'
]);

function factText(name: string, value: unknown): string {
  if (name === 'exit' && typeof value === 'object' && value !== null) {
    const { code, signal } = value as { code?: unknown; signal?: unknown };
    return textOf(signal ?? code);
  }
  return textOf(value);
}

/** The log's last words as plain text: a foreign program wrote them. */
function logTail(data: Record<string, unknown>): string {
  const tail = data['logTail'] ?? data['log'];
  const text = Array.isArray(tail)
    ? tail.map(String).join('\n')
    : typeof tail === 'string'
      ? tail
      : '';
  return new AnsiReader()
    .read(text)
    .map(line => line.map(span => span.text).join(''))
    .join('\n')
    .trimEnd();
}
