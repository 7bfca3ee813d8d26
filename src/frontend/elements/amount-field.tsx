import { useEffect, useRef, useState } from 'react';
import type { Amount } from '../../protocol/index.js';
import { formatAmount, parseAmount } from './amount-text.js';

/**
 * A field for an amount in workers, cores or memory. What is not an amount is marked while typing
 * and never handed on; Enter or leaving the field hands on what is.
 */
export function AmountField(props: {
  label: string;
  amount: Amount;
  onChange: (amount: Amount) => void;
  /** What is wrong with an amount that can be read, or null. */
  problem?: (amount: Amount) => string | null;
  unreadable: string;
  step?: (direction: 1 | -1) => void;
}): React.JSX.Element {
  const shown = formatAmount(props.amount);
  const [text, setText] = useState(shown);
  const isEditing = useRef(false);
  useEffect(() => {
    if (!isEditing.current) {
      setText(shown);
    }
  }, [shown]);
  const parsed = parseAmount(text);
  const problem =
    parsed === null ? props.unreadable : (props.problem?.(parsed) ?? null);
  const commit = (): void => {
    isEditing.current = false;
    if (parsed === null || problem !== null) {
      setText(shown);
    } else if (formatAmount(parsed) !== shown) {
      props.onChange(parsed);
    } else {
      setText(shown);
    }
  };
  return (
    <input
      className={`jp-MusterField jp-MusterAmount ${problem === null ? '' : 'jp-mod-error'}`}
      type="text"
      inputMode="text"
      style={{ width: `calc(${Math.max(3, text.length)}ch + 12px)` }}
      aria-label={props.label}
      aria-invalid={problem !== null}
      title={problem ?? props.label}
      value={text}
      onClick={event => {
        event.stopPropagation();
      }}
      onFocus={event => {
        isEditing.current = true;
        event.currentTarget.select();
      }}
      onChange={event => {
        setText(event.currentTarget.value);
      }}
      onBlur={commit}
      onKeyDown={event => {
        event.stopPropagation();
        if (event.key === 'Enter') {
          commit();
        } else if (event.key === 'Escape') {
          isEditing.current = false;
          setText(shown);
        } else if (event.key === 'ArrowUp' && props.step !== undefined) {
          event.preventDefault();
          isEditing.current = false;
          props.step(1);
        } else if (event.key === 'ArrowDown' && props.step !== undefined) {
          event.preventDefault();
          isEditing.current = false;
          props.step(-1);
        }
      }}
    />
  );
}
