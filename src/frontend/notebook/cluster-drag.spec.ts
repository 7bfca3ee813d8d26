/** Dragging a row: what falls out, and what happens when the pointer is let go early. */
import { describe, expect, it } from '@jest/globals';
import { CELL_MIME, clusterMimeData, dragCluster } from './cluster-drag.js';

const pointer = (type: string, init: MouseEventInit = {}): MouseEvent => {
  const event = new MouseEvent(type, {
    bubbles: true,
    cancelable: true,
    ...init
  });
  Object.defineProperty(event, 'pointerId', { value: 1 });
  return event;
};

const options = (code: Promise<string>) => ({
  name: 'analysis',
  code,
  clientX: 1,
  clientY: 1,
  row: document.createElement('li')
});

describe('a dragged cluster', () => {
  it('is one code cell for notebooks and text for everything else', () => {
    const data = clusterMimeData('client = 1');
    expect(data.getData(CELL_MIME)).toEqual([
      {
        cell_type: 'code',
        source: 'client = 1',
        metadata: { trusted: true },
        outputs: [],
        execution_count: null
      }
    ]);
    expect(data.getData('text/plain')).toBe('client = 1');
  });

  it('does not hang on a pointer that was released before the code was there', async () => {
    let give: (code: string) => void = () => undefined;
    const dropped = dragCluster(
      options(
        new Promise(resolve => {
          give = resolve;
        })
      )
    );
    document.dispatchEvent(pointer('pointerup'));
    give('client = 1');
    expect(await dropped).toBe(false);
    expect(document.querySelector('.jp-MusterDragImage')).toBeNull();
  });

  it('ends without a trace where the code cannot be had', async () => {
    await expect(
      dragCluster(options(Promise.reject(new Error('no scheduler'))))
    ).rejects.toThrow('no scheduler');
    expect(document.querySelector('.lm-mod-drag-image')).toBeNull();
  });
});
