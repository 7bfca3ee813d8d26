import type { LabIcon } from '@jupyterlab/ui-components';

/** A button that shows an icon and says what it does: to readers and on hover. */
export function IconButton(props: {
  icon: LabIcon;
  label: string;
  onClick: (event: React.MouseEvent<HTMLButtonElement>) => void;
  disabled?: boolean;
  className?: string;
  pressed?: boolean;
}): React.JSX.Element {
  return (
    <button
      type="button"
      className={`jp-MusterIconButton ${props.className ?? ''}`}
      aria-label={props.label}
      title={props.label}
      disabled={props.disabled ?? false}
      {...(props.pressed === undefined
        ? {}
        : { 'aria-pressed': props.pressed })}
      onClick={event => {
        event.stopPropagation();
        props.onClick(event);
      }}
    >
      <props.icon.react tag="span" width="16px" height="16px" />
    </button>
  );
}
