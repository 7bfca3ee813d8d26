/** How the launchers of MPI libraries learn of their hosts inside each batch system. */
import type { AllocationKind } from '../allocation/allocation.js';
import type { SpecProblem } from '../batch/errors.js';
import type { HostFile, HostFileForm, LaunchPlan } from './launcher.js';

/** Names for people. */
export const SYSTEM_TITLES: Readonly<Record<AllocationKind, string>> = {
  flux: 'Flux',
  htcondor: 'HTCondor',
  lsf: 'LSF',
  pbs: 'PBS',
  torque: 'Torque',
  slurm: 'Slurm',
  sge: 'Grid Engine',
  oar: 'OAR',
  cobalt: 'Cobalt'
};

/** A reason where the launcher belongs to other batch systems. */
export function onlyIn(
  title: string,
  kinds: readonly AllocationKind[]
): (kind: AllocationKind) => string | null {
  const names = kinds.map(kind => SYSTEM_TITLES[kind]).join(', ');
  return kind =>
    kinds.includes(kind)
      ? null
      : `${title} starts programs in allocations of ${names} only; this is one of ${SYSTEM_TITLES[kind]}`;
}

/** Where the hosts come from when the launcher does not find them by itself. */
export function missingHosts(
  plan: LaunchPlan,
  picksUp: readonly AllocationKind[],
  title: string
): SpecProblem[] {
  const found =
    plan.hosts !== null ||
    plan.nodeFileVariable !== null ||
    !plan.spread ||
    (plan.scheduler !== null && picksUp.includes(plan.scheduler));
  return found
    ? []
    : [
        {
          field: 'hosts',
          message:
            plan.scheduler === null
              ? `${title} needs the names of the hosts for ${plan.spec.nodes} nodes outside of a batch system`
              : `${title} does not find the hosts of ${SYSTEM_TITLES[plan.scheduler]}, which has no file of them: render inside the allocation`
        }
      ];
}

/** The file to hand over: ours where the hosts are known, else that of the batch system. */
export function fileOfHosts(
  plan: LaunchPlan,
  form: HostFileForm
): HostFile | undefined {
  if (plan.hosts !== null) {
    return plan.hostFile(form);
  }
  return plan.nodeFileVariable === null
    ? undefined
    : {
        path: `$${plan.nodeFileVariable}`,
        text: null,
        variable: plan.nodeFileVariable
      };
}

/** Systems that give no way of their own to start programs on other hosts. */
export function remoteStart(plan: LaunchPlan): string[] {
  const { scheduler, spread } = plan;
  return spread &&
    (scheduler === 'oar' || scheduler === 'flux' || scheduler === 'cobalt')
    ? [
        `programs on other hosts of ${SYSTEM_TITLES[scheduler]} are started by ssh${
          scheduler === 'oar'
            ? '; where the site uses cpusets it must be oarsh'
            : ''
        }`
      ]
    : [];
}

/** Tasks of the first program; the further ones have their own counts. */
export function firstTasks({ spec }: LaunchPlan): number {
  return spec.tasks - spec.mpmd.reduce((sum, one) => sum + one.tasks, 0);
}
