/** How long it lives: idle, in any case, and when Jupyter stops. */
import { useMuster } from '../../elements/muster-context.js';
import { Segmented } from '../../elements/segmented.js';
import type { Draft } from './draft.js';
import { FieldRow } from './field-row.js';

export function Lifetime(props: {
  draft: Draft;
  problemAt: (...paths: string[]) => string | null;
  onChange: (part: Partial<Draft>) => void;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { draft, onChange, problemAt } = props;
  const field = (
    name: 'idleTimeout' | 'maximumAge',
    label: string
  ): React.JSX.Element => {
    const problem = problemAt(`lifetime.${name}`);
    return (
      <FieldRow label={label} problem={problem}>
        {attributes => (
          <>
            <span>{trans.__('stop after')}</span>
            <input
              {...attributes}
              className={`jp-MusterField jp-mod-short ${problem === null ? '' : 'jp-mod-error'}`}
              type="text"
              placeholder={trans.__('never')}
              value={draft[name]}
              onChange={event => {
                onChange({ [name]: event.currentTarget.value });
              }}
            />
          </>
        )}
      </FieldRow>
    );
  };
  return (
    <section aria-label={trans.__('Lifetime')}>
      <h3>{trans.__('Lifetime')}</h3>
      {field('idleTimeout', trans.__('When idle'))}
      {field('maximumAge', trans.__('In any case'))}
      <FieldRow
        label={trans.__('When Jupyter stops')}
        problem={problemAt('lifetime.onJupyterStop')}
      >
        {() => (
          <Segmented
            label={trans.__('What happens when Jupyter stops')}
            value={draft.onJupyterStop}
            options={[
              { value: 'keep', label: trans.__('Keep running') },
              { value: 'stop', label: trans.__('Stop too') }
            ]}
            onChange={onJupyterStop => {
              onChange({ onJupyterStop });
            }}
          />
        )}
      </FieldRow>
    </section>
  );
}
