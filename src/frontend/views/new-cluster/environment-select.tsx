/** The interpreter the workers run: what it is, its versions, and why another cannot be used. */
import { useMuster } from '../../elements/muster-context.js';
import type { EnvironmentView } from '../../../protocol/index.js';
import type { FieldAttributes } from './field-row.js';

const keyOf = (one: EnvironmentView): string =>
  one.kernelspec === null ? `path:${one.python}` : `spec:${one.kernelspec}`;

/** The active notebook's, else the first that can be used. */
export function preferred(
  environments: readonly EnvironmentView[],
  kernelspec: string | null
): EnvironmentView | undefined {
  return (
    environments.find(
      one => one.kernelspec !== null && one.kernelspec === kernelspec
    ) ?? environments.find(one => one.usable)
  );
}

export function EnvironmentSelect(props: {
  environments: readonly EnvironmentView[];
  kernelspec: string | null;
  python: string | null;
  /** Of the active notebook. */
  notebook: string | null;
  attributes: FieldAttributes;
  onChoose: (chosen: EnvironmentView) => void;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { environments } = props;
  const describe = (one: EnvironmentView): string =>
    [
      one.displayName ?? one.name,
      one.pythonVersion === null
        ? ''
        : trans.__('Python %1', one.pythonVersion),
      one.dask === null ? '' : trans.__('dask %1', one.dask),
      one.kernelspec !== null && one.kernelspec === props.notebook
        ? trans.__('this notebook')
        : '',
      one.usable ? '' : (one.whyNot ?? trans.__('cannot be used'))
    ]
      .filter(part => part !== '')
      .join(' · ');
  const current = environments.find(
    one =>
      (props.kernelspec !== null && one.kernelspec === props.kernelspec) ||
      (props.kernelspec === null && one.python === props.python)
  );
  return (
    <select
      {...props.attributes}
      className="jp-MusterField"
      value={current === undefined ? '' : keyOf(current)}
      onChange={event => {
        const chosen = environments.find(
          one => keyOf(one) === event.currentTarget.value
        );
        if (chosen !== undefined) {
          props.onChoose(chosen);
        }
      }}
    >
      {current === undefined ? (
        <option value="">
          {props.kernelspec ?? props.python ?? trans.__('The default one')}
        </option>
      ) : null}
      {environments.map(one => (
        <option key={keyOf(one)} value={keyOf(one)} disabled={!one.usable}>
          {describe(one)}
        </option>
      ))}
    </select>
  );
}
