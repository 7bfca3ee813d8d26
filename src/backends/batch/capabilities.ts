/** What a batch system can do (specs/resource-manager.md §2). `notHonoured` agrees with it. */
import { z } from 'zod';

export const capabilitiesSchema = z.strictObject({
  arrays: z.boolean(),
  /** Elements of one array have ids of their own, unrelated to the first one's. */
  arrayIdsSeparate: z.boolean().default(false),
  /** Indices that are not one range with a step (`1,3,7`). */
  arrayLists: z.boolean().default(false),
  arrayThrottle: z.boolean().default(false),
  firstArrayIndex: z.number().int().nullable().default(null),
  /** An array of a single element is refused: submit a plain job. */
  arrayOfOne: z.boolean().default(true),
  comment: z.boolean(),
  tagEnv: z.boolean(),
  hold: z.boolean(),
  signalBeforeEnd: z.boolean(),
  batchStatus: z.boolean(),
  history: z.boolean(),
  json: z.boolean(),
  gpus: z.boolean(),
  memory: z.boolean(),
  exclusive: z.boolean(),
  constraint: z.boolean(),
  het: z.boolean(),
  testOnly: z.boolean(),
  priority: z.boolean(),
  multiCluster: z.boolean(),
  requeue: z.boolean(),
  maxNameLength: z.number().int().positive(),
  /** Seconds a walltime is rounded up to. */
  walltimeResolution: z.number().int().positive()
});

export type BatchCapabilities = z.infer<typeof capabilitiesSchema>;
