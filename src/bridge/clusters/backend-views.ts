/** GET backends: each with whether it can be used here, and why not. One broken backend never hides the others. */
import { z } from 'zod';
import type {
  Probe,
  ResourceManager
} from '../../backends/resource-manager.js';
import type { BackendView } from '../../protocol/index.js';

export function backendViews(
  backends: ReadonlyMap<string, ResourceManager>
): Promise<BackendView[]> {
  return Promise.all([...backends.values()].map(backendView));
}

async function backendView(backend: ResourceManager): Promise<BackendView> {
  const description = backend.describe();
  const probe = await backend.probe().catch((error: unknown): Probe => ({
    available: false,
    reason: error instanceof Error ? error.message : String(error),
    looked: {}
  }));
  return {
    name: description.name,
    title: description.title,
    available: probe.available,
    ...(probe.reason === undefined
      ? {}
      : {
          reason:
            probe.fix === undefined
              ? probe.reason
              : `${probe.reason} ${probe.fix}`
        }),
    ...(probe.version === undefined ? {} : { version: probe.version }),
    capabilities: description.capabilities,
    specSchema: z.toJSONSchema(description.optionsSchema, {
      io: 'input',
      unrepresentable: 'any'
    }),
    probe: probe.looked,
    ...(probe.host === undefined ? {} : { host: probe.host })
  };
}
