/**
 * What a worker group may say to a batch system: `-o key=value` and `groups[].options`. One table for
 * all systems; beside it the data of the site the system itself knows (`facts.site`).
 */
import { z } from 'zod';
import type { SystemFacts } from '../../backends/index.js';

const PLACEMENTS = ['pack', 'scatter', 'any'] as const;

const text = z.string({ error: 'must be text' }).min(1, {
  error: 'must not be empty'
});

const SHAPE = {
  queue: text.optional(),
  account: text.optional(),
  project: text.optional(),
  qos: text.optional(),
  constraint: text.optional(),
  reservation: text.optional(),
  /** Text as `2h30m`; a number: seconds. */
  walltime: z
    .union([text, z.number().int().positive()], {
      error: 'must be a time such as 2h30m, 2:30:00, 1-12:00:00 or unlimited'
    })
    .optional(),
  placement: z
    .enum(PLACEMENTS, { error: `must be one of ${PLACEMENTS.join(', ')}` })
    .optional(),
  exclusive: z.boolean({ error: 'must be true or false' }).optional(),
  gpuType: text.optional(),
  /** Network interface of the nodes workers listen on; default: that of the node's name. */
  interface: z
    .string({ error: 'must be text' })
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$/, {
      error: 'is not the name of a network interface'
    })
    .optional(),
  native: z
    .union([text, z.array(text)], {
      error: 'must be a line for the batch system, or a list of lines'
    })
    .optional()
};

/** Field of the JobSpec → the option that says it, where the two differ. */
export const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  walltimeSeconds: 'walltime'
};

export type BatchOptions = z.output<z.ZodObject<typeof SHAPE>> &
  Record<string, unknown>;

export function optionNames(facts: SystemFacts): string[] {
  return [...Object.keys(SHAPE), ...Object.keys(facts.site)];
}

export function batchOptionsSchema(
  facts: SystemFacts
): z.ZodType<BatchOptions> {
  const site = z.union(
    [z.string().regex(/^[^\n\r\0]*$/), z.number(), z.boolean()],
    { error: 'must be one line of text, a number, true or false' }
  );
  return z.strictObject({
    ...Object.fromEntries(
      Object.keys(facts.site).map(key => [key, site.optional()])
    ),
    ...SHAPE
  });
}

/** How `-o` reads each of them (JSON schema, see `typedOptions`): an account `0042` stays text. */
export function optionTypes(): Record<string, unknown> {
  const text = { type: 'string' };
  return {
    properties: {
      ...Object.fromEntries(Object.keys(SHAPE).map(key => [key, text])),
      exclusive: { type: ['boolean', 'string'] },
      // A list as JSON; other text is one line, commas and all.
      native: { type: ['string', 'object'] }
    }
  };
}
