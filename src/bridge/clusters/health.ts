/** Reasons of the moment that follow from the state itself; others are set where they are learned. */
import { formatDuration } from '../../protocol/index.js';
import type { ClusterState } from './cluster-state.js';
import { liveJobs, now } from './context.js';
import { isDeath } from './lifecycle.js';
import { exitSentence } from './settlement.js';

/** A death is shown on the row for this long. */
export const DEATH_SHOWN_MS = 600_000;
const STOP_ATTENTION_MS = 60_000;

/** @returns milliseconds after which a reason may have to go by itself; null: none will. */
export function refreshReasons(state: ClusterState): number | null {
  failingGroups(state);
  tlsOff(state);
  slowStop(state);
  return recentDeaths(state);
}

function failingGroups(state: ClusterState): void {
  const failing = Object.entries(state.record.failingGroups);
  state.setReason(
    'group-failing',
    failing.length === 0
      ? null
      : {
          message: failing.map(([group, why]) => `${group}: ${why}`).join('; '),
          hint: 'See the log of a worker, mend the cause, then resume.'
        },
    now()
  );
}

function tlsOff(state: ClusterState): void {
  state.setReason(
    'tls-off',
    state.record.spec.security.tls
      ? null
      : {
          message:
            'Without TLS anybody on this host or network who finds the port can run code as you.'
        },
    now()
  );
}

function recentDeaths(state: ClusterState): number | null {
  const nowMs = Date.now();
  const deaths = state.current.filter(
    job =>
      job.phase === 'ended' &&
      job.group !== null &&
      // What was refused never lived.
      job.handle !== null &&
      isDeath(job.outcome ?? 'lost', job.endedByUs) &&
      job.endedAt !== null &&
      nowMs - Date.parse(job.endedAt) < DEATH_SHOWN_MS
  );
  const last = deaths.at(-1);
  if (last === undefined) {
    state.setReason('worker-died', null, '');
    return null;
  }
  const count = `${deaths.length} ${deaths.length === 1 ? 'worker' : 'workers'} died in the last ${formatDuration(DEATH_SHOWN_MS / 1000)}`;
  const why = last.reason === null ? exitSentence(last.exit) : last.reason;
  state.setReason(
    'worker-died',
    {
      message: `${count}; the last: ${last.outcome ?? 'failed'} (${why})`,
      hint: 'See its log.'
    },
    now()
  );
  return (
    DEATH_SHOWN_MS - (nowMs - Date.parse(last.endedAt ?? last.createdAt)) + 1
  );
}

function slowStop(state: ClusterState): void {
  if (state.record.phase !== 'stopping') {
    return;
  }
  const left = liveJobs(state);
  const asked = left.flatMap(job => state.releasedAt.get(job.id) ?? []);
  if (asked.length > 0 && Date.now() - Math.min(...asked) > STOP_ATTENTION_MS) {
    const names = left.slice(0, 5).map(job => job.handle?.nativeId ?? job.id);
    state.setReason(
      'needs-attention',
      {
        message: `${left.length} ${left.length === 1 ? 'job has' : 'jobs have'} not ended yet: ${names.join(', ')}`,
        hint: 'Stop with force gives up on them.'
      },
      now()
    );
  }
}
