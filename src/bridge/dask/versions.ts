/** What the scheduler can do, by its version alone: a null reply proves nothing (H5). */
import { z } from 'zod';
import { LinkError } from './wire/errors.js';

/** The oldest `distributed` that is spoken to; older ones are refused with a sentence. */
export const SUPPORTED_FLOOR = '2024.8.0';

/** The one table of capabilities; each is there from this version on. */
const SINCE = {
  /** `identity` takes `n_workers` and tells `n_workers` (distributed#9045). */
  limitedIdentity: '2025.4.0'
} as const;

export type Capabilities = Record<keyof typeof SINCE, boolean>;

const versionsSchema = z.object({
  host: z.object({ byteorder: z.string().optional() }).loose().optional(),
  packages: z.record(z.string(), z.unknown())
});

export type SchedulerVersions = {
  /** Of `distributed`, e.g. `2026.8.0`. */
  version: string;
  packages: Record<string, string | null>;
  capabilities: Capabilities;
  /** The reply as it came: `register-client` must carry it (H18). */
  raw: Record<string, unknown>;
};

/**
 * Reads the reply of `versions`.
 * @throws LinkError `unsupported` below the floor, for a big-endian host, or for another reply.
 */
export function readVersions(reply: unknown): SchedulerVersions {
  const parsed = versionsSchema.safeParse(reply);
  const version = parsed.data?.packages['distributed'];
  if (!parsed.success || typeof version !== 'string') {
    throw unsupported('The peer does not tell its version of distributed');
  }
  if (compareVersions(version, SUPPORTED_FLOOR) < 0) {
    throw unsupported(
      `The scheduler runs distributed ${version}; Muster speaks to ${SUPPORTED_FLOOR} and later`,
      'upgrade dask and distributed in the environment of the cluster'
    );
  }
  if (parsed.data.host?.byteorder === 'big') {
    throw unsupported('The scheduler runs on a big-endian machine');
  }
  return {
    version,
    packages: Object.fromEntries(
      Object.entries(parsed.data.packages).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : null
      ])
    ),
    capabilities: capabilitiesOf(version),
    raw: reply as Record<string, unknown>
  };
}

export function capabilitiesOf(version: string): Capabilities {
  return Object.fromEntries(
    Object.entries(SINCE).map(([name, since]) => [
      name,
      compareVersions(version, since) >= 0
    ])
  ) as Capabilities;
}

/**
 * Negative, zero or positive. Local suffixes (`2024.8.2+ds.1`) and development marks
 * (`2026.7.0.dev10`) are not looked at; a text without numbers is older than everything.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [releaseOf(a), releaseOf(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) {
      return difference;
    }
  }
  return 0;
}

function releaseOf(version: string): number[] {
  const match = /^\d+(?:\.\d+)*/.exec(version);
  return match === null ? [] : match[0].split('.').map(Number);
}

function unsupported(message: string, hint?: string): LinkError {
  return new LinkError({ kind: 'unsupported', message, hint });
}
