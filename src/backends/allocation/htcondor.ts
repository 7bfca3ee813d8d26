/**
 * A slot of HTCondor. What it gave stands in two files of `Name = value` lines, written before the
 * start and not updated (specs/launchers-and-allocations.md §3).
 */
import { Inconsistent, type Environment } from './allocation.js';
import { isHostName } from './hostlist.js';
import {
  allocationOf,
  deviceNames,
  MIB,
  node,
  set,
  type ReadAd,
  type SystemReader
} from './reader.js';

/** Lines `Name = value`; strings without their quotes, expressions as they are. */
export function readAd(text: string): ReadAd {
  const values = new Map<string, string>();
  for (const line of text.split('\n')) {
    const match = /^([A-Za-z_]\w*) = ([^]*)$/u.exec(line);
    if (match !== null) {
      const [, name = '', value = ''] = match;
      values.set(
        name,
        /^"[^]*"$/u.test(value)
          ? value.slice(1, -1).replace(/\\(["\\])/gu, '$1')
          : value
      );
    }
  }
  return values;
}

/** The file that marks a job of HTCondor; it has no id variable. */
export function condorAdFile(env: Environment): string | null {
  return set(env, '_CONDOR_JOB_AD');
}

export const htcondorReader: SystemReader = {
  kind: 'htcondor',
  // The id stands in the file; until it is read, the file's name stands for it.
  jobId: env => condorAdFile(env),
  read: (file, { env, readFile }) => {
    const text = readFile(file);
    if (text === null) {
      return { ask: [], why: 'the file of _CONDOR_JOB_AD cannot be read' };
    }
    const ad = readAd(text);
    const number = (name: string, least: number): number | null => {
      const value = ad.get(name);
      if (value === undefined || value === 'undefined') {
        return null;
      }
      if (!/^\d{1,15}$/u.test(value) || Number(value) < least) {
        throw new Inconsistent(`${name} of the job ad is '${value}'`);
      }
      return Number(value);
    };
    const cluster = number('ClusterId', 1);
    const proc = number('ProcId', 0);
    if (cluster === null || proc === null) {
      throw new Inconsistent('the job ad has no ClusterId and ProcId');
    }
    const machineFile = set(env, '_CONDOR_MACHINE_AD');
    const machineText = machineFile === null ? null : readFile(machineFile);
    const machine = machineText === null ? null : readAd(machineText);
    const host =
      ad.get('RemoteHost')?.replace(/^.*@/u, '') ??
      machine?.get('Machine') ??
      '';
    if (!isHostName(host)) {
      throw new Inconsistent('no ad names the host');
    }
    const memory = number('MemoryProvisioned', 1);
    const starts = number('NumShadowStarts', 0);
    return allocationOf({
      kind: 'htcondor',
      id: `${cluster}.${proc}`,
      incarnation: starts === null ? null : Math.max(0, starts - 1),
      nodes: [
        node(host, {
          tasks: 1,
          cpus: number('CpusProvisioned', 1),
          memBytes: memory === null ? null : memory * MIB,
          gpus: gpusOf(ad, machine)
        })
      ],
      source: [
        '_CONDOR_JOB_AD',
        ...(machine === null ? [] : ['_CONDOR_MACHINE_AD'])
      ]
    });
  }
};

function gpusOf(job: ReadAd, machine: ReadAd | null): string[] | null {
  const named = machine?.get('AssignedGPUs');
  if (named !== undefined && named !== 'undefined' && named !== '') {
    return deviceNames(named);
  }
  return machine?.get('GPUs') === '0' || job.get('GpusProvisioned') === '0'
    ? []
    : null;
}
