/**
 * The batch systems as the files describe them: the built-in ones, over them the site's, over those
 * the user's. A description that is wrong is left out alone, and is a problem of its file.
 */
import type { Systems } from '../../backends/batch/systems.js';
import type { ConfigProblem } from './config-file.js';

export type DescribedSystems = {
  /** The `muster.yaml` they stand in, named in problems. */
  file: string;
  /** Its `batchSystems`, as written. */
  descriptions: readonly unknown[];
};

/** Backends that are no batch systems: a description under such a name would never be reached. */
export const OWN_BACKENDS: readonly string[] = ['local'];

/**
 * All batch systems there are. Loads the built-in ones, which only who asks pays for.
 * @param files the strongest first; a weaker file's are the base of a stronger one's `basedOn`.
 * @param before what was known; where a description of the same name is wrong now, that counts on.
 */
export async function batchSystemsOf(
  files: readonly DescribedSystems[],
  before: Systems = new Map()
): Promise<{ systems: Systems; problems: ConfigProblem[] }> {
  const [{ BUILT_IN, withSiteSystems }, { SpecError }] = await Promise.all([
    import('../../backends/batch/systems.js'),
    import('../../backends/batch/errors.js')
  ]);
  let systems: Systems = BUILT_IN;
  const problems: ConfigProblem[] = [];
  for (const { file, descriptions } of [...files].reverse()) {
    const seen = new Set<string>();
    descriptions.forEach((description, at) => {
      const name = nameOf(description);
      const refusal = refusalOf(name, seen);
      if (refusal !== null) {
        problems.push({
          file,
          field: `batchSystems[${at}].name`,
          message: refusal
        });
        return;
      }
      seen.add(name ?? '');
      try {
        systems = withSiteSystems([description], systems);
      } catch (error) {
        if (!(error instanceof SpecError)) {
          throw error;
        }
        problems.push(
          ...error.problems.map(one => ({
            file,
            field: fieldOf(one.field, at),
            message: one.message
          }))
        );
        const kept = name === null ? undefined : before.get(name);
        if (kept !== undefined) {
          systems = new Map(systems).set(kept.name, kept);
        }
      }
    });
  }
  return { systems, problems };
}

function nameOf(description: unknown): string | null {
  const name =
    typeof description === 'object' && description !== null
      ? (description as { name?: unknown }).name
      : undefined;
  return typeof name === 'string' ? name : null;
}

function refusalOf(
  name: string | null,
  seen: ReadonlySet<string>
): string | null {
  if (name === null) {
    return null;
  }
  if (OWN_BACKENDS.includes(name)) {
    return `'${name}' is a backend of its own, not a batch system`;
  }
  return seen.has(name) ? `'${name}' is described twice in this file` : null;
}

/** `batchSystems.0.submit.ids.0`, of the one description given, as its place in the file. */
function fieldOf(field: string, at: number): string {
  const inside = field
    .replace(/^batchSystems\.0/u, '')
    .replace(/\.(\d+)(?=\.|$)/gu, '[$1]');
  return `batchSystems[${at}]${inside}`;
}
