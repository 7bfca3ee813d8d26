/** What every component of ours may use; handed down once, never imported as a singleton. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import { createContext, useContext, useEffect, useReducer } from 'react';
import type { BridgeClient } from '../model/bridge-client.js';
import type { ClustersModel } from '../model/clusters-model.js';
import type { IMusterClusters } from '../tokens.js';

export type Muster = {
  model: ClustersModel;
  client: BridgeClient;
  /** The public service: the way to the notebook half. */
  service: IMusterClusters;
  commands: CommandRegistry;
  trans: TranslationBundle;
};

export const MusterContext = createContext<Muster | null>(null);

export function useMuster(): Muster {
  const muster = useContext(MusterContext);
  if (muster === null) {
    throw new Error('a Muster component outside MusterContext');
  }
  return muster;
}

/** Renders again whenever the clusters, the link or the selection change. */
export function useClusters(): ClustersModel {
  const { model } = useMuster();
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    model.changed.connect(again);
    return () => {
      model.changed.disconnect(again);
    };
  }, [model]);
  return model;
}
