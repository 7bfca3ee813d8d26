/** The states of things, in words and tones. All words go through the translator. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type {
  ClusterView,
  EventKind,
  JobOutcome,
  JobPhase,
  WorkerStatus
} from '../../protocol/index.js';
import { formatDuration } from '../../protocol/index.js';

/** `busy` is a ring, `ended` grey: never colour alone. */
export type Tone = 'ok' | 'warn' | 'error' | 'busy' | 'ended';

export function clusterTone(view: ClusterView): Tone {
  switch (view.phase) {
    case 'creating':
    case 'stopping':
      return 'busy';
    case 'stopped':
      return 'ended';
    case 'failed':
      return 'error';
    case 'running':
      return view.health === 'ok'
        ? 'ok'
        : view.health === 'degraded'
          ? 'warn'
          : 'error';
  }
}

export function clusterWord(
  view: ClusterView,
  trans: TranslationBundle
): string {
  switch (view.phase) {
    case 'creating':
      return trans.__('starting');
    case 'stopping':
      return trans.__('stopping');
    case 'stopped':
      return trans.__('stopped');
    case 'failed':
      return trans.__('failed');
    case 'running':
      return view.health === 'ok'
        ? trans.__('running well')
        : view.health === 'degraded'
          ? trans.__('running, needs attention')
          : trans.__('unreachable');
  }
}

export function workerTone(status: WorkerStatus, reclaimed: boolean): Tone {
  switch (status) {
    case 'starting':
    case 'retiring':
      return 'busy';
    case 'paused':
      return 'warn';
    case 'lost':
      return 'error';
    case 'running':
      return reclaimed ? 'warn' : 'ok';
  }
}

export function workerWord(
  status: WorkerStatus,
  trans: TranslationBundle
): string {
  switch (status) {
    case 'starting':
      return trans.__('starting');
    case 'running':
      return trans.__('running');
    case 'paused':
      return trans.__('paused');
    case 'retiring':
      return trans.__('retiring');
    case 'lost':
      return trans.__('lost');
  }
}

export function jobTone(phase: JobPhase, outcome?: JobOutcome): Tone {
  switch (phase) {
    case 'running':
      return 'ok';
    case 'ended':
      return outcome === 'completed' || outcome === 'cancelled'
        ? 'ended'
        : 'error';
    case 'held':
    case 'suspended':
    case 'uncertain':
      return 'warn';
    default:
      return 'busy';
  }
}

export function jobWord(
  phase: JobPhase,
  outcome: JobOutcome | undefined,
  trans: TranslationBundle
): string {
  if (phase === 'ended' && outcome !== undefined) {
    return outcomeWord(outcome, trans);
  }
  switch (phase) {
    case 'submitting':
      return trans.__('submitting');
    case 'queued':
      return trans.__('queued');
    case 'held':
      return trans.__('held');
    case 'starting':
      return trans.__('starting');
    case 'running':
      return trans.__('running');
    case 'suspended':
      return trans.__('suspended');
    case 'stopping':
      return trans.__('stopping');
    case 'ended':
      return trans.__('ended');
    case 'uncertain':
      return trans.__('uncertain');
  }
}

function outcomeWord(outcome: JobOutcome, trans: TranslationBundle): string {
  switch (outcome) {
    case 'completed':
      return trans.__('completed');
    case 'failed':
      return trans.__('failed');
    case 'timeout':
      return trans.__('out of time');
    case 'out-of-memory':
      return trans.__('out of memory');
    case 'node-failure':
      return trans.__('node failure');
    case 'preempted':
      return trans.__('preempted');
    case 'cancelled':
      return trans.__('cancelled');
    case 'never-connected':
      return trans.__('never connected');
    case 'lost':
      return trans.__('lost');
  }
}

/** Of the timeline's kinds; the event's own message says the rest. */
export function eventWord(kind: EventKind, trans: TranslationBundle): string {
  switch (kind) {
    case 'created':
      return trans.__('created');
    case 'scaled':
      return trans.__('scaled');
    case 'adapted':
      return trans.__('adapted');
    case 'requested':
      return trans.__('requested');
    case 'submitted':
      return trans.__('submitted');
    case 'queued':
      return trans.__('queued');
    case 'starting':
      return trans.__('starting');
    case 'worker-connected':
      return trans.__('worker connected');
    case 'worker-retiring':
      return trans.__('worker retiring');
    case 'worker-retired':
      return trans.__('worker retired');
    case 'worker-reclaiming':
      return trans.__('worker reclaimed');
    case 'worker-died':
      return trans.__('worker died');
    case 'loss-explained':
      return trans.__('loss explained');
    case 'released':
      return trans.__('released');
    case 'submit-failed':
      return trans.__('submit failed');
    case 'group-failing':
      return trans.__('group failing');
    case 'retire-refused':
      return trans.__('retire refused');
    case 'backend-unreachable':
      return trans.__('backend unreachable');
    case 'backend-reachable':
      return trans.__('backend reachable');
    case 'scheduler-started':
      return trans.__('scheduler started');
    case 'scheduler-died':
      return trans.__('scheduler died');
    case 'recovered':
      return trans.__('recovered');
    case 'adopted':
      return trans.__('adopted');
    case 'renamed':
      return trans.__('renamed');
    case 'lifetime-changed':
      return trans.__('lifetime changed');
    case 'resumed':
      return trans.__('resumed');
    case 'restarted':
      return trans.__('restarted');
    case 'stopping':
      return trans.__('stopping');
    case 'stopped':
      return trans.__('stopped');
    case 'failed':
      return trans.__('failed');
    default:
      // A newer bridge may know kinds that this panel does not.
      return String(kind).replaceAll('-', ' ');
  }
}

/** `It died` and `See its log.` → `It died. See its log.` */
export function sentences(...parts: (string | undefined)[]): string {
  return parts
    .filter(part => part !== undefined && part !== '')
    .map((part, index, all) =>
      index < all.length - 1 && !/[.!?…:]$/.test(part ?? '') ? `${part}.` : part
    )
    .join(' ');
}

/** `7200` seconds → `2 h ago`. Only the largest unit: it is a row, not a log. */
export function ago(seconds: number, trans: TranslationBundle): string {
  if (seconds < 60) {
    return trans.__('just now');
  }
  const largest = formatDuration(seconds).split(' ').slice(0, 2).join(' ');
  return trans.__('%1 ago', largest);
}
