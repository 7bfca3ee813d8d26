import type { LabIcon } from '@jupyterlab/ui-components';

export type CardAction = {
  label: string;
  onClick: () => void;
  accent?: boolean;
};

/** What stands in place of a list that cannot be shown: why, and what to do about it. */
export function Card(props: {
  icon: LabIcon | 'spinner';
  title: string;
  text?: string;
  /** A command to copy, or the last words of a log; text only. */
  code?: string;
  actions?: readonly CardAction[];
  role?: 'status' | 'alert';
  children?: React.ReactNode;
}): React.JSX.Element {
  return (
    <section
      className="jp-MusterCard"
      role={props.role ?? 'status'}
      aria-label={props.title}
    >
      {props.icon === 'spinner' ? (
        <span className="jp-MusterSpinner" aria-hidden="true" />
      ) : (
        <props.icon.react
          tag="span"
          className="jp-MusterCard-icon"
          width="40px"
          height="40px"
        />
      )}
      <h3 className="jp-MusterCard-title">{props.title}</h3>
      {props.text === undefined ? null : (
        <p className="jp-MusterCard-text">{props.text}</p>
      )}
      {props.code === undefined || props.code === '' ? null : (
        <pre className="jp-MusterCard-code">{props.code}</pre>
      )}
      {props.children}
      {props.actions === undefined ? null : (
        <div className="jp-MusterCard-actions">
          {props.actions.map(action => (
            <button
              key={action.label}
              type="button"
              className={`jp-MusterButton ${action.accent === true ? 'jp-mod-accent' : ''}`}
              onClick={action.onClick}
            >
              {action.label}
            </button>
          ))}
        </div>
      )}
    </section>
  );
}
