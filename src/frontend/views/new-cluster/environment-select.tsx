/** The interpreter the workers run: what it is, its versions, and why another cannot be used. */
import type { TranslationBundle } from '@jupyterlab/translation';
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

/**
 * A kernel and workers of different versions fail late and oddly (nebari-dev/nebari#1294): say so
 * before. @returns null where they agree, or the notebook's versions are not known.
 */
export function mismatch(
  environments: readonly EnvironmentView[],
  chosen: { kernelspec: string | null; python: string | null },
  notebook: string | null,
  trans: TranslationBundle
): string | null {
  const mine = environments.find(
    one => notebook !== null && one.kernelspec === notebook
  );
  const theirs = currentOf(environments, chosen);
  if (mine === undefined || theirs === undefined || mine === theirs) {
    return null;
  }
  const versions = (one: EnvironmentView): string =>
    trans.__(
      'Python %1, dask %2',
      one.pythonVersion ?? '?',
      one.distributed ?? one.dask ?? trans.__('none')
    );
  const [here, there] = [versions(mine), versions(theirs)];
  return here === there
    ? null
    : trans.__('This notebook has %1; the workers would have %2.', here, there);
}

function currentOf(
  environments: readonly EnvironmentView[],
  chosen: { kernelspec: string | null; python: string | null }
): EnvironmentView | undefined {
  return environments.find(
    one =>
      (chosen.kernelspec !== null && one.kernelspec === chosen.kernelspec) ||
      (chosen.kernelspec === null && one.python === chosen.python)
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
  const current = currentOf(environments, props);
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
