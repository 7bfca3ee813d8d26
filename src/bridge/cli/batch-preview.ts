/**
 * The job scripts of a cluster on a batch system, and how they would be submitted, from values alone:
 * no bridge, no batch system, no file. Ids are made up for the look, as a bridge's preview does.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  schedulingFor,
  shellWord,
  SpecError,
  type BatchProfile,
  type SystemFacts
} from '../../backends/index.js';
import { logFile } from '../../backends/batch/job-spec.js';
import {
  idFromBytes,
  rangeOf,
  tokenOf,
  workerId,
  type ClusterId,
  type JobId,
  type PreviewView,
  type ResolvedSpec,
  type WorkerGroup
} from '../../protocol/index.js';
import { summaryOf } from '../clusters/preview.js';
import {
  DEATH_TIMEOUT_SECONDS,
  workerLaunch,
  type Launch
} from '../dask/launch.js';
import { certificateFiles } from '../security/certificates.js';
import type { BatchOptions } from './batch-options.js';

/** Of the walltime, kept for handing over what a worker holds (H8): a tenth, at most five minutes. */
const HANDOVER_SHARE = 0.1;
const HANDOVER_SECONDS = 300;

export type BatchPreviewOptions = {
  facts: SystemFacts;
  spec: ResolvedSpec;
  /** The batch profile of each group, in order. */
  profiles: readonly BatchProfile[];
  /** Folder of all clusters on this host. */
  clustersFolder: string;
};

/** A refusal by the batch system's rules, and of which group. */
export class GroupRefused extends Error {
  constructor(
    readonly group: number,
    readonly problems: SpecError['problems']
  ) {
    super(problems.map(one => `${one.field}: ${one.message}`).join('; '));
  }
}

/** @throws GroupRefused */
export function batchPreview(options: BatchPreviewOptions): PreviewView {
  const { facts, spec, profiles, clustersFolder } = options;
  const cluster = newId() as ClusterId;
  const folder = join(clustersFolder, cluster);
  return {
    summary: summaryOf({ spec }, facts.title),
    jobs: spec.groups.map((group, index) => {
      const profile = profiles[index];
      if (profile === undefined) {
        throw new RangeError(`group ${index} has no profile`);
      }
      try {
        return jobOf({ facts, spec, group, profile, cluster, folder });
      } catch (error) {
        throw error instanceof SpecError
          ? new GroupRefused(index, error.problems)
          : error;
      }
    })
  };
}

type Place = {
  facts: SystemFacts;
  spec: ResolvedSpec;
  group: WorkerGroup;
  profile: BatchProfile;
  cluster: ClusterId;
  folder: string;
};

function jobOf(place: Place): PreviewView['jobs'][number] {
  const { facts, spec, group, profile, cluster, folder } = place;
  const { worker, workersPerJob } = group;
  const system = schedulingFor(facts);
  const id = newId() as JobId;
  const wanted = group.options as BatchOptions;
  // Checked and solved once: a profile's default walltime counts for the workers' lifetime too.
  const job = system.job(
    {
      ...fieldsOf(wanted),
      name: `${spec.name}-${group.name}`,
      token: tokenOf(cluster, id),
      nodes: 1,
      tasks: 1,
      cpusPerTask: worker.cores * workersPerJob,
      ...(worker.gpus === 0
        ? {}
        : { gpusPerTask: worker.gpus * workersPerJob }),
      ...(worker.memory === null
        ? {}
        : {
            memory: { bytes: worker.memory * workersPerJob, per: 'job' },
            memoryPerWorker: worker.memory
          }),
      workersPerJob,
      threadsPerWorker: worker.cores,
      stdout: logFile({
        folder: join(folder, 'logs'),
        stem: id,
        suffix: 'out'
      }),
      stderr: logFile({ folder: join(folder, 'logs'), stem: id, suffix: 'err' })
    },
    profile
  );
  const launches = launchesOf(place, id, wanted, job.walltimeSeconds);
  const environment = {
    ...launches[0]?.environment,
    ...spec.environment.variables
  };
  const name = join(folder, 'jobs', id);
  const { files, header } = system.renderFiles(
    { ...job, env: { ...environment, ...job.env } },
    bodyOf(launches, spec.environment),
    name,
    profile
  );
  const submit = system.submitArgv(files[0]?.name ?? name, profile);
  return {
    group: group.name,
    count: rangeOf(group).minimum / workersPerJob,
    workers: workersPerJob,
    argv: submit.argv,
    script: textOf(files),
    // All of it is in the script: what a batch system forwards of its own accord differs by site.
    environment: {},
    notHonoured: header.notHonoured,
    warnings: [
      ...header.warnings,
      ...(submit.stdin === 'script'
        ? [
            `${submit.argv[0] ?? 'the command'} reads the script from its standard input`
          ]
        : [])
    ]
  };
}

function fieldsOf(wanted: BatchOptions): Record<string, unknown> {
  const { walltime, native, placement, exclusive, gpuType } = wanted;
  const { queue, account, project, qos, constraint, reservation } = wanted;
  const said = {
    ...{ queue, account, project, qos, constraint, reservation },
    ...{ placement, exclusive, gpuType },
    walltimeSeconds: walltime,
    native: typeof native === 'string' ? [native] : native
  };
  // What is not said must be absent: the profile's defaults fill it.
  return Object.fromEntries(
    Object.entries(said).filter(([, value]) => value !== undefined)
  );
}

/** Stands for the name of the node in argument lists: known only where the script runs. */
const NODE = '\0node';

function launchesOf(
  { spec, group, folder }: Place,
  job: JobId,
  wanted: BatchOptions,
  walltimeSeconds: number | 'unlimited' | undefined
): Launch[] {
  const { tls } = spec.security;
  const lifetimeSeconds =
    typeof walltimeSeconds === 'number'
      ? Math.ceil(
          walltimeSeconds -
            Math.min(HANDOVER_SECONDS, walltimeSeconds * HANDOVER_SHARE)
        )
      : null;
  const hashSeed = randomBytes(2).readUInt16BE() % 10_000;
  return Array.from({ length: group.workersPerJob }, (_, index) =>
    workerLaunch({
      python: spec.environment.python,
      scheduler: { address: `${tls ? 'tls' : 'tcp'}://<scheduler>` },
      name: workerId(job, index),
      nthreads: group.worker.cores,
      memoryLimitBytes: group.worker.memory,
      resources: group.worker.resources,
      localDirectory: join(folder, 'scratch'),
      deathTimeoutSeconds: DEATH_TIMEOUT_SECONDS,
      host:
        wanted.interface === undefined
          ? { address: NODE }
          : { interface: wanted.interface },
      tls: tls ? certificateFiles(folder, 'worker') : null,
      hashSeed,
      lifetimeSeconds
    })
  );
}

/** All workers of the job; it ends when the last of them has, with the code of one that failed. */
function bodyOf(
  launches: readonly Launch[],
  { prologue, epilogue }: ResolvedSpec['environment']
): string {
  const commands = launches.map(launch =>
    launch.argv
      .map(word => (word === NODE ? '"$(uname -n)"' : shellWord(word)))
      .join(' ')
  );
  const run =
    commands.length === 1
      ? [...commands, 'muster_code=$?']
      : [
          "muster_pids=''",
          ...commands.map(
            command => `${command} &\nmuster_pids="$muster_pids $!"`
          ),
          'muster_code=0',
          'for muster_pid in $muster_pids; do',
          '  wait "$muster_pid" || muster_code=$?',
          'done'
        ];
  return [...prologue, ...run, ...epilogue, 'return "$muster_code"'].join('\n');
}

/** One file as it is; where the system reads a description beside the script, each under its name. */
function textOf(files: readonly { name: string; text: string }[]): string {
  return files.length === 1
    ? (files[0]?.text ?? '')
    : files.map(file => `# ${file.name}\n${file.text}`).join('\n');
}

function newId(): string {
  return idFromBytes(randomBytes(16));
}
