/**
 * What is different at a site or in a queue, as data (specs/resource-manager.md §5, "Profiles").
 * A value from a profile behaves exactly like one given directly: `withDefaults` puts it into the
 * specification before anything is computed.
 */
import { z } from 'zod';

const siteValue = z.union([
  z.string().regex(/^[^\n\r\0]*$/),
  z.number(),
  z.boolean()
]);

export const batchProfileSchema = z.strictObject({
  /** Full paths of commands: `{ sbatch: '/opt/slurm/bin/sbatch' }`. */
  commands: z.record(z.string(), z.string()).default({}),
  /** Instead of the system's own, e.g. `#MSUB`. */
  directivePrefix: z
    .string()
    .regex(/^\S+( \S+)*$/)
    .optional(),
  shell: z
    .string()
    .regex(/^\/\S+$/)
    .default('/bin/bash'),
  /** Fields of the JobSpec where the caller leaves them out; null: leave out for good. */
  defaults: z.record(z.string(), z.unknown()).default({}),
  /** Option tokens of generated lines to leave out: `-n`, `--mem`, `-l mem`. */
  skip: z.array(z.string()).default([]),
  native: z.array(z.string().regex(/^[^\n\r\0]*$/)).default([]),
  submitArgs: z.array(z.string()).default([]),
  queryArgs: z.array(z.string()).default([]),
  cancelArgs: z.array(z.string()).default([]),
  /** Tried before the system's own; named groups `id` and `cluster`. */
  idPatterns: z
    .array(
      z.string().refine(text => {
        try {
          return /\(\?<id>/.test(text) && new RegExp(text) instanceof RegExp;
        } catch {
          return false;
        }
      }, 'must be a regular expression with a group (?<id>…)')
    )
    .default([]),
  /** The machine-readable flag of the submit command is refused here. */
  plainSubmit: z.boolean().default(false),
  /** Site data a system needs or can use: names of parallel environments, memory keys … */
  site: z.record(z.string(), siteValue).default({}),
  /** Seconds between two status queries at least. */
  statusFloorSeconds: z.number().nonnegative().default(0),
  /** Variables that survive the scrub of the environment. */
  keepVariables: z.array(z.string()).default([]),
  /** Scheduler to talk to, where there are several (Slurm cluster, HTCondor schedd). */
  cluster: z
    .string()
    .regex(/^[A-Za-z0-9_.@-]+$/)
    .optional(),
  timeoutSeconds: z.number().positive().default(60)
});

export type BatchProfileInput = z.input<typeof batchProfileSchema>;
export type BatchProfile = z.output<typeof batchProfileSchema>;

export const NO_PROFILE: BatchProfile = batchProfileSchema.parse({});

/** The caller's fields over the profile's defaults; null in either means unset. */
export function withDefaults(
  input: Readonly<Record<string, unknown>>,
  profile: BatchProfile
): Record<string, unknown> {
  const merged = { ...profile.defaults, ...input };
  return Object.fromEntries(
    Object.entries(merged).filter(
      ([, value]) => value !== null && value !== undefined
    )
  );
}

/** Old and hyphenated spellings of profile keys and what they mean here. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  extra: 'native',
  'job-extra': 'native',
  'job-extra-directives': 'native',
  'header-skip': 'skip',
  'job-directives-skip': 'skip',
  'submit-command-extra': 'submitArgs',
  'cancel-command-extra': 'cancelArgs'
};

/** Old spellings of defaults. */
const OLD_DEFAULTS: Readonly<Record<string, string>> = {
  queue: 'queue',
  partition: 'queue',
  project: 'account',
  account: 'account',
  walltime: 'walltimeSeconds',
  'log-directory': 'stdout',
  name: 'name'
};

/**
 * A site file of an older tool, hyphens or underscores, as a profile. Keys it does not know are
 * returned, not dropped.
 */
export function importProfile(old: Readonly<Record<string, unknown>>): {
  profile: BatchProfileInput;
  unknown: string[];
} {
  const profile: Record<string, unknown> = {};
  const defaults: Record<string, unknown> = {};
  const unknown: string[] = [];
  for (const [written, value] of Object.entries(old)) {
    const key = written.replaceAll('_', '-');
    const field = OLD_NAMES[key];
    const standard = OLD_DEFAULTS[key];
    if (value === null || value === undefined) {
      continue;
    }
    if (field !== undefined) {
      profile[field] = Array.isArray(value) ? value : [textOf(value)];
    } else if (standard !== undefined && key !== 'log-directory') {
      defaults[standard] = value;
    } else {
      unknown.push(written);
    }
  }
  return { profile: { ...profile, defaults }, unknown };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
