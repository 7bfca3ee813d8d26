/**
 * Asking a batch system about jobs, queues and itself. Answers of several commands are one answer:
 * what one chunk tells stays good when another fails.
 */
import type { CommandRunner } from '../commands/command-runner.js';
import { ask, QUERY_ENVIRONMENT, wholeLines } from './conversation.js';
import { nameHasToken } from './job-name.js';
import { NO_PROFILE, type BatchProfile } from './profile.js';
import type {
  CommandOutput,
  JobInfo,
  LimitsResult,
  QueryResult,
  TokenMatch
} from './results.js';
import type { Scheduling } from './scheduling.js';
import type { QueryContext } from './status.js';
import type { QueryCode } from './states.js';

/** By ids, or all of a user's jobs whose token begins with ours. */
export type JobQuery =
  | { ids: readonly string[]; user?: string }
  | { tokenPrefix: string; user: string };

export async function queryJobs(
  system: Scheduling,
  query: JobQuery,
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE
): Promise<QueryResult> {
  if ('ids' in query) {
    const { user } = query;
    return several(
      system.statusArgv(query.ids, user === undefined ? {} : { user }, profile),
      query.ids,
      {
        read: (output, context) => system.parseStatus(output, context),
        runner,
        profile
      }
    );
  }
  const all = await several(
    [system.listArgv({ user: query.user }, profile)],
    [],
    {
      read: (output, context) => system.parseStatus(output, context),
      runner,
      profile
    }
  );
  return {
    ...all,
    jobs: new Map(
      [...all.jobs].filter(([, job]) => hasPrefix(job, query.tokenPrefix))
    )
  };
}

/** What is known of jobs that have left the listing. UNSUPPORTED where nothing is kept. */
export async function historyJobs(
  system: Scheduling,
  ids: readonly string[],
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE,
  options: { since?: string } = {}
): Promise<QueryResult> {
  if (system.facts.history === undefined) {
    return system.parseHistory({ rc: 0, stdout: '', stderr: '' });
  }
  return several(system.historyArgv(ids, options, profile), ids, {
    read: (output, context) => system.parseHistory(output, context),
    runner,
    profile
  });
}

/**
 * Jobs that carry a token, the earliest first. Not in the listing, but with a `.started` file: it
 * ran and may be gone already. `code` other than OK or EMPTY: nobody knows, ask again.
 */
export async function findByToken(
  system: Scheduling,
  query: { token: string; user: string; since?: string; marks?: string },
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE
): Promise<{ code: QueryCode; matches: TokenMatch[]; errors: string[] }> {
  const { token, user, since, marks } = query;
  const listing = await several(
    [system.listArgv({ user, token }, profile)],
    [],
    {
      read: (output, context) => system.parseStatus(output, context),
      runner,
      profile
    }
  );
  const matches = [...listing.jobs.values()]
    .filter(
      job =>
        job.token === token ||
        (job.name !== null && nameHasToken(system.facts, job.name, token))
    )
    .filter(job => !isBefore(job.submitTime, since))
    .map(matchOf)
    .sort((one, other) =>
      (one.submitTime ?? '').localeCompare(other.submitTime ?? '')
    );
  if (matches.length === 0 && marks !== undefined) {
    const id = (
      await runner.readFile(`${marks}/${token}.started`, 4096)
    )?.trim();
    if (id !== undefined && system.isId(id)) {
      matches.push({ id, submitTime: null, state: 'UNKNOWN' });
    }
  }
  const { code, errors } = listing;
  return {
    code: matches.length > 0 && code === 'EMPTY' ? 'OK' : code,
    matches,
    errors: [...errors]
  };
}

/** Queues, accounts and settings, of all the commands that tell them. */
export async function queryLimits(
  system: Scheduling,
  query: { user: string },
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE
): Promise<LimitsResult> {
  const parts: LimitsResult[] = [];
  for (const { what, argv } of system.limitsArgv(query, profile)) {
    const answer = await ask(runner, argv, profile, {
      environment: QUERY_ENVIRONMENT
    });
    const output = answer.cut ? wholeLines(answer.output) : answer.output;
    parts.push(system.parseLimits(output, { argv, what }));
  }
  return {
    code: parts.length === 0 ? 'UNSUPPORTED' : merged(parts),
    queues: parts.flatMap(one => one.queues),
    accounts: [...new Set(parts.flatMap(one => one.accounts))],
    qos: [...new Set(parts.flatMap(one => one.qos))],
    parallelEnvironments: [
      ...new Set(parts.flatMap(one => one.parallelEnvironments))
    ],
    settings: Object.fromEntries(
      parts.flatMap(one => Object.entries(one.settings))
    ),
    errors: parts.flatMap(one => one.errors)
  };
}

/** Is the system there, and which version? @throws ToolMissing, PermissionDenied */
export async function preflight(
  system: Scheduling,
  runner: CommandRunner,
  profile: BatchProfile = NO_PROFILE
): Promise<{ version: string | null; text: string }> {
  const { versionArgv } = system.describe();
  const [command = '', ...rest] = versionArgv;
  const answer = await ask(
    runner,
    [profile.commands[command] ?? command, ...rest],
    profile,
    { environment: QUERY_ENVIRONMENT }
  );
  const { stdout, stderr } = answer.output;
  return {
    version: system.parseVersion(answer.output),
    text: `${stdout}\n${stderr}`.trim()
  };
}

type Asking = {
  read: (output: CommandOutput, context?: QueryContext) => QueryResult;
  runner: CommandRunner;
  profile: BatchProfile;
};

/** One command after the other; a fast batch system would not thank us for two at once. */
async function several(
  commands: readonly (readonly string[])[],
  ids: readonly string[],
  { read, runner, profile }: Asking
): Promise<QueryResult> {
  const parts: QueryResult[] = [];
  for (const argv of commands) {
    const answer = await ask(runner, argv, profile, {
      environment: QUERY_ENVIRONMENT
    });
    const asked = commands.length === 1 ? ids : idsIn(argv, ids);
    const { asOf } = answer;
    if (answer.neverRan !== null) {
      parts.push(nothing(asOf, [`not started: ${answer.neverRan}`]));
      continue;
    }
    const output = answer.cut ? wholeLines(answer.output) : answer.output;
    const part = read(output, { argv: [...argv], asked, asOf });
    parts.push(answer.cut ? incomplete(part) : part);
  }
  const last = parts.at(-1);
  return {
    code: parts.length === 0 ? 'EMPTY' : merged(parts),
    asOf: last?.asOf ?? new Date().toISOString(),
    jobs: new Map(parts.flatMap(part => [...part.jobs])),
    missing: [...new Set(parts.flatMap(part => part.missing))],
    errors: parts.flatMap(part => part.errors)
  };
}

function nothing(asOf: string, errors: string[]): QueryResult {
  return { code: 'UNREACHABLE', asOf, jobs: new Map(), missing: [], errors };
}

/** Rows that were not seen are not missing. */
function incomplete(part: QueryResult): QueryResult {
  return {
    ...part,
    code:
      part.jobs.size > 0
        ? 'PARTIAL'
        : part.code === 'UNSUPPORTED'
          ? part.code
          : 'UNREACHABLE',
    missing: [],
    errors: [...part.errors, 'the answer was cut']
  };
}

function idsIn(argv: readonly string[], ids: readonly string[]): string[] {
  const words = new Set(argv.flatMap(word => [word, ...word.split(',')]));
  return ids.filter(id => words.has(id));
}

function merged(parts: readonly { code: QueryCode }[]): QueryCode {
  const codes = new Set(parts.map(part => part.code));
  const [only] = codes;
  if (codes.size === 1 && only !== undefined) {
    return only;
  }
  return [...codes].some(code => ['OK', 'PARTIAL', 'EMPTY'].includes(code))
    ? 'PARTIAL'
    : 'UNREACHABLE';
}

function hasPrefix(job: JobInfo, prefix: string): boolean {
  const named = job.name?.slice(job.name.lastIndexOf('.') + 1) ?? '';
  return (
    job.token?.startsWith(prefix) === true ||
    job.name?.startsWith(prefix) === true ||
    named.startsWith(prefix)
  );
}

/** Ids are used again: a row from before the submit is another job's. Clocks differ by a minute. */
function isBefore(time: string | null, since: string | undefined): boolean {
  return (
    time !== null &&
    since !== undefined &&
    Date.parse(time) < Date.parse(since) - 60_000
  );
}

function matchOf(job: JobInfo): TokenMatch {
  return {
    id: job.id,
    ...(job.cluster === undefined ? {} : { cluster: job.cluster }),
    submitTime: job.submitTime,
    state: job.state
  };
}
