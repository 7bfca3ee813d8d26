/** The selected cluster survives a reload; one that is gone is never kept (peer row W12). */
import type { IStateDB } from '@jupyterlab/statedb';
import type { ClusterId } from '../../protocol/index.js';
import type { IClustersModel } from '../tokens.js';

const KEY = 'jupyterlab-muster:selected';

export async function keepSelection(
  model: IClustersModel,
  state: IStateDB
): Promise<void> {
  const kept = await state.fetch(KEY).catch(() => undefined);
  let saved: string | null = typeof kept === 'string' ? kept : null;
  await model.ready;
  if (model.selected === null && saved !== null && model.get(saved)) {
    model.select(saved as ClusterId);
  }
  const save = (): void => {
    const { selected } = model;
    if (selected === saved) {
      return;
    }
    saved = selected;
    void (selected === null ? state.remove(KEY) : state.save(KEY, selected));
  };
  model.changed.connect(save);
  save();
}
