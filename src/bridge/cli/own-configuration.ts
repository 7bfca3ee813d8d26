/**
 * `muster.yaml` as this command itself reads it, for what needs no bridge. What is wrong in it is
 * said beside the answer; the rest counts.
 */
import type { BatchProfile, SystemFacts } from '../../backends/index.js';
import type { ConfigurationFiles } from '../config/configuration-files.js';
import { configPaths } from '../serve-options.js';
import type { CliContext } from './context.js';
import { usage } from './failure.js';

export async function ownConfiguration(
  context: CliContext
): Promise<ConfigurationFiles> {
  const { ConfigurationFiles: Files } =
    await import('../config/configuration-files.js');
  const files = await Files.open({
    paths: configPaths(context.io.environment['MUSTER_CONFIG_PATHS'] ?? '')
  });
  files.close();
  for (const { file, field, message } of files.problems) {
    context.note(
      `note: ${file}: ${field === null ? '' : `${field}: `}${message}`
    );
  }
  return files;
}

/**
 * What `backends.<name>` says of a batch system: where its commands are, and as `settings` the rest of
 * a batch profile.
 * @param site data of the site that was said with the job, above the file's.
 */
export async function batchProfileOf(
  configuration: ConfigurationFiles,
  facts: SystemFacts,
  site: Readonly<Record<string, unknown>> = {}
): Promise<BatchProfile> {
  const { batchProfileSchema } = await import('../../backends/index.js');
  const said = configuration.current.backends[facts.name];
  const where = `backends.${facts.name}.settings`;
  const settings = batchProfileSchema
    .omit({ commands: true })
    .safeParse(said?.settings ?? {});
  if (!settings.success) {
    const [issue] = settings.error.issues;
    throw usage(
      `muster.yaml: ${[where, ...(issue?.path.map(String) ?? [])].join('.')}: ${issue?.message ?? 'is wrong'}`,
      `it takes ${Object.keys(batchProfileSchema.shape)
        .filter(key => key !== 'commands')
        .join(', ')}`
    );
  }
  const profile = batchProfileSchema.safeParse({
    ...settings.data,
    commands: said?.commands ?? {},
    site: { ...settings.data.site, ...site }
  });
  if (!profile.success) {
    throw usage(`--site: ${profile.error.issues[0]?.message ?? 'is wrong'}`);
  }
  return profile.data;
}

/** Of a backend's options those the batch system knows as data of the site. */
export function siteOptions(
  options: Readonly<Record<string, unknown>>,
  facts: SystemFacts
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).filter(([key]) => Object.hasOwn(facts.site, key))
  );
}
