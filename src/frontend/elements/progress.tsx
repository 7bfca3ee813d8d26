/** How much of what was asked for is there: connected solid, on its way striped, the rest empty. */
export function Progress(props: {
  label: string;
  connected: number;
  pending: number;
  whole: number;
}): React.JSX.Element {
  const whole = Math.max(props.whole, props.connected + props.pending, 1);
  const percent = (part: number): string =>
    `${((part / whole) * 100).toFixed(2)}%`;
  return (
    <span
      className="jp-MusterProgress"
      role="progressbar"
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={whole}
      aria-valuenow={props.connected}
    >
      <span
        className="jp-MusterProgress-connected"
        style={{ width: percent(props.connected) }}
      />
      <span
        className="jp-MusterProgress-pending"
        style={{ width: percent(props.pending) }}
      />
    </span>
  );
}
