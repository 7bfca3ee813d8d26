/** Where interpreters are found on this host: conda environments and virtual environments. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';

export type FoundInterpreter = {
  python: string;
  name: string;
  source: 'conda' | 'venv';
};

/** Environments looked at in one folder of them; more is somebody's archive. */
const MAXIMUM_ENTRIES = 200;

export async function searchInterpreters(
  environment: NodeJS.ProcessEnv = process.env,
  home: string = homedir()
): Promise<FoundInterpreter[]> {
  const [conda, venvs] = await Promise.all([
    condaPrefixes(environment, home),
    venvPrefixes(environment, home)
  ]);
  const found: FoundInterpreter[] = [];
  for (const [source, prefixes] of [
    ['venv', venvs],
    ['conda', conda]
  ] as const) {
    for (const prefix of prefixes) {
      const python = join(prefix, 'bin', 'python');
      if (
        !found.some(one => one.python === python) &&
        (await isFile(python)) &&
        (source === 'venv' || (await exists(join(prefix, 'conda-meta'))))
      ) {
        found.push({ python, name: nameOf(prefix), source });
      }
    }
  }
  return found;
}

function nameOf(prefix: string): string {
  const name = basename(prefix);
  return name === '.venv' || name === 'venv'
    ? `${basename(dirname(prefix))}/${name}`
    : name;
}

/** `environments.txt` is where conda itself keeps every environment it has made. */
async function condaPrefixes(
  environment: NodeJS.ProcessEnv,
  home: string
): Promise<string[]> {
  const listed = await readFile(
    join(home, '.conda', 'environments.txt'),
    'utf8'
  )
    .then(text => text.split('\n').map(line => line.trim()))
    .catch(() => []);
  const roots = [
    environment['CONDA_EXE'] === undefined
      ? undefined
      : dirname(dirname(environment['CONDA_EXE'])),
    environment['MAMBA_ROOT_PREFIX'],
    ...[
      'miniconda3',
      'anaconda3',
      'miniforge3',
      'mambaforge',
      'micromamba'
    ].map(name => join(home, name))
  ].filter(root => root !== undefined);
  const inside = await Promise.all(
    roots.map(async root => [root, ...(await children(join(root, 'envs')))])
  );
  return unique([
    ...(environment['CONDA_PREFIX'] === undefined
      ? []
      : [environment['CONDA_PREFIX']]),
    ...listed.filter(path => path.startsWith('/')),
    ...inside.flat()
  ]);
}

async function venvPrefixes(
  environment: NodeJS.ProcessEnv,
  home: string
): Promise<string[]> {
  const folders = [
    environment['WORKON_HOME'],
    join(home, '.virtualenvs'),
    join(home, '.local', 'share', 'virtualenvs')
  ].filter(folder => folder !== undefined);
  const inside = await Promise.all(folders.map(children));
  return unique([
    ...(environment['VIRTUAL_ENV'] === undefined
      ? []
      : [environment['VIRTUAL_ENV']]),
    ...inside.flat()
  ]);
}

async function children(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    return names
      .sort()
      .slice(0, MAXIMUM_ENTRIES)
      .map(name => join(folder, name));
  } catch {
    return []; // not there, or not for us: then nothing is found in it
  }
}

const unique = (paths: string[]) => [...new Set(paths)];

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    found => found.isFile(),
    () => false
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false
  );
}
