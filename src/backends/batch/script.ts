/**
 * The script of a job: header first, then the scrub, then the body in a function
 * (specs/resource-manager.md §2). Written for POSIX sh, so that it also runs where the site's shell
 * is not bash; every value is one word.
 */
import { FAMILIES } from './environment.js';
import { SpecError } from './errors.js';
import { resourceHeader, type ResourceHeader } from './header.js';
import type { JobSpec, NodeText } from './job-spec.js';
import type { BatchProfile } from './profile.js';
import { shellWord } from './quoting.js';
import type { SystemFacts } from './specification.js';

export type JobFile = { name: string; text: string; mode: number };

/** @throws SpecError as `resourceHeader`, or where the body is not text. */
export function renderScript(
  facts: SystemFacts,
  spec: JobSpec,
  body: string,
  profile: BatchProfile
): string {
  const header = resourceHeader(facts, spec, profile);
  return scriptText(facts, spec, body, profile, header);
}

function scriptText(
  facts: SystemFacts,
  spec: JobSpec,
  body: string,
  profile: BatchProfile,
  header: ResourceHeader
): string {
  if (body.includes('\0')) {
    throw new SpecError([{ field: 'command', message: 'contains a NUL' }]);
  }
  const lines = facts.script.style === 'directives' ? header.lines : [];
  return [
    `#!${profile.shell}`,
    ...lines,
    '',
    ...(facts.script.bareEnvironment ? bare() : []),
    ...scrub(facts),
    ...identity(facts, spec),
    ...Object.entries(spec.env).map(
      ([name, value]) => `export ${name}=${nodeWord(value)}`
    ),
    ...marks(spec),
    ...(spec.workdir === undefined
      ? []
      : [`cd ${nodeWord(spec.workdir)} || exit 125`]),
    '',
    'muster_body() {',
    body.trim() === '' ? ':' : body.replace(/\n+$/, ''),
    '}',
    'muster_body "$@"',
    ''
  ].join('\n');
}

/** What a login would have set. */
function bare(): string[] {
  return [
    'export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"',
    'USER="${USER:-$(id -un)}"',
    'LOGNAME="${LOGNAME:-$USER}"',
    'export USER LOGNAME'
  ];
}

/** Variables another system left in the environment, and launch variables of an outer step. */
function scrub(facts: SystemFacts): string[] {
  const families = FAMILIES.filter(
    family => !facts.script.ownVariables.includes(family)
  );
  const alternatives = families.join('\\|');
  return [
    `for muster_name in $(env | sed -n 's/^\\(\\(${alternatives}\\)[A-Za-z0-9_]*\\)=.*/\\1/p'); do`,
    '  unset "$muster_name"',
    'done',
    'unset muster_name'
  ];
}

function identity(facts: SystemFacts, spec: JobSpec): string[] {
  const only =
    spec.array?.indices.length === 1 ? spec.array.indices[0] : undefined;
  return [
    ...(spec.token === undefined
      ? []
      : [`export MUSTER_TOKEN=${shellWord(spec.token)}`]),
    `export MUSTER_JOB_ID="${facts.script.jobId}"`,
    ...(spec.array === undefined
      ? []
      : only !== undefined && !facts.capabilities.arrayOfOne
        ? [`export MUSTER_ARRAY_INDEX=${only}`]
        : facts.script.arrayIndex === null
          ? []
          : [`export MUSTER_ARRAY_INDEX="${facts.script.arrayIndex}"`])
  ];
}

/** `<token>.started` with the native id as the first act, `<token>.exit` with the code as the last. */
function marks(spec: JobSpec): string[] {
  if (spec.marks === undefined || spec.token === undefined) {
    return [];
  }
  const stem =
    spec.array === undefined
      ? shellWord(`${spec.marks}/${spec.token}`)
      : `${shellWord(`${spec.marks}/${spec.token}`)}-"\${MUSTER_ARRAY_INDEX:-}"`;
  return [
    `muster_marks=${stem}`,
    'muster_mark() {',
    '  printf \'%s\\n\' "$2" > "$muster_marks.$1.part" && mv -f "$muster_marks.$1.part" "$muster_marks.$1"',
    '}',
    'muster_mark started "$MUSTER_JOB_ID" || :',
    'trap \'muster_mark exit "$?" || :\' EXIT'
  ];
}

/** Literal parts stay literal, `$VARIABLE` of the node is expanded, all is one word. */
function nodeWord(text: NodeText): string {
  if (typeof text === 'string') {
    return text === '' ? "''" : shellWord(text);
  }
  return text
    .map(part =>
      typeof part === 'string'
        ? shellWord(part)
        : 'variable' in part
          ? `"\${${part.variable}:-}"`
          : part.fill === 'id'
            ? '"$MUSTER_JOB_ID"'
            : '"${MUSTER_ARRAY_INDEX:-}"'
    )
    .join('');
}

/**
 * The files of one job. The first is the one `submitArgv` is given; a system that reads a
 * description of its own (HTCondor) has the script beside it.
 * @param name file name of the script, as the submit command will see it (a full path is best).
 */
export function renderFiles(
  facts: SystemFacts,
  spec: JobSpec,
  body: string,
  profile: BatchProfile,
  name: string
): { files: JobFile[]; header: ResourceHeader } {
  const header = resourceHeader(facts, spec, profile);
  const script = scriptText(facts, spec, body, profile, header);
  if (facts.script.style === 'directives') {
    return { files: [{ name, text: script, mode: 0o700 }], header };
  }
  const program = `${name}.sh`;
  return {
    header,
    files: [
      {
        name,
        text: describe(facts, spec, header, program),
        mode: 0o600
      },
      { name: program, text: script, mode: 0o700 }
    ]
  };
}

function describe(
  facts: SystemFacts,
  spec: JobSpec,
  header: ResourceHeader,
  program: string
): string {
  if (/[\n\r\0$]/.test(program) || program.trim() !== program) {
    throw new SpecError([
      {
        field: 'script',
        message: `${facts.title} cannot name the file '${program}'`
      }
    ]);
  }
  const queue = header.options.find(line => /^queue\b/i.test(line)) ?? 'queue';
  return [
    `executable = ${program}`,
    'environment = "MUSTER_CLUSTER=$(Cluster) MUSTER_PROCESS=$(Process)"',
    ...header.options.filter(line => line !== queue),
    queue,
    ''
  ].join('\n');
}
