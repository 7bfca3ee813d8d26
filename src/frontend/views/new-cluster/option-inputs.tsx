/** The form made from a backend's schema: required and common first, the rest folded. */
import { textOf } from '../../elements/text-of.js';
import { useState } from 'react';
import { useMuster } from '../../elements/muster-context.js';
import type { OptionField } from './option-schema.js';
import { FieldRow } from './field-row.js';

type Props = {
  fields: readonly OptionField[];
  values: Record<string, unknown>;
  problemAt: (path: string) => string | null;
  onChange: (name: string, value: unknown) => void;
};

export function OptionInputs(props: Props): React.JSX.Element | null {
  const { trans } = useMuster();
  const { fields } = props;
  const first = fields.filter(field => field.isRequired || field.isCommon);
  const more = fields.filter(field => !first.includes(field));
  if (fields.length === 0) {
    return null;
  }
  const row = (field: OptionField): React.JSX.Element => (
    <FieldRow
      key={field.name}
      label={field.title + (field.isRequired ? ' *' : '')}
      hint={field.kind === 'boolean' ? '' : field.description}
      problem={props.problemAt(field.name)}
    >
      {attributes => (
        <OptionInput
          field={field}
          value={props.values[field.name]}
          attributes={attributes}
          onChange={value => {
            props.onChange(field.name, value);
          }}
        />
      )}
    </FieldRow>
  );
  return (
    <>
      {first.map(row)}
      {more.length === 0 ? null : (
        <details
          className="jp-MusterNew-more"
          open={
            first.length === 0 ||
            more.some(field => props.problemAt(field.name) !== null)
          }
        >
          <summary>
            {trans.__(
              'More: %1',
              more
                .slice(0, 6)
                .map(field => field.title)
                .join(', ') + (more.length > 6 ? ', …' : '')
            )}
          </summary>
          {more.map(row)}
        </details>
      )}
    </>
  );
}

function OptionInput(props: {
  field: OptionField;
  value: unknown;
  attributes: {
    id: string;
    'aria-invalid': boolean;
    'aria-describedby': string;
  };
  onChange: (value: unknown) => void;
}): React.JSX.Element {
  const { field, value, onChange, attributes } = props;
  const { trans } = useMuster();
  const [json, setJson] = useState(() =>
    value === undefined ? '' : JSON.stringify(value)
  );
  const error = attributes['aria-invalid'] ? 'jp-mod-error' : '';
  switch (field.kind) {
    case 'boolean':
      return (
        <label className="jp-MusterNew-check">
          <input
            {...attributes}
            type="checkbox"
            checked={value === true}
            onChange={event => {
              onChange(event.currentTarget.checked);
            }}
          />
          {field.description === '' ? trans.__('Yes') : field.description}
        </label>
      );
    case 'choice':
      return (
        <select
          {...attributes}
          className={`jp-MusterField ${error}`}
          value={field.choices.findIndex(choice => choice.value === value)}
          onChange={event => {
            onChange(field.choices[Number(event.currentTarget.value)]?.value);
          }}
        >
          <option value={-1}>
            {field.placeholder === '' ? trans.__('Default') : field.placeholder}
          </option>
          {field.choices.map((choice, index) => (
            <option key={choice.label} value={index}>
              {choice.label}
            </option>
          ))}
        </select>
      );
    case 'lines':
      return (
        <textarea
          {...attributes}
          className={`jp-MusterField ${error}`}
          rows={Math.min(
            6,
            Math.max(2, (value as string[] | undefined)?.length ?? 0)
          )}
          placeholder={trans.__('One a line')}
          value={Array.isArray(value) ? value.join('\n') : ''}
          onChange={event => {
            const { value: typed } = event.currentTarget;
            onChange(typed === '' ? undefined : typed.split('\n'));
          }}
        />
      );
    case 'json':
      return (
        <textarea
          {...attributes}
          className={`jp-MusterField jp-MusterNew-json ${error}`}
          rows={2}
          placeholder="{ }"
          value={json}
          onChange={event => {
            const typed = event.currentTarget.value;
            setJson(typed);
            try {
              onChange(typed.trim() === '' ? undefined : JSON.parse(typed));
            } catch {
              onChange(typed); // half typed: the server's schema would refuse a text, and so it is sent
            }
          }}
        />
      );
    case 'number':
      return (
        <input
          {...attributes}
          className={`jp-MusterField jp-mod-short ${error}`}
          type="text"
          inputMode="numeric"
          placeholder={field.placeholder}
          value={textOf(value)}
          onChange={event => {
            const typed = event.currentTarget.value;
            const number = Number(typed);
            onChange(
              typed.trim() === ''
                ? undefined
                : Number.isFinite(number)
                  ? number
                  : typed
            );
          }}
        />
      );
    case 'text':
      return (
        <input
          {...attributes}
          className={`jp-MusterField ${error}`}
          type="text"
          placeholder={field.placeholder}
          value={textOf(value)}
          onChange={event => {
            const typed = event.currentTarget.value;
            onChange(typed === '' ? undefined : typed);
          }}
        />
      );
  }
}
