import { useContext, useEffect, useState } from 'react';
import { VisibleContext } from '../../elements/clock.js';
import { useMuster } from '../../elements/muster-context.js';
import type {
  ClusterId,
  MusterError,
  WorkerView
} from '../../../protocol/index.js';

/** Deltas come up to 20 times a second; a table is drawn again at most this often. */
const REDRAW_MS = 250;

export type FeedState = {
  workers: readonly WorkerView[];
  isLoaded: boolean;
  error: MusterError | null;
};

/** The workers of a cluster while the component is seen; hidden, the last known ones stay. */
export function useFeed(id: ClusterId): FeedState {
  const { model } = useMuster();
  const isVisible = useContext(VisibleContext);
  const [state, setState] = useState<FeedState>({
    workers: [],
    isLoaded: false,
    error: null
  });
  useEffect(() => {
    if (!isVisible) {
      return;
    }
    const feed = model.watchWorkers(id);
    let timer = 0;
    const onChanged = (): void => {
      if (timer === 0) {
        timer = window.setTimeout(() => {
          timer = 0;
          if (feed.isLoaded || feed.error !== null) {
            setState(old => ({
              workers: feed.isLoaded ? feed.workers : old.workers,
              isLoaded: feed.isLoaded || old.isLoaded,
              error: feed.error
            }));
          }
        }, REDRAW_MS);
      }
    };
    feed.changed.connect(onChanged);
    return () => {
      window.clearTimeout(timer);
      feed.changed.disconnect(onChanged);
      feed.dispose();
    };
  }, [model, id, isVisible]);
  return state;
}
