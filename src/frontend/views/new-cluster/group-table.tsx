/** The worker groups, a line each; what is wrong is said below its line, by name. */
import { addIcon, closeIcon } from '@jupyterlab/ui-components';
import { Fragment } from 'react';
import { IconButton } from '../../elements/icon-button.js';
import { useMuster } from '../../elements/muster-context.js';
import { Segmented } from '../../elements/segmented.js';
import { MAXIMUM_GROUPS } from '../../../protocol/index.js';
import type { DraftGroup, Problem } from './draft.js';
import { groupProblem } from './problem-words.js';

export function GroupTable(props: {
  groups: readonly DraftGroup[];
  problems: readonly Problem[];
  hasGpus: boolean;
  /** Workers share jobs here: how many do is worth asking. */
  hasJobs: boolean;
  onChange: (groups: DraftGroup[]) => void;
  onAdd: () => void;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { groups, problems, onChange, hasGpus, hasJobs } = props;
  return (
    <section aria-label={trans.__('Worker groups')}>
      <div className="jp-MusterNew-heading">
        <h3>{trans.__('Workers')}</h3>
        <button
          type="button"
          className="jp-MusterButton"
          disabled={groups.length >= MAXIMUM_GROUPS}
          onClick={props.onAdd}
        >
          <addIcon.react tag="span" width="14px" height="14px" />
          {trans.__('Add group')}
        </button>
      </div>
      <table className="jp-MusterNew-groups">
        <thead>
          <tr>
            <th scope="col">{trans.__('Group')}</th>
            <th scope="col">{trans.__('Cores')}</th>
            <th scope="col">{trans.__('Memory')}</th>
            {hasGpus ? <th scope="col">{trans.__('GPUs')}</th> : null}
            {hasJobs ? <th scope="col">{trans.__('Per job')}</th> : null}
            <th scope="col">{trans.__('Size')}</th>
            <th scope="col" aria-label={trans.__('Remove')} />
          </tr>
        </thead>
        <tbody>
          {groups.map((group, index) => (
            <GroupLine
              key={index}
              group={group}
              hasGpus={hasGpus}
              hasJobs={hasJobs}
              problems={ofGroup(problems, index)}
              onChange={changed => {
                onChange(
                  groups.map((one, at) => (at === index ? changed : one))
                );
              }}
              onRemove={
                groups.length > 1
                  ? () => {
                      onChange(groups.filter((_, at) => at !== index));
                    }
                  : null
              }
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ofGroup(problems: readonly Problem[], index: number): Problem[] {
  const prefix = `groups[${index}].`;
  return problems
    .filter(problem => problem.path.startsWith(prefix))
    .map(problem => ({
      path: problem.path.slice(prefix.length),
      message: problem.message
    }))
    .filter(problem => !problem.path.startsWith('options'));
}

function GroupLine(props: {
  group: DraftGroup;
  hasGpus: boolean;
  hasJobs: boolean;
  problems: readonly Problem[];
  onChange: (group: DraftGroup) => void;
  onRemove: (() => void) | null;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { group, onChange, problems } = props;
  const cell = (
    field: 'name' | 'cores' | 'memory' | 'gpus' | 'workersPerJob',
    path: string,
    label: string
  ): React.JSX.Element => (
    <td>
      <CellInput
        label={trans.__('%1 of group %2', label, group.name)}
        kind={field}
        value={group[field]}
        placeholder={field === 'memory' ? trans.__('no limit') : ''}
        isWrong={problems.some(problem => problem.path.startsWith(path))}
        onChange={value => {
          onChange({ ...group, [field]: value });
        }}
      />
    </td>
  );
  const amount = (
    field: 'fixed' | 'minimum' | 'maximum',
    label: string
  ): React.JSX.Element => (
    <CellInput
      label={trans.__('%1 of group %2', label, group.name)}
      kind="amount"
      value={group[field]}
      placeholder=""
      isWrong={problems.some(
        problem =>
          problem.path.startsWith('scale') &&
          (field === 'fixed' || problem.path.startsWith(`scale.${field}`))
      )}
      onChange={value => {
        onChange({ ...group, [field]: value });
      }}
    />
  );
  return (
    <Fragment>
      <tr>
        {cell('name', 'name', trans.__('Name'))}
        {cell('cores', 'worker.cores', trans.__('Cores'))}
        {cell('memory', 'worker.memory', trans.__('Memory'))}
        {props.hasGpus ? cell('gpus', 'worker.gpus', trans.__('GPUs')) : null}
        {props.hasJobs
          ? cell('workersPerJob', 'workersPerJob', trans.__('Workers per job'))
          : null}
        <td>
          <span className="jp-MusterNew-size">
            <Segmented
              label={trans.__(
                'How the size of group %1 is decided',
                group.name
              )}
              value={group.type}
              options={[
                { value: 'fixed', label: trans.__('Fixed') },
                { value: 'adaptive', label: trans.__('Adaptive') }
              ]}
              onChange={type => {
                onChange({ ...group, type });
              }}
            />
            {group.type === 'fixed' ? (
              <>
                {amount('fixed', trans.__('Size'))}
                {/^\s*\d+\s*$/.test(group.fixed) ? (
                  <span className="jp-MusterNew-note">
                    {trans._n('worker', 'workers', Number(group.fixed))}
                  </span>
                ) : null}
              </>
            ) : (
              <>
                {amount('minimum', trans.__('Minimum'))}
                <span aria-hidden="true">…</span>
                {amount('maximum', trans.__('Maximum'))}
              </>
            )}
          </span>
        </td>
        <td>
          {props.onRemove === null ? null : (
            <IconButton
              icon={closeIcon}
              label={trans.__('Remove group %1', group.name)}
              onClick={props.onRemove}
            />
          )}
        </td>
      </tr>
      {problems.length === 0 ? null : (
        <tr>
          <td colSpan={7}>
            <ul className="jp-MusterNew-problems" role="alert">
              {problems.map(problem => (
                <li key={problem.path + problem.message}>
                  {trans.__('%1: %2', group.name, groupProblem(problem, trans))}
                </li>
              ))}
            </ul>
          </td>
        </tr>
      )}
    </Fragment>
  );
}

function CellInput(props: {
  label: string;
  kind: string;
  value: string;
  placeholder: string;
  isWrong: boolean;
  onChange: (value: string) => void;
}): React.JSX.Element {
  return (
    <input
      className={`jp-MusterField jp-type-${props.kind} ${props.isWrong ? 'jp-mod-error' : ''}`}
      type="text"
      aria-label={props.label}
      aria-invalid={props.isWrong}
      placeholder={props.placeholder}
      value={props.value}
      onChange={event => {
        props.onChange(event.currentTarget.value);
      }}
    />
  );
}
