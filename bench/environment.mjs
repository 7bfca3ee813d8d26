/** What a result was measured on: without it a number is not worth keeping. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os';

function attempt(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

const command = (file, ...args) =>
  attempt(() =>
    execFileSync(file, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    }).trim()
  );

/** @param {string} python interpreter of the peers and of our workers */
export function describeEnvironment(python) {
  const versions = command(
    python,
    '-c',
    'import json, platform, importlib.metadata as m\n' +
      "names = ['dask', 'distributed', 'tornado', 'jupyter_server', 'jupyterlab']\n" +
      'out = {"python": platform.python_version()}\n' +
      'for n in names:\n' +
      '    try: out[n] = m.version(n)\n' +
      '    except m.PackageNotFoundError: pass\n' +
      'print(json.dumps(out))'
  );
  return {
    time: new Date().toISOString(),
    revision: command('git', 'rev-parse', 'HEAD'),
    uncommitted: command('git', 'status', '--porcelain') !== '',
    muster: attempt(() => JSON.parse(readFileSync('package.json')).version),
    node: process.version,
    sqlite: process.versions.sqlite ?? null,
    peers: versions === null ? null : JSON.parse(versions),
    cpu: cpus()[0]?.model ?? null,
    cores: cpus().length,
    governor: attempt(() =>
      readFileSync(
        '/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor',
        'utf8'
      ).trim()
    ),
    memoryBytes: totalmem(),
    kernel: release(),
    stateFileSystem: `0x${statfsSync(tmpdir()).type.toString(16)}`,
    loadBefore: loadavg()
  };
}
