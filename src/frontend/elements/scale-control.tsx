import { addIcon } from '@jupyterlab/ui-components';
import type { GroupView, Scale, WorkerGroup } from '../../protocol/index.js';
import { scaleProblem, scaleSchema, workersFor } from '../../protocol/index.js';
import { AmountField } from './amount-field.js';
import { addTo, stepOf } from './amount-text.js';
import { useMuster } from './muster-context.js';
import { Segmented } from './segmented.js';

/** What is wrong with this size for workers of this shape, or null. */
export function problemOf(group: WorkerGroup, scale: Scale): string | null {
  const parsed = scaleSchema.safeParse(scale);
  if (!parsed.success) {
    return parsed.error.issues[0]?.message ?? null;
  }
  return scaleProblem({ ...group, scale: parsed.data })?.message ?? null;
}

/** The same wish in the other manner: nothing jumps when the switch is thrown. */
export function switchScale(
  scale: Scale,
  type: Scale['type'],
  target: number
): Scale {
  if (scale.type === type) {
    return scale;
  }
  if (scale.type === 'fixed') {
    const { type: _, ...amount } = scale;
    return {
      type: 'adaptive',
      minimum: { workers: 0 },
      maximum: amount
    };
  }
  // Adaptive and idle is often 0: a fixed 0 would let the next computation wait for ever.
  return { type: 'fixed', workers: Math.max(1, target) };
}

/** `[−] 8 [+]` or `0 … 1 TB`, and the switch between fixed and adaptive. */
export function ScaleControl(props: {
  group: GroupView;
  shape: WorkerGroup;
  /** Only where there are several groups. */
  showName: boolean;
  onChange: (scale: Scale) => void;
  disabled?: boolean;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { group, shape, onChange } = props;
  const { scale } = group;
  const unreadable = trans.__('Write 8, 64 cores or 1 TB.');
  const disabled = props.disabled ?? false;
  return (
    <span
      className="jp-MusterScale"
      role="group"
      aria-label={trans.__('Size of %1', group.name)}
    >
      {props.showName ? (
        <span className="jp-MusterScale-name" title={group.name}>
          {group.name}
        </span>
      ) : null}
      {scale.type === 'fixed' ? (
        <FixedControl
          {...{ group, shape, scale, onChange, unreadable, disabled }}
        />
      ) : (
        <span className="jp-MusterRange">
          <AmountField
            label={trans.__('Minimum size')}
            amount={scale.minimum}
            unreadable={unreadable}
            problem={minimum => problemOf(shape, { ...scale, minimum })}
            onChange={minimum => {
              onChange({ ...scale, minimum });
            }}
          />
          <span aria-hidden="true">…</span>
          <AmountField
            label={trans.__('Maximum size')}
            amount={scale.maximum}
            unreadable={unreadable}
            problem={maximum => problemOf(shape, { ...scale, maximum })}
            onChange={maximum => {
              onChange({ ...scale, maximum });
            }}
          />
        </span>
      )}
      <Segmented
        label={trans.__('How the size is decided')}
        value={scale.type}
        disabled={disabled}
        options={[
          { value: 'fixed', label: trans.__('Fixed') },
          { value: 'adaptive', label: trans.__('Adaptive') }
        ]}
        onChange={type => {
          onChange(switchScale(scale, type, group.target));
        }}
      />
    </span>
  );
}

function FixedControl(props: {
  group: GroupView;
  shape: WorkerGroup;
  scale: Extract<Scale, { type: 'fixed' }>;
  onChange: (scale: Scale) => void;
  unreadable: string;
  disabled: boolean;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { scale, shape, onChange } = props;
  const { type, ...amount } = scale;
  const step = (direction: 1 | -1): void => {
    const next = addTo(
      amount,
      direction * stepOf(amount, shape.worker, shape.workersPerJob)
    );
    const wanted: Scale = { type, ...next };
    if (problemOf(shape, wanted) === null) {
      onChange(wanted);
    }
  };
  const isEmpty =
    workersFor(amount, shape.worker, 'up') === 0 ||
    Object.values(amount)[0] === 0;
  return (
    <span className="jp-MusterStepper">
      <button
        type="button"
        aria-label={trans.__('Fewer workers')}
        title={trans.__('Fewer workers')}
        disabled={props.disabled || isEmpty}
        onClick={event => {
          event.stopPropagation();
          step(-1);
        }}
      >
        <span className="jp-MusterStepper-minus" aria-hidden="true" />
      </button>
      <AmountField
        label={trans.__('Size: workers, cores or memory')}
        amount={amount}
        unreadable={props.unreadable}
        problem={value => problemOf(shape, { type, ...value })}
        onChange={value => {
          onChange({ type, ...value });
        }}
        step={step}
      />
      <button
        type="button"
        aria-label={trans.__('More workers')}
        title={trans.__('More workers')}
        disabled={props.disabled}
        onClick={event => {
          event.stopPropagation();
          step(1);
        }}
      >
        <addIcon.react tag="span" width="14px" height="14px" />
      </button>
    </span>
  );
}
