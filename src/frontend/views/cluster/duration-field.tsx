import { useEffect, useState } from 'react';
import { useMuster } from '../../elements/muster-context.js';
import { formatDuration, parseDuration } from '../../../protocol/index.js';

/** A duration as people write it; empty: never. Handed on by Enter or leaving, if it can be read. */
export function DurationField(props: {
  label: string;
  seconds: number | null;
  onChange: (seconds: number | null) => void;
}): React.JSX.Element {
  const { trans } = useMuster();
  const shown =
    props.seconds === null
      ? ''
      : formatDuration(props.seconds).replaceAll('min', 'm');
  const [text, setText] = useState(shown);
  useEffect(() => {
    setText(shown);
  }, [shown]);
  const parsed = text.trim() === '' ? null : parseDuration(text);
  const isWrong = text.trim() !== '' && (parsed === null || !(parsed >= 1));
  const commit = (): void => {
    if (isWrong) {
      setText(shown);
    } else if (text !== shown && parsed !== props.seconds) {
      props.onChange(parsed);
    } else {
      setText(shown);
    }
  };
  return (
    <input
      className={`jp-MusterField jp-mod-short ${isWrong ? 'jp-mod-error' : ''}`}
      type="text"
      aria-label={props.label}
      aria-invalid={isWrong}
      title={isWrong ? trans.__('Write 90s, 2h30m or 2:30:00.') : props.label}
      placeholder={trans.__('never')}
      value={text}
      onChange={event => {
        setText(event.currentTarget.value);
      }}
      onBlur={commit}
      onKeyDown={event => {
        if (event.key === 'Enter') {
          commit();
        }
      }}
    />
  );
}
