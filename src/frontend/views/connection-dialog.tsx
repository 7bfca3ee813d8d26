/** How to connect: address, Python code, environment variables; to copy or to insert. */
import { Clipboard, Dialog } from '@jupyterlab/apputils';
import { copyIcon, ReactWidget } from '@jupyterlab/ui-components';
import { attempt } from '../actions/report.js';
import { CommandIDs } from '../commands.js';
import { IconButton } from '../elements/icon-button.js';
import type { Muster } from '../elements/muster-context.js';
import type { ClusterView } from '../../protocol/index.js';

export async function openConnectionDialog(
  muster: Muster,
  view: ClusterView
): Promise<void> {
  const { model, service, commands, trans } = muster;
  const connection = await attempt(
    model.connection(view.id),
    trans.__('%1 cannot be connected to yet', view.name),
    trans
  );
  if (connection === null) {
    return;
  }
  const part = (title: string, text: string): React.JSX.Element => (
    <section>
      <h4>
        {title}
        <IconButton
          icon={copyIcon}
          label={trans.__('Copy')}
          onClick={() => {
            Clipboard.copyToSystem(text);
          }}
        />
      </h4>
      <pre>{text}</pre>
    </section>
  );
  const body = ReactWidget.create(
    <div className="jp-MusterConnection">
      {part(trans.__('Address'), connection.address)}
      {part(trans.__('Python'), connection.snippets.python)}
      {part(trans.__('Shell'), connection.snippets.env)}
    </div>
  );
  const canInsert = service.notebook?.canInsert === true;
  const dialog = new Dialog({
    title: trans.__('Connect to %1', view.name),
    body,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Close') }),
      ...(canInsert
        ? [Dialog.okButton({ label: trans.__('Insert in Notebook') })]
        : [])
    ]
  });
  const result = await dialog.launch();
  if (result.button.accept) {
    await commands.execute(CommandIDs.insertCode, { cluster: view.id });
  }
}
