/** Commands on one cluster: every action of a row, callable from anywhere. */
import { textOf } from '../elements/text-of.js';
import { Clipboard, InputDialog, Notification } from '@jupyterlab/apputils';
import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { CommandIDs } from '../commands.js';
import { parseAmount } from '../elements/amount-text.js';
import { problemOf } from '../elements/scale-control.js';
import type { Muster } from '../elements/muster-context.js';
import { hasEnded } from '../model/cluster-order.js';
import type { ClusterView } from '../../protocol/index.js';
import { nameSchema } from '../../protocol/index.js';
import type { CommandTarget } from './command-target.js';
import { clusterArgs } from './command-target.js';
import { attempt } from './report.js';
import { askToStop } from './stop-question.js';

/** @returns the ids added, for the palette. */
export function addClusterCommands(
  muster: Muster,
  target: CommandTarget
): string[] {
  const { commands, model, client, service, trans } = muster;
  const ids: string[] = [];
  const add = (
    id: string,
    label: string,
    when: (view: ClusterView) => boolean,
    execute: (view: ClusterView, args: ReadonlyPartialJSONObject) => unknown,
    more: Partial<CommandRegistry.ICommandOptions> = {}
  ): void => {
    commands.addCommand(id, {
      label,
      isEnabled: args => {
        const view = target.of(args);
        return view !== null && when(view);
      },
      execute: args => {
        const view = target.of(args);
        return view === null ? undefined : execute(view, args);
      },
      describedBy: clusterArgs(trans),
      ...more
    });
    ids.push(id);
  };
  const any = (): boolean => true;
  const lives = (view: ClusterView): boolean => !hasEnded(view);

  add(CommandIDs.selectCluster, trans.__('Select Cluster'), any, view => {
    model.select(view.id);
  });
  add(
    CommandIDs.stopCluster,
    trans.__('Stop Cluster…'),
    view => view.phase !== 'stopped',
    async view => {
      if (hasEnded(view) || (await askToStop(view, trans))) {
        await attempt(
          model.stop(view.id),
          trans.__('%1 could not be stopped', view.name),
          trans
        );
      }
    }
  );
  add(
    CommandIDs.forceStop,
    trans.__('Force Stop Cluster…'),
    view => view.phase !== 'stopped',
    async view => {
      if (await askToStop(view, trans)) {
        await attempt(
          model.stop(view.id, { force: true }),
          trans.__('%1 could not be stopped', view.name),
          trans
        );
      }
    }
  );
  add(CommandIDs.restartCluster, trans.__('Restart Cluster'), lives, view =>
    attempt(
      client.restart(view.id).then(answer => {
        model.accept(answer);
      }),
      trans.__('%1 could not be restarted', view.name),
      trans
    )
  );
  add(CommandIDs.resumeCluster, trans.__('Try Submitting Again'), lives, view =>
    attempt(
      client.resume(view.id).then(answer => {
        model.accept(answer);
      }),
      trans.__('%1 could not go on', view.name),
      trans
    )
  );
  add(CommandIDs.startAgain, trans.__('Start Again'), hasEnded, view =>
    attempt(
      model.startAgain(view.id),
      trans.__('%1 could not be started again', view.name),
      trans
    )
  );
  add(CommandIDs.forgetCluster, trans.__('Forget Cluster'), hasEnded, view =>
    attempt(
      model.forget(view.id),
      trans.__('%1 could not be forgotten', view.name),
      trans
    )
  );
  add(
    CommandIDs.renameCluster,
    trans.__('Rename Cluster…'),
    lives,
    async view => {
      const { value } = await InputDialog.getText({
        title: trans.__('Rename cluster'),
        label: trans.__('Name'),
        text: view.name,
        pattern: '[a-z]([a-z0-9\\-]{0,38}[a-z0-9])?',
        okLabel: trans.__('Rename')
      });
      if (
        value === null ||
        value === view.name ||
        !nameSchema.safeParse(value).success
      ) {
        return;
      }
      await attempt(
        client.patch(view.id, { name: value }).then(answer => {
          model.accept(answer);
        }),
        trans.__('%1 keeps its name', view.name),
        trans
      );
    }
  );
  add(
    CommandIDs.scaleCluster,
    trans.__('Scale Cluster…'),
    view => view.phase === 'running' || view.phase === 'creating',
    (view, args) => scale(muster, view, args),
    {
      describedBy: clusterArgs(trans, {
        group: { type: 'string', description: trans.__('Worker group') },
        amount: {
          type: 'string',
          description: trans.__('How many: 8, 64 cores or 1 TB')
        }
      })
    }
  );
  add(CommandIDs.copyCode, trans.__('Copy Connect Code'), lives, async view => {
    const connection = await attempt(
      model.connection(view.id),
      trans.__('%1 cannot be connected to yet', view.name),
      trans
    );
    if (connection !== null) {
      Clipboard.copyToSystem(connection.snippets.python);
      Notification.success(trans.__('Connect code of %1 copied.', view.name), {
        autoClose: 2_000
      });
    }
  });
  add(
    CommandIDs.insertCode,
    trans.__('Insert Connect Code'),
    view => lives(view) && service.notebook?.canInsert === true,
    view => service.notebook?.insert(view)
  );
  return ids;
}

async function scale(
  muster: Muster,
  view: ClusterView,
  args: ReadonlyPartialJSONObject
): Promise<void> {
  const { model, trans } = muster;
  const name = args['group'] ?? view.groups[0]?.name;
  const group = view.groups.find(one => one.name === name);
  const shape = view.spec.groups.find(one => one.name === name);
  if (group === undefined || shape === undefined) {
    return;
  }
  const said =
    args['amount'] !== undefined
      ? textOf(args['amount'])
      : (
          await InputDialog.getText({
            title: trans.__('Scale “%1”', view.name),
            label: trans.__('Workers, cores or memory: 8, 64 cores, 1 TB'),
            text: String(group.target),
            okLabel: trans.__('Scale')
          })
        ).value;
  if (said === null) {
    return;
  }
  const amount = parseAmount(said);
  const wanted =
    amount === null ? null : ({ type: 'fixed', ...amount } as const);
  const problem =
    wanted === null
      ? trans.__('“%1” is no size. Write 8, 64 cores or 1 TB.', said)
      : problemOf(shape, wanted);
  if (wanted === null || problem !== null) {
    Notification.warning(
      trans.__('%1 keeps its size: %2', view.name, problem ?? said),
      { autoClose: 6_000 }
    );
    return;
  }
  await attempt(
    model.scale(view.id, group.name, wanted),
    trans.__('%1 keeps its size', view.name),
    trans
  );
}
