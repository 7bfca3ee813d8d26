import { useId } from 'react';

export type FieldAttributes = {
  id: string;
  'aria-invalid': boolean;
  'aria-describedby': string;
};

/** A label, its field, a word beside it, and what is wrong with it below. */
export function FieldRow(props: {
  label: string;
  hint?: string;
  problem: string | null;
  children: (attributes: FieldAttributes) => React.ReactNode;
}): React.JSX.Element {
  const id = useId();
  const note = `${id}-note`;
  return (
    <div className="jp-MusterNew-row">
      <label htmlFor={id}>{props.label}</label>
      <div className="jp-MusterNew-value">
        {props.children({
          id,
          'aria-invalid': props.problem !== null,
          'aria-describedby': note
        })}
        <span id={note} className="jp-MusterNew-note">
          {props.problem !== null ? (
            <span className="jp-MusterNew-problem">{props.problem}</span>
          ) : (
            (props.hint ?? '')
          )}
        </span>
      </div>
    </div>
  );
}
