import { useState } from 'react';
import { useMuster } from '../../elements/muster-context.js';
import { eventWord } from '../../elements/words.js';
import type { EventKind } from '../../../protocol/index.js';
import { EventList } from './event-list.js';
import type { Timeline } from './timeline.js';

/** Lines drawn at once; "Show more" draws as many again. */
const STEP = 300;

/** The timeline, newest first. */
export function Events(props: { timeline: Timeline }): React.JSX.Element {
  const { trans } = useMuster();
  const { events, error } = props.timeline;
  const [kind, setKind] = useState<EventKind | ''>('');
  const [filter, setFilter] = useState('');
  const [count, setCount] = useState(STEP);
  const kinds = [...new Set(events.map(event => event.kind))].sort();
  const wanted = filter.trim().toLowerCase();
  const shown = events
    .filter(
      event =>
        (kind === '' || event.kind === kind) &&
        (wanted === '' ||
          `${event.message} ${event.worker ?? ''} ${event.job ?? ''}`
            .toLowerCase()
            .includes(wanted))
    )
    .reverse();
  return (
    <div className="jp-MusterView-scroll">
      <div className="jp-MusterView-bar">
        <input
          className="jp-MusterField"
          type="search"
          placeholder={trans.__('Filter by words')}
          aria-label={trans.__('Filter events by words')}
          value={filter}
          onChange={event => {
            setFilter(event.currentTarget.value);
          }}
        />
        <select
          className="jp-MusterField"
          aria-label={trans.__('Kind of event')}
          value={kind}
          onChange={event => {
            setKind(event.currentTarget.value as EventKind | '');
          }}
        >
          <option value="">{trans.__('all kinds')}</option>
          {kinds.map(one => (
            <option key={one} value={one}>
              {eventWord(one, trans)}
            </option>
          ))}
        </select>
        <span className="jp-MusterView-count">
          {trans._n('%1 event', '%1 events', shown.length)}
        </span>
      </div>
      {error === null ? null : (
        <p className="jp-MusterHint" role="status">
          {trans.__('The events cannot be read: %1', error)}
        </p>
      )}
      <EventList events={shown.slice(0, count)} />
      {shown.length > count ? (
        <button
          type="button"
          className="jp-MusterButton"
          onClick={() => {
            setCount(count + STEP);
          }}
        >
          {trans.__('Show more')}
        </button>
      ) : null}
    </div>
  );
}
