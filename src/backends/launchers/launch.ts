/** From what is asked for to one launcher's argv: checked, placed, rendered. Pure. */
import type { Allocation, AllocationKind } from '../allocation/allocation.js';
import { SpecError, type SpecProblem } from '../batch/errors.js';
import { choose, filledFrom } from './fit.js';
import { hostFileText } from './host-file.js';
import {
  parseLaunchSpec,
  type LaunchHost,
  type LaunchSpec,
  type LaunchSpecInput
} from './launch-spec.js';
import type {
  HostFile,
  Launch,
  LaunchContext,
  LauncherFacts,
  LaunchPlan
} from './launcher.js';

/** Files with one host per line that batch systems name in a variable. */
const NODE_FILES: Readonly<Partial<Record<AllocationKind, string>>> = {
  pbs: 'PBS_NODEFILE',
  torque: 'PBS_NODEFILE',
  lsf: 'LSB_DJOB_HOSTFILE',
  oar: 'OAR_NODEFILE',
  cobalt: 'COBALT_NODEFILE'
};

/** What stands in the way of this launch; empty: nothing that is known. */
export function problemsOf(
  facts: LauncherFacts,
  input: LaunchSpecInput,
  context: LaunchContext = {},
  command: readonly string[] = ['true']
): SpecProblem[] {
  try {
    // A path for the host file is the matter of whoever renders.
    planOf(facts, input, { hostFile: 'hosts', ...context }, command);
    return [];
  } catch (error) {
    if (error instanceof SpecError) {
      return [...error.problems];
    }
    throw error;
  }
}

/** @throws SpecError naming every problem at once */
export function launchCommand(
  facts: LauncherFacts,
  input: LaunchSpecInput,
  command: readonly string[],
  context: LaunchContext = {}
): Launch {
  const { plan, warnings } = planOf(facts, input, context, command);
  const { spec } = plan;
  const made = facts.render(plan);
  const tail = spec.mpmd.flatMap(one => [
    ':',
    '-n',
    String(one.tasks),
    ...one.command
  ]);
  return {
    argv: [...made.options, ...spec.extraArgs, ...command, ...tail],
    hostFile: made.hostFile ?? null,
    env: { ...made.env, ...spec.env },
    warnings: [
      ...warnings,
      ...notHonoured(facts, spec),
      ...(made.warnings ?? [])
    ]
  };
}

function planOf(
  facts: LauncherFacts,
  input: LaunchSpecInput,
  context: LaunchContext,
  command: readonly string[]
): { plan: LaunchPlan; warnings: string[] } {
  const { allocation = null } = context;
  const spec = parseLaunchSpec(
    allocation === null ? input : filledFrom(input, allocation)
  );
  const scheduler = allocation?.kind ?? context.scheduler ?? null;
  const problems = [
    ...checkCommand(facts, spec, command),
    ...checkCapabilities(facts, spec)
  ];
  const why = scheduler === null ? null : facts.cannotWorkIn(scheduler);
  if (why !== null) {
    problems.push({ field: 'launcher', message: why });
  }
  const placed =
    allocation === null
      ? { hosts: spec.hosts, pinned: spec.hosts !== null, problems: [] }
      : choose(spec, allocation);
  problems.push(...placed.problems);
  const { dialect, warnings } = dialectOf(facts, context.dialect, problems);
  const plan: LaunchPlan = {
    spec,
    command,
    hosts: placed.hosts,
    pinned: placed.pinned,
    scheduler,
    spread: spec.nodes > 1,
    dialect,
    program: context.program ?? facts.program,
    nodeFileVariable:
      allocation === null && spec.hosts === null && scheduler !== null
        ? (NODE_FILES[scheduler] ?? null)
        : null,
    hostFile: form => hostFileOf(placed.hosts ?? [], form, context.hostFile)
  };
  if (problems.length === 0) {
    problems.push(...(facts.check?.(plan, allocation) ?? []));
  }
  if (problems.length === 0) {
    // Where a host file is needed, rendering says that no path for it was given.
    facts.render(plan);
  }
  if (problems.length > 0) {
    throw new SpecError(problems);
  }
  return { plan, warnings };
}

function hostFileOf(
  hosts: readonly LaunchHost[],
  form: Parameters<LaunchPlan['hostFile']>[0],
  path: string | undefined
): HostFile {
  if (path === undefined || path === '' || path.startsWith('-')) {
    throw new SpecError([
      {
        field: 'hostFile',
        message:
          'this launch needs a file of hosts: say where it will be written'
      }
    ]);
  }
  return { path, text: hostFileText(hosts, form), variable: null };
}

function checkCommand(
  facts: LauncherFacts,
  spec: LaunchSpec,
  command: readonly string[]
): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const commands = [command, ...spec.mpmd.map(one => one.command)];
  for (const words of commands) {
    const [program = ''] = words;
    if (program === '') {
      problems.push({ field: 'command', message: 'names no program' });
    } else if (program.startsWith('-')) {
      problems.push({
        field: 'command',
        message: `'${program}' would be read as an option of the launcher; write './${program}'`
      });
    } else if (/^[A-Za-z_]\w*=/u.test(program)) {
      problems.push({
        field: 'command',
        message: `'${program}' would be read as a variable; give variables in env`
      });
    }
    if (words.some(one => one.includes('\0'))) {
      problems.push({ field: 'command', message: 'must not contain NUL' });
    }
    if (facts.capabilities.mpmd && words.includes(':')) {
      problems.push({
        field: 'command',
        message: "the word ':' would begin another program of the launch"
      });
    }
  }
  return problems;
}

function checkCapabilities(
  facts: LauncherFacts,
  spec: LaunchSpec
): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const refuse = (
    field: string,
    wanted: boolean,
    can: boolean,
    what: string
  ) => {
    if (wanted && !can) {
      problems.push({ field, message: `${facts.title} cannot ${what}` });
    }
  };
  const { capabilities } = facts;
  refuse(
    'mpmd',
    spec.mpmd.length > 0,
    capabilities.mpmd,
    'start several programs in one launch'
  );
  refuse(
    'hosts',
    spec.hosts !== null,
    capabilities.hosts,
    'be told on which hosts to start'
  );
  refuse(
    'hosts',
    spec.tasksPerNode === null,
    capabilities.uneven,
    'put different numbers of tasks on different hosts'
  );
  refuse(
    'oversubscribe',
    spec.oversubscribe,
    capabilities.oversubscribe,
    'oversubscribe'
  );
  const total = spec.mpmd.reduce((sum, one) => sum + one.tasks, 0);
  if (total >= spec.tasks && total > 0) {
    problems.push({
      field: 'mpmd',
      message: `the further programs take ${total} of ${spec.tasks} tasks; the first one needs at least one`
    });
  }
  return problems;
}

function notHonoured(facts: LauncherFacts, spec: LaunchSpec): string[] {
  const { capabilities, title } = facts;
  const warnings: string[] = [];
  const warn = (wanted: boolean, can: boolean, text: string): void => {
    if (wanted && !can) {
      warnings.push(text);
    }
  };
  warn(
    spec.gpusPerTask > 0,
    capabilities.gpus,
    `${title} does not assign GPUs: the program must choose by its local rank`
  );
  warn(
    spec.workdir !== undefined,
    capabilities.workdir,
    `${title} has no option for the working directory: start it there`
  );
  warn(spec.label, capabilities.label, `${title} does not label output`);
  return warnings;
}

function dialectOf(
  facts: LauncherFacts,
  wanted: string | undefined,
  problems: SpecProblem[]
): { dialect: string; warnings: string[] } {
  const [newest = ''] = facts.dialects;
  if (wanted === undefined) {
    return {
      dialect: newest,
      warnings:
        facts.dialects.length > 1
          ? [
              `the version of ${facts.title} is not known: rendered for ${newest}`
            ]
          : []
    };
  }
  if (!facts.dialects.includes(wanted)) {
    problems.push({
      field: 'dialect',
      message: `'${wanted}' is not one of ${facts.dialects.join(', ')}`
    });
  }
  return { dialect: wanted, warnings: [] };
}

/** Does the allocation give fewer slots on one of these hosts than tasks are started there? */
export function slotsShort(
  plan: LaunchPlan,
  allocation: Allocation
): { host: string; slots: number; tasks: number } | null {
  for (const one of plan.hosts ?? []) {
    const slots = allocation.nodes.find(node => node.host === one.host)?.tasks;
    const tasks = one.slots ?? 1;
    if (slots !== null && slots !== undefined && tasks > slots) {
      return { host: one.host, slots, tasks };
    }
  }
  return null;
}
