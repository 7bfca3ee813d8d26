/** The state machine of cluster and job. PURE. Unknown is never dead: nothing ends without a positive fact. */
import type {
  ClusterPhase,
  JobOutcome,
  JobPhase
} from '../../protocol/index.js';

const CLUSTER_STEPS: Readonly<Record<ClusterPhase, readonly ClusterPhase[]>> = {
  creating: ['running', 'stopping'],
  running: ['stopping'],
  stopping: ['stopped', 'failed', 'creating'],
  stopped: ['creating'],
  failed: ['creating']
};

export function mayStep(from: ClusterPhase, to: ClusterPhase): boolean {
  return CLUSTER_STEPS[from].includes(to);
}

/** Has this cluster ended, so that its name is free and nothing of it runs? */
export function isOver(phase: ClusterPhase): boolean {
  return phase === 'stopped' || phase === 'failed';
}

/** Phases of a job that count toward the maximum: everything but `ended`, also what is unknown. */
export function isLive(phase: JobPhase): boolean {
  return phase !== 'ended';
}

/** Waiting to be granted: may be withdrawn without a drain. */
export function isPending(phase: JobPhase): boolean {
  switch (phase) {
    case 'submitting':
    case 'uncertain':
    case 'queued':
    case 'held':
      return true;
    case 'starting':
    case 'running':
    case 'suspended':
    case 'stopping':
    case 'ended':
      return false;
    default:
      return phase satisfies never;
  }
}

export type EndFacts = {
  outcome: JobOutcome | null;
  endedByUs: boolean;
  /** Did any of its workers ever register? */
  everConnected: boolean;
  /** The job of the scheduler never registers workers. */
  scheduler: boolean;
};

/**
 * What an ended job is called. `never-connected` only where nothing better is known: a worker that
 * exits 0 without ever having registered looks "completed" to a resource manager.
 */
export function outcomeOf(facts: EndFacts): JobOutcome {
  if (
    facts.endedByUs &&
    (facts.outcome === null || facts.outcome === 'failed')
  ) {
    return 'cancelled';
  }
  if (!facts.scheduler && !facts.everConnected && !facts.endedByUs) {
    if (facts.outcome === null || facts.outcome === 'completed') {
      return 'never-connected';
    }
  }
  return facts.outcome ?? 'lost';
}

/** Is this end the job's own failure, to be told as a death and counted by the breaker? */
export function isDeath(outcome: JobOutcome, endedByUs: boolean): boolean {
  return !endedByUs && outcome !== 'completed';
}
