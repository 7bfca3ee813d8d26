import { Clipboard } from '@jupyterlab/apputils';
import { attempt } from '../../actions/report.js';
import { CommandIDs } from '../../commands.js';
import { useMuster } from '../../elements/muster-context.js';
import { ScaleControl } from '../../elements/scale-control.js';
import { Segmented } from '../../elements/segmented.js';
import { hasEnded } from '../../model/cluster-order.js';
import { showScaleError } from '../../panels/clusters/scale-error.js';
import type { ClusterPatch, ClusterView } from '../../../protocol/index.js';
import { DurationField } from './duration-field.js';
import { yamlOf } from './spec-yaml.js';

/** What was asked for, every default filled; size and lifetime can be changed here. */
export function Spec(props: { view: ClusterView }): React.JSX.Element {
  const { trans, commands, model, client } = useMuster();
  const { view } = props;
  const yaml = yamlOf(view.spec) + '\n';
  const { lifetime } = view.spec;
  const isOver = hasEnded(view);
  const change = (part: NonNullable<ClusterPatch['lifetime']>): void => {
    void attempt(
      client.patch(view.id, { lifetime: part }).then(answer => {
        model.accept(answer);
      }),
      trans.__('%1 keeps its lifetime', view.name),
      trans
    );
  };
  return (
    <div className="jp-MusterView-scroll">
      <div className="jp-MusterView-bar">
        <button
          type="button"
          className="jp-MusterButton"
          onClick={() => {
            Clipboard.copyToSystem(yaml);
          }}
        >
          {trans.__('Copy YAML')}
        </button>
        <button
          type="button"
          className="jp-MusterButton"
          onClick={() => {
            void commands.execute(CommandIDs.newCluster, { from: view.id });
          }}
        >
          {trans.__('Duplicate…')}
        </button>
      </div>
      {isOver ? null : (
        <div className="jp-MusterSpec-edit">
          <h3>{trans.__('Size')}</h3>
          {view.groups.map(group => {
            const shape = view.spec.groups.find(one => one.name === group.name);
            return shape === undefined ? null : (
              <ScaleControl
                key={group.name}
                group={group}
                shape={shape}
                showName={view.groups.length > 1}
                onChange={scale => {
                  model
                    .scale(view.id, group.name, scale)
                    .catch((error: unknown) => {
                      showScaleError(view, error, trans);
                    });
                }}
              />
            );
          })}
          <h3>{trans.__('Lifetime')}</h3>
          <div className="jp-MusterSpec-lifetime">
            <label>
              {trans.__('When idle, stop after')}{' '}
              <DurationField
                label={trans.__('Idle time after which the cluster stops')}
                seconds={lifetime.idleTimeout}
                onChange={idleTimeout => {
                  change({ idleTimeout });
                }}
              />
            </label>
            <label>
              {trans.__('In any case, stop after')}{' '}
              <DurationField
                label={trans.__('Age at which the cluster stops')}
                seconds={lifetime.maximumAge}
                onChange={maximumAge => {
                  change({ maximumAge });
                }}
              />
            </label>
            <Segmented
              label={trans.__('What happens when Jupyter stops')}
              value={lifetime.onJupyterStop}
              options={[
                { value: 'keep', label: trans.__('Keep running') },
                { value: 'stop', label: trans.__('Stop too') }
              ]}
              onChange={onJupyterStop => {
                change({ onJupyterStop });
              }}
            />
          </div>
        </div>
      )}
      <pre className="jp-MusterSpec-yaml" tabIndex={0}>
        {yaml}
      </pre>
    </div>
  );
}
