/** No launcher: the program itself, or several copies of it on this host. */
import type { LauncherFacts } from './launcher.js';

/**
 * Starts $1 copies of the rest, waits for all, and ends with the first code that is not 0. A signal
 * to it goes to all of them. POSIX sh.
 */
export const START_ALL = [
  'n=$1; shift; i=0; pids=',
  'while [ "$i" -lt "$n" ]; do',
  '  MUSTER_RANK=$i MUSTER_SIZE=$n "$@" & pids="$pids $!"; i=$((i + 1))',
  'done',
  "trap 'kill -TERM $pids 2>/dev/null' TERM",
  "trap 'kill -INT $pids 2>/dev/null' INT",
  "trap 'kill -HUP $pids 2>/dev/null' HUP",
  'rc=0',
  'for p in $pids; do',
  '  wait "$p"; one=$?',
  // A trap that ran ends the wait although the process may still live.
  '  while [ "$one" -gt 128 ] && kill -0 "$p" 2>/dev/null; do wait "$p"; one=$?; done',
  '  [ "$rc" -ne 0 ] || rc=$one',
  'done',
  'exit "$rc"'
].join('\n');

export const none: LauncherFacts = {
  name: 'none',
  title: 'no launcher',
  dialects: ['none'],
  proven: 'recorded',
  capabilities: {
    hosts: false,
    uneven: false,
    bind: false,
    gpus: false,
    env: true,
    workdir: false,
    label: false,
    oversubscribe: true,
    mpmd: false
  },
  program: 'sh',
  rankVariables: {
    rank: 'MUSTER_RANK',
    localRank: 'MUSTER_RANK',
    size: 'MUSTER_SIZE'
  },
  versionProbe: null,
  readVersion: () => null,
  cannotWorkIn: () => null,
  check: ({ spec }) => [
    ...(spec.nodes > 1
      ? [
          {
            field: 'nodes',
            message: 'without a launcher programs start on this host only'
          }
        ]
      : []),
    ...(spec.extraArgs.length > 0
      ? [{ field: 'extraArgs', message: 'there is no launcher to take them' }]
      : [])
  ],
  render: ({ spec, program }) => ({
    options:
      spec.tasks === 1
        ? []
        : [program, '-c', START_ALL, 'muster-start', String(spec.tasks)]
  })
};
