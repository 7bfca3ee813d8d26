/**
 * A batch system as data: what it wants to read and how its answers are read, in one schema-checked
 * form that the generic code indexes into. The built-in systems and a site's own (`muster.yaml`)
 * use the same form; only what is truly special names an adapter (`adapters.ts`).
 *
 * Templates (`templates.ts`): `{variable}`, `{?optional part}`; a part with an unset variable is
 * left out. Patterns are regular expressions, named groups carry what is read.
 */
import { z } from 'zod';
import { capabilitiesSchema } from './capabilities.js';
import { QUOTINGS } from './quoting.js';
import type { DURATION_GRAMMARS } from './walltime.js';
import { DURATION_FORMS } from './walltime.js';
import { JOB_STATES, PENDING_REASONS, REJECT_REASONS } from './states.js';

const pattern = z.string().refine(text => {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}, 'is not a regular expression');

/** Words of a command; a list inside is left out whole when a variable in it is unset. */
const argvTemplate = z.array(z.union([z.string(), z.array(z.string())])).min(1);
export type ArgvTemplate = z.infer<typeof argvTemplate>;

/** `name`, `!name` or `name=value`, all of which must hold. */
const conditions = z.array(z.string()).default([]);

export const headerLineSchema = z.strictObject({
  when: conditions,
  /** Not written when an unguarded variable in it is unset. */
  line: z.string(),
  /** Fields of the JobSpec it carries out; default: those its variables stand for. */
  honours: z.array(z.string()).optional(),
  warn: z.string().optional()
});
export type HeaderLine = z.infer<typeof headerLineSchema>;

/** Where a value stands in a record and how it is read. */
export const DECODERS = [
  'text',
  'time',
  'epoch',
  'epochMillis',
  'hosts',
  'execHosts',
  'queueHost',
  'slotHosts',
  'exitPair',
  'exitWait',
  'exitNumber',
  'exitShell',
  'exitFlux',
  'durationSlurm',
  'durationClock',
  'durationSge',
  'durationLsf',
  'durationOar',
  'durationFsd',
  'durationSeconds',
  'durationMinutes',
  'number'
] as const;
export type Decoder = (typeof DECODERS)[number];

const fieldSource = z.union([
  z.string(),
  z.strictObject({
    /** Keys of the record; the first that has a value counts. */
    from: z.union([z.string(), z.array(z.string())]),
    as: z.enum(DECODERS).default('text'),
    /** Only this part of the text: the group `value`, else the whole match. */
    match: pattern.optional()
  })
]);
export type FieldSource = z.infer<typeof fieldSource>;

/** What a status record can tell us; every one is optional but id and state. */
export const STATUS_FIELDS = [
  'id',
  'master',
  'index',
  'tasks',
  'component',
  'cluster',
  'name',
  'token',
  'user',
  'state',
  'substate',
  'reason',
  'comment',
  'exit',
  'submit',
  'start',
  'end',
  'estimated',
  'limit',
  'left',
  'used',
  'deadline',
  'nodes',
  'restarts',
  'resubmitted',
  'endedBy',
  'detail',
  'phase'
] as const;
export type StatusField = (typeof STATUS_FIELDS)[number];

const readerSchema = z.discriminatedUnion('type', [
  /** JSON; `at`: where the records are (a list, or an object keyed by id). */
  z.strictObject({
    type: z.literal('json'),
    at: z.array(z.string()).default([]),
    /** The key under which an object's own name is kept. */
    keyAs: z.string().optional()
  }),
  z.strictObject({
    type: z.literal('yaml'),
    at: z.array(z.string()).default([]),
    keyAs: z.string().optional()
  }),
  /** XML; one record per element of these names, children flattened by dots. */
  z.strictObject({
    type: z.literal('xml'),
    elements: z.array(z.string()).min(1)
  }),
  /** Columns named by the words behind an option (condor_q -af:j A B). */
  z.strictObject({ type: z.literal('autoformat'), option: pattern }),
  /** `Title: id` and indented `key = value` lines. */
  z.strictObject({
    type: z.literal('blocks'),
    /** Begins a record; group `id` where the line holds it. */
    start: pattern,
    /** Groups `key` and `value`. */
    pair: pattern,
    /** A line that goes on with the value before it; group `value`. */
    more: pattern.optional()
  }),
  /** Values parted by a separator, columns known from the command line or these. */
  z.strictObject({
    type: z.literal('rows'),
    separator: z.string().min(1),
    columns: z.array(z.string()).default([]),
    /** The options that name the columns, and how to find the column names in their value. */
    columnsFrom: z.array(z.string()).default([]),
    columnPattern: pattern.optional(),
    /** The first line names the columns, unless one of these options is given. */
    headerUnless: z.array(z.string()).optional(),
    /** Only lines like this are rows. */
    only: pattern.optional(),
    /** Lines like this may stand where there are no rows: column names, the cluster's name. */
    banner: pattern.optional()
  }),
  /** A table for people: the header's words name the columns. */
  z.strictObject({
    type: z.literal('table'),
    header: pattern,
    /** The last column may hold blanks. */
    row: pattern,
    /** A line like this that is no row was not understood; others are decoration. */
    start: pattern.optional()
  }),
  /** `Key=Value` words, records parted by empty lines or one a line (scontrol). */
  z.strictObject({
    type: z.literal('pairs'),
    start: pattern,
    /** These keys run on to the end of their line. */
    toLineEnd: z.array(z.string()).default([])
  }),
  /** `key<sep>value` fields in one line per record. */
  z.strictObject({
    type: z.literal('dsv'),
    start: pattern,
    separator: z.string().min(1),
    pair: pattern
  })
]);
export type ReaderSpec = z.infer<typeof readerSchema>;

export const formSchema = z.strictObject({
  name: z.string(),
  /** This form when the command line has all of these words … */
  argv: z.array(z.string()).optional(),
  /** … or, without a command line, when the text looks like this. */
  text: pattern.optional(),
  reader: readerSchema,
  fields: z.partialRecord(z.enum(STATUS_FIELDS), fieldSource),
  /** Other meanings of native codes in this layout. */
  states: z.record(z.string(), z.enum(JOB_STATES)).optional(),
  /** Native state of every record, where the layout has no column for it. */
  assumeState: z.string().optional(),
  /** Records that are not jobs of ours to look at (steps, headers). */
  ignore: z.partialRecord(z.enum(STATUS_FIELDS), pattern).optional()
});
export type StatusForm = z.infer<typeof formSchema>;

const stateRule = z.strictObject({
  /** All patterns must match the field's text. */
  if: z.partialRecord(z.enum(STATUS_FIELDS), pattern),
  then: z.enum(JOB_STATES),
  pending: z.enum(PENDING_REASONS).optional(),
  stuck: z.boolean().optional(),
  container: z.boolean().optional(),
  /** It has ended, though the state (UNKNOWN) does not say how. */
  final: z.boolean().optional()
});

const answerPattern = z.strictObject({
  pattern,
  code: z.enum(['OK', 'GONE', 'DENIED', 'UNCERTAIN', 'ERROR'])
});

const orderSchema = z.strictObject({
  argv: argvTemplate,
  /** Several ids in one call? */
  many: z.boolean().default(true),
  /** rc 0 and not a word about an id. */
  silent: z.enum(['OK', 'UNCERTAIN']).default('OK')
});

const limitsSource = z.strictObject({
  what: z.enum([
    'queues',
    'accounts',
    'qos',
    'parallelEnvironments',
    'settings'
  ]),
  argv: argvTemplate,
  argvMark: z.array(z.string()).optional(),
  text: pattern.optional(),
  reader: readerSchema,
  fields: z.record(z.string(), fieldSource).default({})
});
export type LimitsSource = z.infer<typeof limitsSource>;

export const systemFactsSchema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]*$/),
  title: z.string(),
  /** How what stands here is proven. */
  proven: z.enum(['recorded', 'real', 'documented']),
  /** What it was proven with. */
  versions: z.string(),
  notes: z.array(z.string()).default([]),
  version: z.strictObject({ argv: argvTemplate, pattern }),
  /** Commands a preflight looks for. */
  commands: z.array(z.string()).min(1),
  capabilities: capabilitiesSchema,
  jobName: z
    .strictObject({
      /** Inside of a character class. */
      allowed: z.string(),
      first: z.string().optional(),
      replacement: z.string().default('_')
    })
    .refine(
      one =>
        Array.from(one.replacement).every(each =>
          new RegExp(`^[${one.allowed}]$`, 'u').test(each)
        ),
      { error: 'is not among the allowed characters', path: ['replacement'] }
    ),
  /** Site data the templates use: key → what it is. */
  site: z.record(z.string(), z.string()).default({}),
  /** When a job cannot be written without one of them. */
  siteRequired: z.record(z.string(), z.array(z.string())).default({}),
  script: z.strictObject({
    style: z.enum(['directives', 'description']).default('directives'),
    prefix: z.string(),
    /** The file itself is run on the node: it needs the x bit. */
    executable: z.boolean().default(false),
    quoting: z.enum(QUOTINGS),
    /** How log paths say the id and the element's index; null: cannot. */
    fill: z.strictObject({
      /** null: the system names the file itself; only the folder is told. */
      id: z.string().nullable(),
      arrayId: z.string().optional(),
      index: z.string().nullable().default(null),
      /** What a literal of this is doubled to. */
      escape: z.record(z.string(), z.string()).default({})
    }),
    /** Shell expressions inside the job. */
    jobId: z.string(),
    arrayIndex: z.string().nullable().default(null),
    /** Inside a job there is no PATH and no user name: the script sets them. */
    bareEnvironment: z.boolean().default(false),
    /** Families of variables that are this system's own inside a job. */
    ownVariables: z.array(z.string()).default([])
  }),
  walltime: z.strictObject({
    form: z.enum(DURATION_FORMS),
    unlimited: z.string().nullable()
  }),
  memory: z.strictObject({
    units: z.array(z.tuple([z.string(), z.number().positive()])).min(1),
    wholeNode: z.string().nullable().default(null)
  }),
  priority: z
    .strictObject({ lowest: z.number(), highest: z.number() })
    .optional(),
  array: z
    .strictObject({
      /** list `1,3-5`; range `0-9:2`; count `10`. */
      form: z.enum(['list', 'range', 'count']),
      step: z.string().default(':')
    })
    .optional(),
  dependency: z
    .strictObject({
      ok: z.string().nullable(),
      notOk: z.string().nullable(),
      any: z.string().nullable(),
      started: z.string().nullable(),
      idSeparator: z.string(),
      separator: z.string(),
      /** Ids as they are, or without the part after the first dot. */
      shortIds: z.boolean().default(false)
    })
    .optional(),
  header: z.array(headerLineSchema),
  options: z.strictObject({
    /** Spellings of the same option. */
    aliases: z.array(z.array(z.string())).default([]),
    /** Options of which a job may have one. */
    exclusive: z.array(z.array(z.string())).default([]),
    /** Options whose value begins with a key: `-l walltime=…`. */
    keyed: z.array(z.string()).default([])
  }),
  id: z.strictObject({
    /** Groups `seq`, `index`, `component`, `server`. */
    pattern,
    /** An element of an array: `{master}_{index}`. */
    element: z.string(),
    /** A row that stands for several elements; groups `master`, `ranges`. */
    collective: pattern.optional()
  }),
  submit: z.strictObject({
    argv: argvTemplate,
    /** Without the machine-readable flag. */
    plainArgv: argvTemplate.optional(),
    /** The script goes to standard input. */
    stdin: z.boolean().default(false),
    /** Groups `id`, `cluster`, `tasks`, `last`; tried from the last line upwards. */
    ids: z.array(pattern).min(1),
    /** One id per line, every line counts. */
    many: z.boolean().default(false),
    /** Nothing was stored: try again later. */
    retry: z.array(pattern).default([]),
    uncertain: z.array(pattern).default([]),
    /** A usage error of the submit command. */
    usage: z.array(pattern).default([]),
    /** Exit codes that mean a refusal even beside an id. */
    refusedDespiteId: z.array(z.number()).default([]),
    rejections: z
      .array(
        z.strictObject({
          pattern,
          reason: z.enum(REJECT_REASONS),
          field: z.string().optional()
        })
      )
      .default([])
  }),
  status: z.strictObject({
    argv: argvTemplate,
    /** All live jobs of our user. */
    mineArgv: argvTemplate,
    /** By our mark; default: all of ours, looked through. */
    tokenArgv: argvTemplate.optional(),
    idSeparator: z.string().default(' '),
    chunk: z.number().int().positive().default(200),
    forms: z.array(formSchema).min(1),
    /** Text on stderr beside rc 0 makes the answer worthless. */
    stderrIsFailure: z.boolean().default(false)
  }),
  history: z
    .strictObject({
      argv: argvTemplate,
      idSeparator: z.string().default(' '),
      chunk: z.number().int().positive().default(200),
      forms: z.array(formSchema).min(1)
    })
    .optional(),
  answers: z.strictObject({
    unreachable: z.array(pattern).default([]),
    /** Group `id` where the text names it. */
    missing: z.array(pattern).default([]),
    unsupported: z.array(pattern).default([]),
    empty: z.array(pattern).default([]),
    /** Words that may stand on stderr of a good answer. */
    noise: z.array(pattern).default([])
  }),
  /** Native code → state. */
  states: z.record(z.string(), z.enum(JOB_STATES)),
  rules: z.array(stateRule).default([]),
  pending: z
    .array(
      z.strictObject({
        pattern,
        reason: z.enum(PENDING_REASONS),
        stuck: z.boolean().default(false)
      })
    )
    .default([]),
  /** Named functions that look at an assembled job once more. */
  adapters: z.array(z.string()).default([]),
  cancel: z.strictObject({
    argv: argvTemplate,
    /** First a signal the job can heed. */
    softArgv: argvTemplate.optional(),
    /** Last step. */
    forceArgv: argvTemplate.optional(),
    tokenArgv: argvTemplate.optional(),
    chunk: z.number().int().positive().default(200),
    /** Per id; group `id` names it, else it concerns all that are not named. */
    answers: z.array(answerPattern).default([]),
    /** rc 0 and not a word about an id. */
    silent: z.enum(['OK', 'UNCERTAIN']).default('OK'),
    /** rc ≠ 0, some ids named: the rest was carried out (or only maybe). */
    partial: z.enum(['OK', 'UNCERTAIN']).default('UNCERTAIN')
  }),
  orders: z
    .strictObject({
      hold: orderSchema.optional(),
      release: orderSchema.optional(),
      suspend: orderSchema.optional(),
      resume: orderSchema.optional(),
      requeue: orderSchema.optional(),
      signal: orderSchema.optional(),
      extend: orderSchema.optional()
    })
    .default({}),
  estimate: z
    .strictObject({
      argv: argvTemplate,
      stdin: z.boolean().default(false),
      /** Group `at`. */
      time: z.array(pattern),
      possible: z.array(pattern).default([]),
      impossible: z.array(pattern).default([])
    })
    .optional(),
  limits: z.array(limitsSource).default([])
});

export type SystemFactsInput = z.input<typeof systemFactsSchema>;
export type SystemFacts = z.output<typeof systemFactsSchema>;

export const DURATION_DECODERS: Readonly<
  Partial<Record<Decoder, (typeof DURATION_GRAMMARS)[number]>>
> = {
  durationSlurm: 'slurm',
  durationClock: 'clock',
  durationSge: 'sge',
  durationLsf: 'lsf',
  durationOar: 'oar',
  durationFsd: 'fsd',
  durationSeconds: 'seconds',
  durationMinutes: 'minutes'
};

/** A built-in's facts, checked when first used. */
export function defineSystem(facts: SystemFactsInput): SystemFacts {
  return systemFactsSchema.parse(facts);
}
