/** What the local backend can and cannot do. */
import { z } from 'zod';
import type { BackendDescription } from '../resource-manager.js';

/** A handle names every process of its job and must stay below 4 KiB. */
export const PROCESSES_PER_JOB = 32;
const JOBS_PER_REQUEST = 256;

export function describeLocal(): BackendDescription {
  return {
    name: 'local',
    title: 'This computer',
    optionsSchema: z.strictObject({}),
    capabilities: {
      identity: 'named',
      pending: 'listed',
      exactRelease: true,
      reclaimNotice: 'none',
      exitCodes: true,
      history: true,
      tags: true,
      hostBound: true,
      schedulerPlacement: ['bridge', 'job'],
      // Which device is free is knowledge this backend does not have; see checkIntent.
      gpus: false,
      estimateStart: false
    },
    limits: {
      workersPerJob: PROCESSES_PER_JOB,
      jobsPerRequest: JOBS_PER_REQUEST,
      launcher: false
    }
  };
}
