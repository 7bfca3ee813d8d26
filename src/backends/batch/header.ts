/**
 * The header of a job: a JobSpec and a profile through the lines of a specification. Pure. What the
 * system cannot honour comes back in `notHonoured`, never silently dropped.
 */
import { SpecError } from './errors.js';
import type { JobSpec } from './job-spec.js';
import { clashes, optionToken } from './native-lines.js';
import type { BatchProfile } from './profile.js';
import type { SystemFacts } from './specification.js';
import { fill, holds } from './templates.js';
import { headerVariables } from './header-variables.js';

export type ResourceHeader = {
  /** Without the prefix: `-J name`. */
  options: string[];
  /** As they stand in the script. */
  lines: string[];
  /** Fields of the JobSpec this system (or this site) does not carry out. */
  notHonoured: string[];
  warnings: string[];
};

/** Variable of the templates → the fields of the JobSpec it stands for. */
const STANDS_FOR: Readonly<Record<string, readonly string[]>> = {
  nodes: ['nodes'],
  tasks: ['tasks'],
  tasksPerNode: ['tasksPerNode', 'tasks'],
  cpusPerTask: ['cpusPerTask'],
  cpusPerNode: ['tasksPerNode', 'cpusPerTask', 'tasks'],
  cpus: ['tasks', 'tasksPerNode', 'cpusPerTask'],
  gpus: ['gpusPerTask'],
  gpusPerNode: ['gpusPerTask'],
  gpusPerTask: ['gpusPerTask'],
  memoryPerJob: ['memory'],
  memoryPerNode: ['memory'],
  memoryPerCpu: ['memory'],
  memoryPerTask: ['memory'],
  memoryPerGpu: ['memory'],
  wholeNodeMemory: ['memory'],
  walltime: ['walltimeSeconds'],
  arrayRange: ['array'],
  arrayCount: ['array'],
  arrayMax: ['array.maxRunning'],
  dependency: ['dependsOn'],
  warnSignal: ['warnBefore'],
  warnSignalNumber: ['warnBefore'],
  warnAt: ['warnBefore'],
  comment: ['token']
};

/** @throws SpecError naming every value this system cannot be told. */
export function resourceHeader(
  facts: SystemFacts,
  spec: JobSpec,
  profile: BatchProfile
): ResourceHeader {
  const { variables, problems, warnings } = headerVariables(
    facts,
    spec,
    profile
  );
  if (problems.length > 0) {
    throw new SpecError(problems);
  }
  const honoured = new Set<string>([
    'env',
    'workdir',
    'marks',
    'token',
    'command',
    'native'
  ]);
  const native = [...profile.native, ...spec.native].map(text =>
    withoutPrefix(text, profile.directivePrefix ?? facts.script.prefix)
  );
  const skip = new Set(profile.skip.map(text => optionToken(facts, text)));
  const options: string[] = [];
  for (const item of facts.header) {
    if (!holds(item.when, variables)) {
      continue;
    }
    const filled = fill(item.line, variables);
    if (filled.text === null) {
      continue;
    }
    const fields =
      item.honours ??
      filled.used.flatMap(name => {
        const bare = name.replace(/^(raw|ad|paths)\./, '');
        return STANDS_FOR[bare] ?? [bare];
      });
    if (item.warn !== undefined) {
      warnings.push(item.warn);
    }
    if (filled.text === '') {
      fields.forEach(field => honoured.add(field));
      continue;
    }
    if (skip.has(optionToken(facts, filled.text))) {
      continue;
    }
    fields.forEach(field => honoured.add(field));
    const rival = native.find(text => clashes(facts, text, filled.text ?? ''));
    if (rival !== undefined) {
      warnings.push(
        `the line '${rival}' of your own replaces '${filled.text}'`
      );
      continue;
    }
    // A template that repeats an option writes several lines.
    options.push(...filled.text.split('\n'));
  }
  options.push(...native);
  const notHonoured = askedFor(spec).filter(field => !honoured.has(field));
  return {
    options,
    lines: options.map(text => directiveLine(facts, profile, text)),
    notHonoured,
    warnings
  };
}

function directiveLine(
  facts: SystemFacts,
  profile: BatchProfile,
  option: string
): string {
  const prefix = profile.directivePrefix ?? facts.script.prefix;
  return prefix === '' ? option : `${prefix} ${option}`;
}

/** A native line may be given with or without the system's prefix. */
function withoutPrefix(text: string, prefix: string): string {
  return prefix !== '' && text.startsWith(`${prefix} `)
    ? text.slice(prefix.length + 1).trim()
    : text.trim();
}

/** The fields a caller really asked for, beyond what any job has anyway. */
function askedFor(spec: JobSpec): string[] {
  const { geometry } = spec;
  const asked: [string, boolean][] = [
    ['name', spec.name !== undefined],
    ['stdout', spec.stdout !== undefined],
    ['stderr', spec.stderr !== undefined],
    ['joinOutput', spec.joinOutput],
    ['nodes', geometry.nodes > 1],
    ['tasks', geometry.tasks > 1],
    [
      'tasksPerNode',
      spec.tasksPerNode !== undefined && geometry.tasksPerNode > 1
    ],
    ['cpusPerTask', geometry.cpusPerTask > 1],
    ['gpusPerTask', geometry.gpus > 0],
    ['gpuType', spec.gpuType !== undefined],
    ['memory', spec.memory !== undefined],
    ['walltimeSeconds', spec.walltimeSeconds !== undefined],
    ['exclusive', spec.exclusive],
    ['queue', spec.queue !== undefined],
    ['account', spec.account !== undefined],
    ['project', spec.project !== undefined],
    ['qos', spec.qos !== undefined],
    ['constraint', spec.constraint !== undefined],
    ['reservation', spec.reservation !== undefined],
    ['placement', spec.placement !== 'any'],
    ['priority', spec.priority !== undefined],
    ['array', spec.array !== undefined],
    ['array.maxRunning', spec.array?.maxRunning !== undefined],
    ['dependsOn', spec.dependsOn.length > 0],
    ['warnBefore', spec.warnBefore !== undefined],
    ['requeue', spec.requeue]
  ];
  return asked.filter(([, yes]) => yes).map(([field]) => field);
}
