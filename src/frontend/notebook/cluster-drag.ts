/** Dragging a cluster row into a notebook, console or editor: connect code falls out. */
import type { ICell } from '@jupyterlab/nbformat';
import { MimeData } from '@lumino/coreutils';
import { Drag } from '@lumino/dragdrop';

/** What notebooks take; editors and consoles take the plain text. */
export const CELL_MIME = 'application/vnd.jupyter.cells';

export type ClusterDragOptions = {
  name: string;
  /** The connect code; usually known already. */
  code: Promise<string>;
  /** Where the pointer is, in client coordinates. */
  clientX: number;
  clientY: number;
  /** What follows the pointer looks like this. */
  row: HTMLElement;
};

/**
 * Begin a Lumino drag. Call it when the pointer has left the row's threshold with the button down.
 * @returns whether the code was dropped somewhere; rejects where the code could not be had.
 */
export async function dragCluster(
  options: ClusterDragOptions
): Promise<boolean> {
  // The data must be there at the drop, so the drag begins when it is: some milliseconds late at
  // most. A pointer released meanwhile must not leave a drag hanging on it.
  const released = new AbortController();
  let pointer = { clientX: options.clientX, clientY: options.clientY };
  const { signal } = released;
  const end = (): void => {
    released.abort();
  };
  document.addEventListener('pointerup', end, { capture: true, signal });
  document.addEventListener('pointercancel', end, { capture: true, signal });
  document.addEventListener(
    'pointermove',
    event => {
      pointer = { clientX: event.clientX, clientY: event.clientY };
    },
    { capture: true, signal }
  );
  let code;
  try {
    code = await options.code;
    if (signal.aborted) {
      return false;
    }
  } finally {
    released.abort();
  }
  // eslint-disable-next-line jupyter/require-disposable-ownership -- disposed when it has ended, below
  const drag = new Drag({
    mimeData: clusterMimeData(code),
    dragImage: dragImage(options.row),
    supportedActions: 'copy',
    proposedAction: 'copy',
    source: null
  });
  try {
    const action = await drag.start(pointer.clientX, pointer.clientY);
    return action !== 'none';
  } finally {
    drag.dispose();
  }
}

export function clusterMimeData(code: string): MimeData {
  const data = new MimeData();
  const cell: ICell = {
    cell_type: 'code',
    source: code,
    metadata: { trusted: true },
    outputs: [],
    execution_count: null
  };
  data.setData(CELL_MIME, [cell]);
  data.setData('text/plain', code);
  return data;
}

function dragImage(row: HTMLElement): HTMLElement {
  const image = row.cloneNode(true) as HTMLElement;
  image.classList.add('jp-MusterDragImage');
  image.setAttribute('aria-hidden', 'true');
  image.style.width = `${row.offsetWidth}px`;
  return image;
}
