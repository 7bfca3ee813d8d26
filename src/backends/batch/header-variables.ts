/** What the header lines of a specification may speak of: one job's values, quoted for its dialect. */
import { indexList, oneRange } from './array-indices.js';
import { type SpecProblem } from './errors.js';
import { memoryPer } from './geometry.js';
import { nativeJobName } from './job-name.js';
import type { JobSpec, NodeText } from './job-spec.js';
import { formatSize } from './memory-size.js';
import type { BatchProfile } from './profile.js';
import { condorString, directiveWord } from './quoting.js';
import type { SystemFacts } from './specification.js';
import { signalNumber } from './states.js';
import { holds, type Variables } from './templates.js';
import { formatDurationFor, roundUpWalltime } from './walltime.js';

/** Stands in a path where the id would, for systems that cannot write it. */
const FOLDER = '\u0000';

export type HeaderVariables = {
  variables: Variables;
  problems: SpecProblem[];
  warnings: string[];
};

/** Everything the templates may speak of; texts quoted for the system's dialect. */
export function headerVariables(
  facts: SystemFacts,
  spec: JobSpec,
  profile: BatchProfile
): HeaderVariables {
  const problems: SpecProblem[] = [];
  const warnings: string[] = [];
  const variables: Record<string, string | undefined> = {};
  const { geometry } = spec;

  const word = (field: string, value: string | undefined): void => {
    if (value === undefined) {
      return;
    }
    const quoted = directiveWord(facts.script.quoting, value);
    if (quoted === null) {
      problems.push({
        field,
        message: `cannot be written in a directive of ${facts.title}`
      });
    }
    variables[field] = quoted ?? undefined;
    variables[`raw.${field}`] = /["']/.test(value) ? undefined : value;
    variables[`ad.${field}`] = condorString(value) ?? undefined;
  };
  const number = (name: string, value: number, least = 1): void => {
    if (value >= least) {
      variables[name] = String(value);
    }
  };

  const name = nativeJobName(facts, spec.name, spec.token);
  word('name', name?.text);
  if (name?.changed === true && spec.name !== undefined) {
    warnings.push(
      `the job is called '${name.text}': ${facts.title} does not take '${spec.name}'`
    );
  }
  word('comment', spec.token);
  for (const field of [
    'queue',
    'account',
    'project',
    'qos',
    'constraint',
    'reservation'
  ] as const) {
    word(field, spec[field]);
  }
  for (const field of ['stdout', 'stderr'] as const) {
    const path = logPath(facts, spec, field, problems);
    word(field, path);
    // For dialects whose own marks for the id would not survive quoting.
    variables[`paths.${field}`] = path;
    const text = spec[field];
    if (text !== undefined && !distinct(text, spec.array !== undefined)) {
      warnings.push(
        `${field}: all jobs write the same file; put the job's id${spec.array === undefined ? '' : ' and index'} into the path`
      );
    }
  }
  if (typeof spec.workdir === 'string') {
    word('workdir', spec.workdir);
  }
  variables['shell'] = profile.shell;
  number('nodes', geometry.nodes);
  number('tasks', geometry.tasks);
  number('tasksPerNode', geometry.tasksPerNode);
  number('cpusPerTask', geometry.cpusPerTask);
  number('cpusPerNode', geometry.cpusPerNode);
  number('cpus', geometry.cpus);
  number('gpus', geometry.gpus);
  number('gpusPerNode', geometry.gpusPerNode);
  number('gpusPerTask', geometry.gpusPerTask);
  number('workers', spec.workersPerJob);
  if (geometry.nodes > 1) {
    variables['manyNodes'] = 'yes';
  }
  if (geometry.tasks > 1) {
    variables['manyTasks'] = 'yes';
  }
  if (geometry.cpus > 1) {
    variables['manyCpus'] = 'yes';
  }
  variables['gpuType'] = spec.gpuType;
  memoryVariables(facts, spec, variables, warnings);
  if (spec.walltimeSeconds === 'unlimited') {
    variables['walltime'] = facts.walltime.unlimited ?? undefined;
    if (facts.walltime.unlimited === null) {
      warnings.push(
        `${facts.title} is told no walltime: its own default may be a limit`
      );
    }
  } else if (spec.walltimeSeconds !== undefined) {
    const whole = roundUpWalltime(
      spec.walltimeSeconds,
      facts.capabilities.walltimeResolution
    );
    variables['walltime'] = formatDurationFor(facts.walltime.form, whole);
  }
  for (const flag of ['exclusive', 'joinOutput', 'requeue'] as const) {
    variables[flag] = spec[flag] ? 'yes' : undefined;
  }
  variables['placement'] =
    spec.placement === 'any' ? undefined : spec.placement;
  if (spec.priority !== undefined && facts.priority !== undefined) {
    const { lowest, highest } = facts.priority;
    variables['priority'] = String(
      Math.round(lowest + (highest - lowest) * spec.priority)
    );
  }
  arrayVariables(facts, spec, variables, problems);
  dependencyVariable(facts, spec, variables, warnings);
  if (spec.warnBefore !== undefined) {
    variables['warnSignal'] = spec.warnBefore.signal;
    variables['warnSignalNumber'] = String(
      signalNumber(spec.warnBefore.signal)
    );
    variables['warnSeconds'] = String(spec.warnBefore.seconds);
    variables['warnMinutes'] = String(Math.ceil(spec.warnBefore.seconds / 60));
    if (typeof spec.walltimeSeconds === 'number') {
      const at = spec.walltimeSeconds - spec.warnBefore.seconds;
      if (at <= 0) {
        problems.push({
          field: 'warnBefore',
          message: 'begins before the job does: its seconds exceed the walltime'
        });
      } else {
        variables['warnAt'] = formatDurationFor(facts.walltime.form, at);
      }
    }
  }
  for (const [key, value] of Object.entries(profile.site)) {
    if (!Object.hasOwn(facts.site, key)) {
      problems.push({
        field: `profile.site.${key}`,
        message: `is not a key of ${facts.title}; it takes ${Object.keys(facts.site).join(', ') || 'none'}`
      });
    } else if (value !== false) {
      variables[`site.${key}`] = value === true ? 'yes' : String(value);
    }
  }
  for (const [key, rule] of Object.entries(facts.siteRequired)) {
    if (holds(rule, variables) && variables[`site.${key}`] === undefined) {
      problems.push({
        field: `profile.site.${key}`,
        message: `is needed for this job: ${facts.site[key] ?? key}`
      });
    }
  }
  return { variables, problems, warnings };
}

function memoryVariables(
  facts: SystemFacts,
  spec: JobSpec,
  variables: Record<string, string | undefined>,
  warnings: string[]
): void {
  const { memory } = spec;
  if (memory === undefined) {
    return;
  }
  if (memory === 'wholeNode' || memory.bytes === 0) {
    variables['wholeNodeMemory'] = facts.memory.wholeNode ?? undefined;
    return;
  }
  if (memory.bytes < 1024 ** 2) {
    warnings.push(
      `memory: ${memory.bytes} bytes is less than 1 MiB; a number without a unit counts bytes`
    );
  }
  variables['memoryScope'] = memory.per;
  const names = {
    job: 'memoryPerJob',
    node: 'memoryPerNode',
    cpu: 'memoryPerCpu',
    task: 'memoryPerTask',
    gpu: 'memoryPerGpu'
  } as const;
  for (const scope of ['job', 'node', 'cpu', 'task', 'gpu'] as const) {
    const bytes = memoryPer(scope, memory, spec.geometry);
    if (bytes !== null) {
      variables[names[scope]] = formatSize(bytes, facts.memory.units);
    }
  }
}

function arrayVariables(
  facts: SystemFacts,
  spec: JobSpec,
  variables: Record<string, string | undefined>,
  problems: SpecProblem[]
): void {
  if (spec.array === undefined || facts.array === undefined) {
    return;
  }
  const { indices, maxRunning } = spec.array;
  if (!facts.capabilities.arrayOfOne && indices.length === 1) {
    variables['arrayOfOne'] = 'yes';
    return;
  }
  const first = facts.capabilities.firstArrayIndex;
  const range = oneRange(indices);
  const refuse = (message: string): void => {
    problems.push({ field: 'array.indices', message });
  };
  if (facts.array.form === 'count') {
    if (range === null || range.step !== 1 || range.first !== (first ?? 0)) {
      refuse(`${facts.title} counts elements from ${first ?? 0} without gaps`);
      return;
    }
    variables['arrayCount'] = String(indices.length);
  } else if (facts.array.form === 'range') {
    if (range === null) {
      refuse(
        `${facts.title} takes one range with a step, not a list: submit several arrays`
      );
      return;
    }
    if (first !== null && range.first < first) {
      refuse(`${facts.title} counts elements from ${first}`);
      return;
    }
    variables['arrayRange'] =
      `${range.first}-${range.last}${range.step === 1 ? '' : facts.array.step + String(range.step)}`;
  } else {
    variables['arrayRange'] = indexList(indices);
  }
  variables['array'] = 'yes';
  if (maxRunning !== undefined) {
    variables['arrayMax'] = String(maxRunning);
  }
}

function dependencyVariable(
  facts: SystemFacts,
  spec: JobSpec,
  variables: Record<string, string | undefined>,
  warnings: string[]
): void {
  const rule = facts.dependency;
  if (spec.dependsOn.length === 0 || rule === undefined) {
    return;
  }
  const terms = spec.dependsOn.map(({ ids, condition }) => {
    const word = rule[condition] ?? rule.any;
    if (rule[condition] === null) {
      warnings.push(
        `dependsOn: ${facts.title} cannot wait for '${condition}' of ${ids.join(', ')}; it waits for any end`
      );
    }
    const shown = ids.map(id => (rule.shortIds ? id.replace(/\..*$/, '') : id));
    return word?.includes('{id}') === true
      ? shown.map(id => word.replace('{id}', id)).join(rule.idSeparator)
      : (word ?? '') + shown.join(rule.idSeparator);
  });
  variables['dependency'] = terms.join(rule.separator);
}

function distinct(text: NodeText, array: boolean): boolean {
  if (typeof text === 'string') {
    return false;
  }
  const fills = text.map(part =>
    typeof part === 'object' && 'fill' in part ? part.fill : null
  );
  return fills.includes('id') && (!array || fills.includes('index'));
}

function logPath(
  facts: SystemFacts,
  spec: JobSpec,
  field: 'stdout' | 'stderr',
  problems: SpecProblem[]
): string | undefined {
  const text = spec[field];
  if (text === undefined) {
    return undefined;
  }
  const { fill: how } = facts.script;
  const literal = (part: string): string =>
    Array.from(part, character => how.escape[character] ?? character).join('');
  const parts = (typeof text === 'string' ? [text] : text).map(part => {
    if (typeof part === 'string') {
      return literal(part);
    }
    if ('variable' in part) {
      problems.push({
        field,
        message: `${facts.title} opens log files itself: $${part.variable} of the node is not known there`
      });
      return '';
    }
    if (part.fill === 'id') {
      if (how.id === null) {
        return FOLDER;
      }
      return spec.array !== undefined && how.arrayId !== undefined
        ? how.arrayId
        : how.id;
    }
    return spec.array === undefined ? '' : (how.index ?? '');
  });
  const path = parts.join('');
  // Systems that name the file themselves are told the folder only.
  const cut = path.indexOf(FOLDER);
  return cut < 0 ? path : path.slice(0, path.lastIndexOf('/', cut) + 1) || './';
}
