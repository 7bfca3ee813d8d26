/**
 * SchedulingInterface: one batch system as plain functions from values to values, and beside them
 * the few that talk to it, each one composition of two pure parts and a CommandRunner
 * (specs/resource-manager.md §2). No instances, no state: `schedulingFor(facts)` is a table of
 * functions over a specification.
 */
import { parseEstimate } from './estimate.js';
import { resourceHeader, type ResourceHeader } from './header.js';
import { readId, sameJob } from './identity.js';
import { parseJobSpec, type JobSpec } from './job-spec.js';
import { parseLimits, type LimitsContext } from './limits.js';
import { parseCancel, parseOrder } from './orders.js';
import { NO_PROFILE, withDefaults, type BatchProfile } from './profile.js';
import type {
  CancelResult,
  CommandOutput,
  EstimateResult,
  LimitsResult,
  QueryResult,
  SubmitResult
} from './results.js';
import { shellWord } from './quoting.js';
import { renderFiles, renderScript, type JobFile } from './script.js';
import { SpecError } from './errors.js';
import type { ArgvTemplate, SystemFacts } from './specification.js';
import { parseHistory, parseStatus, type QueryContext } from './status.js';
import { parseSubmit } from './submit.js';
import { fillArgv } from './templates.js';
import { formatDurationFor, roundUpWalltime } from './walltime.js';

export const ORDERS = [
  'hold',
  'release',
  'suspend',
  'resume',
  'requeue',
  'signal',
  'extend'
] as const;
export type Order = (typeof ORDERS)[number];

/** What one command is to be run with. `stdin`: the script's text goes there. */
export type Invocation = { argv: string[]; stdin?: 'script' };

export type Scheduling = {
  readonly facts: SystemFacts;
  describe(): Pick<
    SystemFacts,
    | 'name'
    | 'title'
    | 'proven'
    | 'versions'
    | 'notes'
    | 'capabilities'
    | 'commands'
    | 'site'
  > & {
    versionArgv: string[];
    orders: Order[];
  };
  parseVersion(output: CommandOutput): string | null;
  /** Do two texts name the same job (with or without server, `ƒ` or decimal)? */
  sameJob(one: string, other: string): boolean;
  /** Is this word a job id of this system? */
  isId(text: string): boolean;
  /** Checks and solves; the profile's defaults count as given. @throws SpecError */
  job(
    input: Readonly<Record<string, unknown>>,
    profile?: BatchProfile
  ): JobSpec;
  resourceHeader(spec: JobSpec, profile?: BatchProfile): ResourceHeader;
  renderScript(spec: JobSpec, body: string, profile?: BatchProfile): string;
  renderFiles(
    spec: JobSpec,
    body: string,
    name: string,
    profile?: BatchProfile
  ): { files: JobFile[]; header: ResourceHeader };
  submitArgv(file: string, profile?: BatchProfile): Invocation;
  parseSubmit(output: CommandOutput, profile?: BatchProfile): SubmitResult;
  /** One command per chunk of ids. @throws SpecError where a word is not an id of this system */
  statusArgv(
    ids: readonly string[],
    options?: { user?: string },
    profile?: BatchProfile
  ): string[][];
  /** All of a user's live jobs; by token where the system can. */
  listArgv(
    query: { user: string; token?: string },
    profile?: BatchProfile
  ): string[];
  parseStatus(output: CommandOutput, context?: QueryContext): QueryResult;
  historyArgv(
    ids: readonly string[],
    options?: { since?: string },
    profile?: BatchProfile
  ): string[][];
  parseHistory(output: CommandOutput, context?: QueryContext): QueryResult;
  cancelArgv(
    ids: readonly string[],
    how?: { step?: 'soft' | 'normal' | 'force' },
    profile?: BatchProfile
  ): string[][];
  parseCancel(
    output: CommandOutput,
    context: { ids: readonly string[] }
  ): CancelResult;
  /** null: this system cannot. */
  orderArgv(
    order: Order,
    ids: readonly string[],
    how?: { signal?: string; walltimeSeconds?: number },
    profile?: BatchProfile
  ): string[][] | null;
  parseOrder(
    output: CommandOutput,
    context: { ids: readonly string[]; order: Order }
  ): CancelResult;
  limitsArgv(
    query: { user: string },
    profile?: BatchProfile
  ): { what: NonNullable<LimitsContext['what']>; argv: string[] }[];
  parseLimits(output: CommandOutput, context?: LimitsContext): LimitsResult;
  estimateArgv(file: string, profile?: BatchProfile): Invocation | null;
  parseEstimate(output: CommandOutput): EstimateResult;
};

export function schedulingFor(facts: SystemFacts): Scheduling {
  const build = (
    template: ArgvTemplate,
    profile: BatchProfile,
    variables: Record<string, string | undefined>,
    lists: Record<string, readonly string[]>
  ): string[] =>
    named(
      fillArgv(template, { cluster: profile.cluster, ...variables }, lists),
      profile
    );

  const chunks = (
    template: ArgvTemplate,
    ids: readonly string[],
    options: {
      chunk: number;
      separator: string;
      extra: readonly string[];
      profile: BatchProfile;
      variables?: Record<string, string | undefined>;
    }
  ): string[][] => {
    const good = checked(facts, ids);
    // A command that does not name the ids lists them all in one go.
    const chunk = /\{(ids|idList|id|pairs)\}/.test(template.flat().join(' '))
      ? options.chunk
      : Math.max(1, good.length);
    const groups: string[][] = [];
    for (let at = 0; at < good.length; at += chunk) {
      const part = good.slice(at, at + chunk);
      groups.push(
        build(
          template,
          options.profile,
          { ...options.variables, idList: part.join(','), id: part[0] },
          {
            ids:
              options.separator === ' ' ? part : [part.join(options.separator)],
            pairs: part.flatMap(id => ['-j', id]),
            extra: options.extra
          }
        )
      );
    }
    return groups;
  };

  return {
    facts,
    describe: () => ({
      name: facts.name,
      title: facts.title,
      proven: facts.proven,
      versions: facts.versions,
      notes: facts.notes,
      capabilities: facts.capabilities,
      commands: facts.commands,
      site: facts.site,
      versionArgv: fillArgv(facts.version.argv, {}),
      orders: ORDERS.filter(order => facts.orders[order] !== undefined)
    }),
    parseVersion: ({ stdout, stderr }) => {
      const hit = new RegExp(facts.version.pattern, 'mu').exec(
        `${stdout}\n${stderr}`
      );
      return hit === null ? null : (hit.groups?.['version'] ?? hit[0]);
    },
    sameJob: (one, other) => sameJob(facts, one, other),
    isId: text => readId(facts, text) !== null,
    job: (input, profile = NO_PROFILE) =>
      parseJobSpec(withDefaults(input, profile)),
    resourceHeader: (spec, profile = NO_PROFILE) =>
      resourceHeader(facts, spec, profile),
    renderScript: (spec, body, profile = NO_PROFILE) =>
      renderScript(facts, spec, body, profile),
    renderFiles: (spec, body, name, profile = NO_PROFILE) =>
      renderFiles(facts, spec, body, profile, name),
    submitArgv: (file, profile = NO_PROFILE) => ({
      argv: build(
        profile.plainSubmit
          ? (facts.submit.plainArgv ?? facts.submit.argv)
          : facts.submit.argv,
        profile,
        { file: safeFile(file), fileWord: shellWord(safeFile(file)) },
        { extra: profile.submitArgs }
      ),
      ...(facts.submit.stdin ? { stdin: 'script' as const } : {})
    }),
    parseSubmit: (output, profile = NO_PROFILE) =>
      parseSubmit(facts, output, profile),
    statusArgv: (ids, options = {}, profile = NO_PROFILE) =>
      chunks(facts.status.argv, ids, {
        chunk: facts.status.chunk,
        separator: facts.status.idSeparator,
        extra: profile.queryArgs,
        profile,
        variables: { user: options.user }
      }),
    listArgv: ({ user, token }, profile = NO_PROFILE) =>
      build(
        token === undefined
          ? facts.status.mineArgv
          : (facts.status.tokenArgv ?? facts.status.mineArgv),
        profile,
        { user, token },
        { extra: profile.queryArgs }
      ),
    parseStatus: (output, context) => parseStatus(facts, output, context),
    historyArgv: (ids, options = {}, profile = NO_PROFILE) =>
      facts.history === undefined
        ? []
        : chunks(facts.history.argv, ids, {
            chunk: facts.history.chunk,
            separator: facts.history.idSeparator,
            extra: profile.queryArgs,
            profile,
            variables: { since: options.since }
          }),
    parseHistory: (output, context) => parseHistory(facts, output, context),
    cancelArgv: (ids, how = {}, profile = NO_PROFILE) => {
      const { argv, softArgv, forceArgv } = facts.cancel;
      const template =
        how.step === 'soft'
          ? (softArgv ?? argv)
          : how.step === 'force'
            ? (forceArgv ?? argv)
            : argv;
      return chunks(template, ids, {
        chunk: facts.cancel.chunk,
        separator: ' ',
        extra: profile.cancelArgs,
        profile
      });
    },
    parseCancel: (output, context) => parseCancel(facts, output, context),
    orderArgv: (order, ids, how = {}, profile = NO_PROFILE) => {
      const known = facts.orders[order];
      if (known === undefined) {
        return null;
      }
      const walltime =
        how.walltimeSeconds === undefined
          ? undefined
          : formatDurationFor(
              facts.walltime.form,
              roundUpWalltime(
                how.walltimeSeconds,
                facts.capabilities.walltimeResolution
              )
            );
      return chunks(known.argv, ids, {
        chunk: known.many ? facts.cancel.chunk : 1,
        separator: ' ',
        extra: profile.cancelArgs,
        profile,
        variables: { signal: how.signal?.replace(/^SIG/, ''), walltime }
      });
    },
    parseOrder: (output, context) => parseOrder(facts, output, context),
    limitsArgv: ({ user }, profile = NO_PROFILE) =>
      facts.limits.map(one => ({
        what: one.what,
        argv: build(one.argv, profile, { user }, { extra: profile.queryArgs })
      })),
    parseLimits: (output, context) => parseLimits(facts, output, context),
    estimateArgv: (file, profile = NO_PROFILE) =>
      facts.estimate === undefined
        ? null
        : {
            argv: build(
              facts.estimate.argv,
              profile,
              { file: safeFile(file), fileWord: shellWord(safeFile(file)) },
              { extra: profile.submitArgs }
            ),
            ...(facts.estimate.stdin ? { stdin: 'script' as const } : {})
          },
    parseEstimate: output => parseEstimate(facts, output)
  };
}

/** The first word by the profile's full path. */
function named(argv: string[], profile: BatchProfile): string[] {
  const [command = '', ...rest] = argv;
  const path = Object.hasOwn(profile.commands, command)
    ? profile.commands[command]
    : undefined;
  return [path ?? command, ...rest];
}

/**
 * Each id once. A word that is not an id never reaches a command: HTCondor would take it for a user
 * name and remove all his jobs, Flux an empty one for its own instance.
 */
function checked(facts: SystemFacts, ids: readonly string[]): string[] {
  const unique = [...new Set(ids)];
  const bad = unique.filter(id => readId(facts, id) === null);
  if (bad.length > 0) {
    throw new SpecError(
      bad.map(id => ({
        field: 'id',
        message: `'${id}' is not a job id of ${facts.title}`
      }))
    );
  }
  return unique;
}

/** A file name that a command cannot take for an option. */
function safeFile(file: string): string {
  return file.startsWith('-') ? `./${file}` : file;
}
