/** The ids of the commands; all are in the palette under "Clusters" and take `{cluster?: id or name}`. */
export namespace CommandIDs {
  /** Opens the dialog; args `{backend?, profile?, from?: id}`; resolves to the ClusterView or null. */
  export const newCluster = 'muster:new-cluster';
  /** Starts at once; args `{profile?, backend?}`; resolves to the ClusterView or null. */
  export const startCluster = 'muster:start-cluster';
  export const showPanel = 'muster:show-panel';
  export const refresh = 'muster:refresh-clusters';
  export const restartBridge = 'muster:restart-bridge';
  export const selectCluster = 'muster:select-cluster';
  /** Args `{cluster?, tab?: 'overview'|'workers'|'jobs'|'logs'|'events'|'spec', what?: log source}`. */
  export const openCluster = 'muster:open-cluster';
  export const showLogs = 'muster:show-logs';
  export const scaleCluster = 'muster:scale-cluster';
  export const stopCluster = 'muster:stop-cluster';
  export const forceStop = 'muster:force-stop-cluster';
  export const stopAll = 'muster:stop-all';
  export const restartCluster = 'muster:restart-cluster';
  export const resumeCluster = 'muster:resume-cluster';
  export const renameCluster = 'muster:rename-cluster';
  export const startAgain = 'muster:start-again';
  export const forgetCluster = 'muster:forget-cluster';
  export const forgetEnded = 'muster:forget-ended';
  /** Shows the address and the code to connect with. */
  export const showConnection = 'muster:show-connection';
  export const copyCode = 'muster:copy-code';
  export const insertCode = 'muster:insert-code';
  /** Args `{cluster?, plot, title?, pinned?}`. */
  export const openDashboard = 'muster:open-dashboard';
  export const launchLayout = 'muster:launch-layout';
}
