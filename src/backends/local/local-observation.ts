/** A job's facts as the contract tells them. Pure. */
import type { Handle, JobObservation } from '../resource-manager.js';
import type { LocalHandleData } from './local-handle.js';
import { jobEnd, type ProcessFacts } from './local-outcome.js';

export function hasEnded(processes: readonly ProcessFacts[]): boolean {
  return processes.every(({ state }) => state === 'ended');
}

export function observationOf(
  handle: Handle,
  data: LocalHandleData,
  processes: readonly ProcessFacts[]
): JobObservation {
  const started = processes.flatMap(process => process.started ?? []).sort();
  const common = {
    handle,
    host: data.host,
    startedAt: started[0] ?? null,
    deadline: null
  };
  const living = processes.filter(({ state }) => state !== 'ended');
  if (living.length > 0) {
    const phase = living.every(({ state }) => state === 'stopping')
      ? 'stopping'
      : 'running';
    const ended = processes.length - living.length;
    return {
      ...common,
      phase,
      nativeState: phase,
      reason:
        ended > 0
          ? `${ended} of ${processes.length} processes have ended`
          : null,
      exit: null,
      endedAt: null
    };
  }
  const end = jobEnd(processes);
  const ended = processes.flatMap(process => process.ended ?? []).sort();
  return {
    ...common,
    phase: 'ended',
    outcome: end.outcome,
    nativeState: 'ended',
    reason: end.message,
    exit: end.exit,
    endedAt: ended.at(-1) ?? null
  };
}
