/**
 * Asks one Python interpreter what it is and whether Dask workers can run on it. Nothing of Dask is
 * imported (0.8 s); the metadata of installed packages says enough.
 */
import { spawn } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';

/** Milliseconds: cold interpreters on network file systems are slow, dead mounts never answer. */
export const PROBE_DEADLINE = 20_000;
const MAXIMUM_OUTPUT = 256 * 1024;
const MARK = 'muster-probe:';

export type InterpreterFacts = {
  python: string;
  pythonVersion: string | null;
  dask: string | null;
  distributed: string | null;
  usable: boolean;
  /** A sentence, with the command that fixes it where there is one. */
  whyNot: string | null;
  /** What Dask compares between client, scheduler and workers, and bokeh for the dashboard. */
  packages: Record<string, string | null>;
  /** Folders packages are installed in: they change when one is. */
  siteFolders: string[];
};

/**
 * Runs in any Python, also one too old to be of use: it must still say its version. `-E` ignores
 * PYTHON* variables, as workers do not get them; the user's own site folder counts, as it does for
 * workers.
 */
const PROGRAM = `
import json, sys
names = ["dask", "distributed", "msgpack", "cloudpickle", "toolz", "tornado", "numpy", "pandas", "pyarrow", "lz4", "bokeh"]
found, sites = {}, []
try:
    from importlib import metadata
    for name in names:
        try:
            found[name] = metadata.version(name)
        except Exception:
            found[name] = None
    sites = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
except ImportError:
    pass
sys.stdout.write("${MARK}" + json.dumps({"version": list(sys.version_info[:3]), "packages": found, "sites": sites}) + "\\n")
`;

/** Never throws: what is wrong is in `whyNot`. */
export async function probeInterpreter(
  python: string,
  options: { deadlineMs?: number } = {}
): Promise<InterpreterFacts> {
  const missing = await missingFile(python);
  if (missing !== null) {
    return unusable(python, missing);
  }
  const run = await runProgram(python, options.deadlineMs ?? PROBE_DEADLINE);
  return run.type === 'failed'
    ? unusable(python, run.why)
    : factsOf(python, run.output);
}

async function missingFile(python: string): Promise<string | null> {
  try {
    if (!(await stat(python)).isFile()) {
      return `${python} is not a file`;
    }
    await access(python, constants.X_OK);
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? `there is no ${python} on this host`
      : code === 'EACCES'
        ? `${python} may not be run by this user`
        : `${python} cannot be looked at: ${(error as Error).message}`;
  }
}

type Run = { type: 'said'; output: string } | { type: 'failed'; why: string };

function runProgram(python: string, deadlineMs: number): Promise<Run> {
  return new Promise(resolve => {
    const child = spawn(python, ['-E', '-c', PROGRAM], {
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment(process.env)
    });
    let output = '';
    let errors = '';
    // Resolved by the clock, not by the end of the process: one on a dead mount cannot even be killed.
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      child.unref();
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({
        type: 'failed',
        why: `${python} did not answer within ${deadlineMs / 1000} s`
      });
    }, deadlineMs);
    child.stdout.on('data', (part: Buffer) => {
      output = (output + part.toString()).slice(-MAXIMUM_OUTPUT);
    });
    child.stderr.on('data', (part: Buffer) => {
      errors = (errors + part.toString()).slice(-4096);
    });
    child.on('error', error => {
      clearTimeout(late);
      resolve({
        type: 'failed',
        why: `${python} cannot be run: ${error.message}`
      });
    });
    child.on('close', (code, signal) => {
      clearTimeout(late);
      if (code === 0) {
        resolve({ type: 'said', output });
        return;
      }
      const said = errors.trim().split('\n').at(-1) ?? '';
      resolve({
        type: 'failed',
        why: `${python} ended with ${signal ?? `code ${code ?? '?'}`}${said === '' ? '' : `: ${said.slice(0, 300)}`}`
      });
    });
  });
}

/** The bridge's own, without what would make this Python another one, and without tokens. */
function environment(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(own).filter(
      ([name]) => !/^(PYTHON|JPY_|JUPYTER_TOKEN|JUPYTERHUB_|MUSTER_)/.test(name)
    )
  );
}

function factsOf(python: string, output: string): InterpreterFacts {
  const line = output
    .split('\n')
    .findLast(one => one.startsWith(MARK))
    ?.slice(MARK.length);
  if (line === undefined) {
    return unusable(python, `${python} is not a Python interpreter`);
  }
  const said = JSON.parse(line) as {
    version: number[];
    packages: Record<string, string | null>;
    sites: string[];
  };
  const { packages } = said;
  const dask = packages['dask'] ?? null;
  const distributed = packages['distributed'] ?? null;
  const absent = [
    ...(dask === null ? ['dask'] : []),
    ...(distributed === null ? ['distributed'] : [])
  ];
  return {
    python,
    pythonVersion: said.version.join('.'),
    dask,
    distributed,
    usable: absent.length === 0,
    whyNot:
      absent.length === 0
        ? null
        : `${absent.join(' and ')} ${absent.length === 1 ? 'is' : 'are'} not installed in ${python}: ${shellWord(python)} -m pip install 'dask[distributed]'`,
    packages: { python: said.version.join('.'), ...packages },
    siteFolders: said.sites
  };
}

function unusable(python: string, whyNot: string): InterpreterFacts {
  return {
    python,
    pythonVersion: null,
    dask: null,
    distributed: null,
    usable: false,
    whyNot,
    packages: {},
    siteFolders: []
  };
}

/** For a command that people copy. */
function shellWord(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text)
    ? text
    : `'${text.replaceAll("'", `'\\''`)}'`;
}
