/**
 * Lines a user gives for the batch system as they are. They are compared by option, never by
 * substring: `-n 4` is the option `-n`, `--ntasks=4` is the same one (dask-jobqueue #461).
 */
import type { SystemFacts } from './specification.js';

/**
 * The options a line sets, in the system's main spelling: `--time=5` → `-t`, `-l mem=1gb,walltime=5`
 * → `-l mem` and `-l walltime`, `request_cpus = 2` → `request_cpus`.
 */
export function optionTokens(facts: SystemFacts, text: string): string[] {
  const line = text.trim();
  const assignment = /^(\+?[A-Za-z_][\w.]*)\s*=/.exec(line)?.[1];
  if (!line.startsWith('-')) {
    return [(assignment ?? line.split(/\s+/)[0] ?? line).toLowerCase()];
  }
  const [, written = line, value = ''] =
    /^(--?[A-Za-z0-9_-]+)(?:[\s=]+(.*))?$/.exec(line) ?? [];
  const option = canonical(facts, written);
  if (!facts.options.keyed.includes(option)) {
    return [option];
  }
  const keys = value
    .replace(/^["']|["']$/g, '')
    .split(',')
    .map(part => /^\s*([A-Za-z_]\w*)/.exec(part)?.[1])
    .filter(key => key !== undefined);
  return keys.length === 0 ? [option] : keys.map(key => `${option} ${key}`);
}

export function optionToken(facts: SystemFacts, text: string): string {
  return optionTokens(facts, text)[0] ?? text;
}

/** Does a user's line say something a generated line says too, or something that excludes it? */
export function clashes(
  facts: SystemFacts,
  native: string,
  generated: string
): boolean {
  const mine = optionTokens(facts, native);
  const ours = optionTokens(facts, generated);
  return ours.some(
    token =>
      mine.includes(token) ||
      facts.options.exclusive.some(
        group =>
          group.includes(token) && mine.some(other => group.includes(other))
      )
  );
}

function canonical(facts: SystemFacts, option: string): string {
  const group = facts.options.aliases.find(one => one.includes(option));
  return group?.[0] ?? option;
}
