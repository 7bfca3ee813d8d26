/** Reading one `muster.yaml`: every problem names the file and the field. */
import { lstat, open } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join, resolve, sep } from 'node:path';
import type { z } from 'zod';
import { specInvalid } from '../../protocol/index.js';
import { musterFileSchema } from './muster-config.js';
import type { ConfigSource, MusterFile } from './muster-config.js';

export const CONFIG_NAME = 'muster.yaml';
const MAXIMUM_BYTES = 1024 * 1024;

export type ConfigProblem = {
  file: string;
  /** e.g. `limits.maximumWorkers`; null: the file as a whole. */
  field: string | null;
  message: string;
};

export type ReadResult =
  | { type: 'absent' }
  | { type: 'read'; file: MusterFile }
  | { type: 'broken'; problems: ConfigProblem[] };

/** What tells one content from the next without reading it. null: there is no such file. */
export async function stampOf(file: string): Promise<string | null> {
  try {
    const found = await lstat(file, { bigint: true });
    return `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
  } catch {
    return null;
  }
}

export async function readConfigFile(file: string): Promise<ReadResult> {
  let text: string;
  try {
    const handle = await open(file, 'r');
    try {
      const found = await handle.stat();
      const problem = unfit(found);
      if (problem !== null) {
        return broken(file, problem);
      }
      text = await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? { type: 'absent' }
      : broken(file, `cannot be read: ${message}`);
  }
  return parseConfig(file, text);
}

/** Profiles run commands: a file others can change would be their way into this account. */
function unfit(found: {
  isFile: () => boolean;
  size: number;
  uid: number;
  mode: number;
}): string | null {
  if (!found.isFile()) {
    return 'is not a file';
  }
  if (found.size > MAXIMUM_BYTES) {
    return 'is larger than 1 MiB';
  }
  if (found.uid !== 0 && found.uid !== process.getuid?.()) {
    return 'belongs to another user; it is not used';
  }
  if ((found.mode & 0o022) !== 0) {
    return 'can be changed by others; it is not used (chmod go-w makes it right)';
  }
  return null;
}

/** @param file named in problems. */
export async function parseConfig(
  file: string,
  text: string
): Promise<ReadResult> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error !== undefined) {
    return broken(file, `is not YAML: ${error.message.split('\n')[0] ?? ''}`);
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 50 }) as unknown;
  } catch (thrown) {
    return broken(file, `is not usable YAML: ${(thrown as Error).message}`);
  }
  const result = musterFileSchema.safeParse(value ?? {});
  return result.success
    ? { type: 'read', file: result.data }
    : { type: 'broken', problems: problemsOf(file, result.error) };
}

function problemsOf(file: string, error: z.ZodError): ConfigProblem[] {
  const { problems } = specInvalid(unfolded(error)).details as {
    problems: { path: string; message: string }[];
  };
  return problems.map(problem => ({
    file,
    field: problem.path === '' ? null : problem.path,
    message: problem.message
  }));
}

/** A profile's issues are carried inside ours (see profileSchema); here they are themselves again. */
function unfolded(error: z.ZodError): z.ZodError {
  for (const issue of error.issues) {
    const carried =
      issue.code === 'custom'
        ? (issue.params?.['issue'] as z.core.$ZodIssue | undefined)
        : undefined;
    if (carried !== undefined) {
      Object.assign(issue, { ...carried, path: issue.path });
    }
  }
  return error;
}

function broken(file: string, message: string): ReadResult {
  return { type: 'broken', problems: [{ file, field: null, message }] };
}

/** Is this one of the user's own configuration folders, the package's, or the site's? */
export function sourceOf(
  folder: string,
  environment: NodeJS.ProcessEnv = process.env,
  home: string = homedir()
): ConfigSource {
  if (basename(folder) === 'jupyterlab_muster') {
    return 'package';
  }
  const own = [
    environment['JUPYTER_CONFIG_DIR'] ?? join(home, '.jupyter'),
    join(home, '.jupyter'),
    environment['XDG_CONFIG_HOME'] ?? join(home, '.config')
  ].map(path => resolve(path));
  const path = resolve(folder);
  return own.some(mine => path === mine || path.startsWith(mine + sep))
    ? 'user'
    : 'site';
}
