/**
 * The API's answers as zod schemas: what `openapi.json` shows and tests hold answers against. Each
 * is tied to its type in `protocol/view.ts`: when one changes, this file no longer compiles.
 */
import { z } from 'zod';
import {
  clusterIdSchema,
  clusterPhaseSchema,
  errorBodySchema,
  eventKindSchema,
  healthCodeSchema,
  jobIdSchema,
  jobOutcomeSchema,
  jobPhaseSchema
} from '../../protocol/index.js';
import type {
  BackendView,
  ClusterEvent,
  ClusterView,
  ConnectionView,
  DashboardView,
  EnvironmentView,
  GroupView,
  HealthView,
  JobView,
  LoadView,
  PreviewView,
  ProfileView,
  ResolvedSpec,
  SchedulerView,
  WorkerGroup,
  WorkerId,
  WorkerView
} from '../../protocol/index.js';

const time = z.string().describe('ISO-8601, UTC');
const count = z.number().int().min(0);
const bytes = z.number().min(0).describe('bytes');
const seconds = z.number().min(0).describe('seconds');
const facts = z.record(z.string(), z.unknown());
const workerIdSchema = z
  .string()
  .describe('<job id>-<index>; also the Dask worker name')
  .transform(id => id as WorkerId);

const amount = z.union([
  z.object({ workers: count }),
  z.object({ cores: count }),
  z.object({ memory: bytes })
]);

const scale = z.union([
  z.object({ type: z.literal('fixed'), workers: count }),
  z.object({ type: z.literal('fixed'), cores: count }),
  z.object({ type: z.literal('fixed'), memory: bytes }),
  z.object({ type: z.literal('adaptive'), minimum: amount, maximum: amount })
]);

const workerGroup = z.object({
  name: z.string(),
  worker: z.object({
    cores: count,
    memory: bytes.nullable(),
    gpus: count,
    resources: z.record(z.string(), z.number())
  }),
  workersPerJob: count,
  scale,
  launcher: z.looseObject({ name: z.string() }).nullable(),
  options: facts
}) satisfies z.ZodType<WorkerGroup>;

export const resolvedSpecSchema = z.object({
  name: z.string(),
  backend: z.string(),
  profile: z.string().exactOptional(),
  scheduler: z.object({
    placement: z.enum(['bridge', 'job']),
    resources: z.object({ cores: count, memory: bytes.nullable() }),
    options: facts
  }),
  groups: z.array(workerGroup),
  environment: z.object({
    kernelspec: z.string().nullable(),
    python: z.string(),
    variables: z.record(z.string(), z.string()),
    prologue: z.array(z.string()),
    epilogue: z.array(z.string())
  }),
  lifetime: z.object({
    onJupyterStop: z.enum(['keep', 'stop']),
    idleTimeout: seconds.nullable(),
    maximumAge: seconds.nullable()
  }),
  security: z.object({ tls: z.boolean() })
}) satisfies z.ZodType<ResolvedSpec>;

const groupView = z.object({
  name: z.string(),
  scale,
  target: count,
  counts: z.object({
    requested: count,
    queued: count,
    starting: count,
    connected: count,
    retiring: count,
    suspended: count,
    uncertain: count
  }),
  connected: z.object({
    workers: count,
    cores: z.number(),
    memory: bytes,
    gpus: z.number()
  }),
  pendingReasons: z.array(
    z.object({
      reason: z.string(),
      jobs: count,
      estimatedStart: time.exactOptional()
    })
  )
}) satisfies z.ZodType<GroupView>;

const loadView = z.object({
  tasks: z.object({
    processing: count,
    queued: count,
    waiting: count,
    unrunnable: count,
    erred: count,
    memory: count
  }),
  cpu: z.number(),
  memoryUsed: bytes,
  memoryLimit: bytes
}) satisfies z.ZodType<LoadView>;

const schedulerView = z.object({
  phase: jobPhaseSchema,
  address: z.string().nullable(),
  host: z.string().nullable(),
  job: jobIdSchema.nullable(),
  version: z.string().nullable(),
  dashboard: z.string().nullable(),
  clients: count
}) satisfies z.ZodType<SchedulerView>;

export const clusterViewSchema = z.object({
  id: clusterIdSchema,
  name: z.string(),
  backend: z.string(),
  spec: resolvedSpecSchema,
  phase: clusterPhaseSchema,
  health: z.enum(['ok', 'degraded', 'unreachable']),
  reasons: z.array(
    z.object({
      code: healthCodeSchema,
      message: z.string(),
      since: time,
      hint: z.string().exactOptional()
    })
  ),
  createdAt: time,
  startedAt: time.nullable(),
  stoppedAt: time.nullable(),
  owner: z.object({ bridge: z.string(), host: z.string(), epoch: z.number() }),
  scheduler: schedulerView,
  groups: z.array(groupView),
  load: loadView.nullable(),
  revision: z.number()
}) satisfies z.ZodType<ClusterView>;

export const jobViewSchema = z.object({
  id: jobIdSchema,
  group: z.string().nullable(),
  handle: z
    .object({
      nativeId: z.string(),
      cluster: z.string().exactOptional(),
      incarnation: z.number()
    })
    .nullable(),
  phase: jobPhaseSchema,
  outcome: jobOutcomeSchema.exactOptional(),
  nativeState: z.string().nullable(),
  reason: z.string().nullable(),
  exit: z
    .object({ code: z.number().nullable(), signal: z.string().nullable() })
    .nullable(),
  host: z.string().nullable(),
  submittedAt: time.nullable(),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  deadline: time.exactOptional(),
  workers: z.array(workerIdSchema),
  logs: z.boolean()
}) satisfies z.ZodType<JobView>;

export const workerViewSchema = z.object({
  id: workerIdSchema,
  address: z.string().exactOptional(),
  group: z.string(),
  job: jobIdSchema,
  host: z.string().nullable(),
  status: z.enum(['starting', 'running', 'paused', 'retiring', 'lost']),
  cores: z.number(),
  memoryLimit: bytes.nullable(),
  memoryUsed: bytes.nullable(),
  cpu: z.number().nullable(),
  gpus: z.number(),
  resources: z.record(z.string(), z.number()),
  tasks: z.object({ executing: count, ready: count, inMemory: count }),
  since: time,
  reclaimAt: time.exactOptional()
}) satisfies z.ZodType<WorkerView>;

export const clusterEventSchema = z.object({
  seq: count,
  time,
  cluster: clusterIdSchema,
  kind: eventKindSchema,
  severity: z.enum(['info', 'warning', 'error']),
  message: z.string(),
  job: jobIdSchema.exactOptional(),
  worker: workerIdSchema.exactOptional(),
  data: facts
}) satisfies z.ZodType<ClusterEvent>;

export const backendViewSchema = z.object({
  name: z.string(),
  title: z.string(),
  available: z.boolean(),
  reason: z.string().exactOptional(),
  version: z.string().exactOptional(),
  capabilities: z.object({
    identity: z.enum(['named', 'late']),
    pending: z.enum(['listed', 'counted', 'hidden']),
    exactRelease: z.boolean(),
    reclaimNotice: z.enum(['none', 'deadline', 'signal', 'push']),
    exitCodes: z.boolean(),
    history: z.boolean(),
    tags: z.boolean(),
    hostBound: z.boolean(),
    schedulerPlacement: z.array(z.enum(['bridge', 'job'])),
    gpus: z.boolean(),
    estimateStart: z.boolean()
  }),
  specSchema: facts.describe('JSON Schema of groups[].options'),
  probe: facts,
  host: z.object({ cores: z.number(), memory: bytes }).exactOptional()
}) satisfies z.ZodType<BackendView>;

export const environmentViewSchema = z.object({
  python: z.string(),
  name: z.string(),
  source: z.enum(['kernelspec', 'conda', 'venv', 'bridge']),
  kernelspec: z.string().nullable(),
  displayName: z.string().nullable(),
  pythonVersion: z.string().nullable(),
  dask: z.string().nullable(),
  distributed: z.string().nullable(),
  usable: z.boolean(),
  whyNot: z.string().nullable()
}) satisfies z.ZodType<EnvironmentView>;

export const profileViewSchema = z.object({
  name: z.string(),
  source: z.enum(['package', 'site', 'user']),
  title: z.string().exactOptional(),
  spec: facts
}) satisfies z.ZodType<ProfileView>;

export const previewViewSchema = z.object({
  summary: z.string(),
  jobs: z.array(
    z.object({
      group: z.string().nullable(),
      count,
      workers: count,
      argv: z.array(z.string()),
      script: z.string().nullable(),
      environment: z.record(z.string(), z.string()),
      notHonoured: z.array(z.string()),
      warnings: z.array(z.string())
    })
  )
}) satisfies z.ZodType<PreviewView>;

export const connectionViewSchema = z.object({
  address: z.string(),
  dashboard: z.string().nullable(),
  security: z
    .object({ caFile: z.string(), certFile: z.string(), keyFile: z.string() })
    .nullable(),
  snippets: z.object({ python: z.string(), env: z.string() })
}) satisfies z.ZodType<ConnectionView>;

export const dashboardViewSchema = z.object({
  name: z.string(),
  title: z.string(),
  path: z.string()
}) satisfies z.ZodType<DashboardView>;

export const healthViewSchema = z.object({
  protocol: z.number().int(),
  version: z.string(),
  bridge: z.string(),
  epoch: z.number(),
  host: z.string(),
  pid: z.number(),
  startedAt: time,
  node: z.string(),
  clusters: count
}) satisfies z.ZodType<HealthView>;

/** `{items, next}` of one kind of item. */
export function pageSchema<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next: z
      .string()
      .nullable()
      .describe('cursor of the next page; null: this was the last')
  });
}

export { errorBodySchema };
