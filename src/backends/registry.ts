/** The only place that lists the backends. */
import type { ResourceManager } from './resource-manager.js';
import { LocalResourceManager } from './local/local-resource-manager.js';

export type BackendOptions = {
  /** Text of the worker pool's program, `jupyterlab_muster/pool.py`. */
  poolProgram: string;
  /** Absolute, on a local disk, ours alone; made 0700 where missing (its parent must exist). */
  runtimeFolder: string;
  /** The user's own, of the files local tasks write; 0o077 where it is not known. */
  umask?: number;
};

/** By name, in the order in which people see them. */
export function createBackends(
  options: BackendOptions
): Map<string, ResourceManager> {
  const backends: ResourceManager[] = [
    new LocalResourceManager({
      poolProgram: options.poolProgram,
      runtimeFolder: options.runtimeFolder,
      ...(options.umask === undefined ? {} : { umask: options.umask })
    })
  ];
  return new Map(
    backends.map(backend => [backend.describe().name, backend] as const)
  );
}
