/** One of two or three, all of them visible; arrow keys move, as in any group of radio buttons. */
export function Segmented<T extends string>(props: {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
  disabled?: boolean;
}): React.JSX.Element {
  const move = (event: React.KeyboardEvent<HTMLElement>): void => {
    const step =
      event.key === 'ArrowRight' || event.key === 'ArrowDown'
        ? 1
        : event.key === 'ArrowLeft' || event.key === 'ArrowUp'
          ? -1
          : 0;
    if (step === 0) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    const count = props.options.length;
    const at = props.options.findIndex(option => option.value === props.value);
    const next = props.options[(at + step + count) % count];
    if (next !== undefined) {
      props.onChange(next.value);
      const buttons = event.currentTarget.querySelectorAll('button');
      buttons[(at + step + count) % count]?.focus();
    }
  };
  return (
    <span
      className="jp-MusterSegmented"
      role="radiogroup"
      aria-label={props.label}
      onKeyDown={move}
    >
      {props.options.map(option => (
        <button
          key={option.value}
          type="button"
          role="radio"
          aria-checked={option.value === props.value}
          tabIndex={option.value === props.value ? 0 : -1}
          disabled={props.disabled ?? false}
          onClick={event => {
            event.stopPropagation();
            if (option.value !== props.value) {
              props.onChange(option.value);
            }
          }}
        >
          {option.label}
        </button>
      ))}
    </span>
  );
}
