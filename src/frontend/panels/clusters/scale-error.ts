import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ClusterView } from '../../../protocol/index.js';
import { MusterError } from '../../../protocol/index.js';

/** A refused size: the row has gone back already; this says why. */
export function showScaleError(
  view: ClusterView,
  error: unknown,
  trans: TranslationBundle
): void {
  const said = error instanceof Error ? error.message : String(error);
  const hint = error instanceof MusterError ? error.hint : undefined;
  Notification.error(
    trans.__('%1 keeps its size: %2', view.name, said) +
      (hint === undefined ? '' : `\n${hint}`),
    { autoClose: 10_000 }
  );
}
