/** The route table of `api/v1/` (specs/api.md §2): routing, the gate's tests and OpenAPI all read it. */
import {
  clientSchema,
  clusterPatchSchema,
  clusterSpecSchema,
  MusterError,
  NEXT_OFFSET_HEADER,
  PROTOCOL_VERSION
} from '../../protocol/index.js';
import type { HealthView } from '../../protocol/index.js';
import { pageOf } from './page.js';
import {
  clientParams,
  emptyBody,
  eventsQuery,
  forceQuery,
  logParams,
  logQuery,
  pageQuery,
  refParams,
  retireBody,
  workerParams
} from './parameters.js';
import { route } from './route.js';
import type { Route } from './route.js';
import {
  backendViewSchema,
  clusterEventSchema,
  clusterViewSchema,
  connectionViewSchema,
  dashboardViewSchema,
  environmentViewSchema,
  healthViewSchema,
  jobViewSchema,
  pageSchema,
  previewViewSchema,
  profileViewSchema,
  workerViewSchema
} from './view-schemas.js';

const SPEC_ERRORS = ['spec-invalid', 'policy', 'backend-unavailable'] as const;
const ACT_ERRORS = ['not-found', 'conflict', 'backend-unavailable'] as const;
const oneCluster = {
  description: 'the cluster',
  schema: clusterViewSchema
};

const bridgeRoutes: Route[] = [
  route({
    method: 'GET',
    path: 'health',
    name: 'health',
    summary: 'Who answers here',
    answer: {
      status: 200,
      description: 'the bridge',
      schema: healthViewSchema
    },
    whileStarting: true,
    handle: ({ service, identity }) => {
      const health: HealthView = {
        protocol: PROTOCOL_VERSION,
        version: identity.version,
        bridge: identity.bridge,
        epoch: service.epoch,
        host: identity.host,
        pid: process.pid,
        startedAt: identity.startedAt,
        node: process.versions.node,
        clusters: service.ready ? service.list().length : 0
      };
      return { body: health };
    }
  }),
  route({
    method: 'GET',
    path: 'openapi.json',
    name: 'openapi',
    summary: 'This document',
    answer: {
      status: 200,
      description: 'an OpenAPI 3.1 document',
      schema: null
    },
    whileStarting: true,
    handle: ({ document }) => ({ body: document() })
  }),
  route({
    method: 'POST',
    path: 'shutdown',
    name: 'shutdown',
    summary: 'Save and exit; clusters stay',
    body: emptyBody,
    bodyOptional: true,
    answer: { status: 202, description: 'on its way', schema: emptyBody },
    whileStarting: true,
    handle: ({ shutdown }) => ({ body: {}, afterwards: shutdown })
  }),
  route({
    method: 'GET',
    path: 'backends',
    name: 'listBackends',
    summary: 'Resource managers, usable or not and why',
    query: pageQuery,
    answer: {
      status: 200,
      description: 'backends',
      schema: pageSchema(backendViewSchema)
    },
    handle: async ({ service }, { query }) => ({
      body: pageOf(await service.backends(), backend => backend.name, query)
    })
  }),
  route({
    method: 'GET',
    path: 'profiles',
    name: 'listProfiles',
    summary: 'Named beginnings of a ClusterSpec, with their source',
    query: pageQuery,
    answer: {
      status: 200,
      description: 'profiles',
      schema: pageSchema(profileViewSchema)
    },
    handle: async ({ service }, { query }) => ({
      body: pageOf(await service.profiles(), profile => profile.name, query)
    })
  }),
  route({
    method: 'GET',
    path: 'environments',
    name: 'listEnvironments',
    summary: 'Python interpreters found, usable or not and why',
    query: pageQuery,
    answer: {
      status: 200,
      description: 'environments',
      schema: pageSchema(environmentViewSchema)
    },
    handle: async ({ service }, { query }) => ({
      body: pageOf(
        await service.environments(),
        found => `${found.python} ${found.kernelspec ?? ''}`,
        query
      )
    })
  }),
  route({
    method: 'PUT',
    path: 'clients/:client',
    name: 'putClient',
    summary: 'A Jupyter server says that it is here; repeated every 20 s',
    params: clientParams,
    body: clientSchema,
    answer: { status: 204, description: 'registered', schema: null },
    errors: ['spec-invalid'],
    handle: ({ service }, { params, body }) => {
      service.putClient(params.client, body);
      return {};
    }
  }),
  route({
    method: 'DELETE',
    path: 'clients/:client',
    name: 'deleteClient',
    summary: 'A Jupyter server says goodbye',
    params: clientParams,
    answer: { status: 204, description: 'gone', schema: null },
    errors: ['spec-invalid'],
    handle: ({ service }, { params }) => {
      service.deleteClient(params.client);
      return {};
    }
  })
];

const clusterRoutes: Route[] = [
  route({
    method: 'POST',
    path: 'preview',
    name: 'preview',
    summary: 'What would be run; nothing is started',
    body: clusterSpecSchema,
    answer: {
      status: 200,
      description: 'scripts, argv or manifests, per job',
      schema: previewViewSchema
    },
    errors: SPEC_ERRORS,
    handle: async ({ service }, { body, sent }) => ({
      body: await service.preview(body, sent)
    })
  }),
  route({
    method: 'POST',
    path: 'clusters',
    name: 'createCluster',
    summary: 'Create a cluster',
    body: clusterSpecSchema,
    requestHeaders: {
      'Idempotency-Key':
        'the same key within 24 h answers with the same cluster',
      'X-Muster-Client': 'id of the Jupyter server it comes through'
    },
    answer: { status: 202, ...oneCluster },
    errors: [...SPEC_ERRORS, 'conflict', 'submit-rejected'],
    handle: async ({ service }, { body, sent, headers }) => ({
      body: await service.create({
        spec: body,
        body: sent,
        idempotencyKey: headers.idempotencyKey,
        client: headers.client
      })
    })
  }),
  route({
    method: 'GET',
    path: 'clusters',
    name: 'listClusters',
    summary: 'All clusters, oldest first',
    query: pageQuery,
    answer: {
      status: 200,
      description: 'clusters',
      schema: pageSchema(clusterViewSchema)
    },
    handle: ({ service }, { query }) => ({
      body: pageOf(
        service.list(),
        cluster => `${cluster.createdAt} ${cluster.id}`,
        query
      )
    })
  }),
  route({
    method: 'GET',
    path: 'clusters/:ref',
    name: 'getCluster',
    summary: 'One cluster',
    params: refParams,
    answer: { status: 200, ...oneCluster },
    errors: ['not-found'],
    handle: ({ service }, { params }) => ({ body: service.get(params.ref) })
  }),
  route({
    method: 'PATCH',
    path: 'clusters/:ref',
    name: 'changeCluster',
    summary: 'Scale, lifetime or name; the last word wins',
    params: refParams,
    body: clusterPatchSchema,
    answer: { status: 200, ...oneCluster },
    errors: ['spec-invalid', 'policy', ...ACT_ERRORS],
    handle: async ({ service }, { params, body }) => ({
      body: await service.patch(params.ref, body)
    })
  }),
  route({
    method: 'DELETE',
    path: 'clusters/:ref',
    name: 'stopCluster',
    summary: 'Stop politely, then surely; the record stays',
    params: refParams,
    query: forceQuery,
    answer: { status: 202, ...oneCluster },
    errors: ['spec-invalid', ...ACT_ERRORS],
    handle: async ({ service }, { params, query }) => ({
      body: await service.stop(params.ref, { force: query.force })
    })
  }),
  route({
    method: 'POST',
    path: 'clusters/:ref/forget',
    name: 'forgetCluster',
    summary: 'Remove the record of an ended cluster and its folder',
    params: refParams,
    body: emptyBody,
    bodyOptional: true,
    answer: { status: 204, description: 'forgotten', schema: null },
    errors: ACT_ERRORS,
    handle: async ({ service }, { params }) => {
      await service.forget(params.ref);
      return {};
    }
  }),
  route({
    method: 'POST',
    path: 'clusters/:ref/resume',
    name: 'resumeCluster',
    summary: 'Submit again after the breaker stopped submissions',
    params: refParams,
    body: emptyBody,
    bodyOptional: true,
    answer: { status: 200, ...oneCluster },
    errors: ACT_ERRORS,
    handle: async ({ service }, { params }) => ({
      body: await service.resume(params.ref)
    })
  }),
  route({
    method: 'POST',
    path: 'clusters/:ref/restart',
    name: 'restartCluster',
    summary: 'Scheduler and workers anew under the same id',
    params: refParams,
    body: emptyBody,
    bodyOptional: true,
    answer: { status: 202, ...oneCluster },
    errors: ACT_ERRORS,
    handle: async ({ service }, { params }) => ({
      body: await service.restart(params.ref)
    })
  })
];

const detailRoutes: Route[] = [
  route({
    method: 'GET',
    path: 'clusters/:ref/workers',
    name: 'listWorkers',
    summary: 'Workers of a cluster',
    params: refParams,
    query: pageQuery,
    answer: {
      status: 200,
      description: 'workers',
      schema: pageSchema(workerViewSchema)
    },
    errors: ['not-found'],
    handle: ({ service }, { params, query }) => ({
      body: pageOf(service.workers(params.ref), worker => worker.id, query)
    })
  }),
  route({
    method: 'POST',
    path: 'clusters/:ref/workers/:worker/retire',
    name: 'retireWorker',
    summary: 'Let a worker go: data moved, tasks finished, then closed',
    params: workerParams,
    body: retireBody,
    bodyOptional: true,
    answer: {
      status: 202,
      description: 'the worker',
      schema: workerViewSchema
    },
    errors: ['spec-invalid', ...ACT_ERRORS],
    handle: async ({ service }, { params, body }) => ({
      body: await service.retire(params.ref, params.worker, {
        deadlineSeconds: body.deadline
      })
    })
  }),
  route({
    method: 'GET',
    path: 'clusters/:ref/jobs',
    name: 'listJobs',
    summary: 'Jobs of a cluster',
    params: refParams,
    query: pageQuery,
    answer: {
      status: 200,
      description: 'jobs',
      schema: pageSchema(jobViewSchema)
    },
    errors: ['not-found'],
    handle: ({ service }, { params, query }) => ({
      body: pageOf(service.jobs(params.ref), job => job.id, query)
    })
  }),
  route({
    method: 'GET',
    path: 'clusters/:ref/events',
    name: 'listEvents',
    summary: 'Events of a cluster, oldest first',
    params: refParams,
    query: eventsQuery,
    answer: {
      status: 200,
      description: 'events',
      schema: pageSchema(clusterEventSchema)
    },
    errors: ['not-found', 'spec-invalid'],
    handle: async ({ service }, { params, query }) => ({
      body: await service.events(params.ref, {
        after: query.cursor ?? query.after ?? 0,
        limit: query.limit
      })
    })
  }),
  route({
    method: 'GET',
    path: 'clusters/:ref/logs/:what',
    name: 'readLog',
    summary: 'Text of the scheduler, a job or a worker',
    params: logParams,
    query: logQuery,
    answer: {
      status: 200,
      description: 'the text',
      schema: 'text',
      headers: { [NEXT_OFFSET_HEADER]: 'offset to read on from' }
    },
    errors: ['not-found', 'spec-invalid', 'backend-unavailable'],
    handle: async ({ service }, { params, query }) => {
      const log = await service.logs(params.ref, {
        what: params.what,
        stream: query.stream,
        offset: query.offset,
        limit: query.limit
      });
      return {
        body: log.text,
        headers: { [NEXT_OFFSET_HEADER]: String(log.nextOffset) }
      };
    }
  }),
  route({
    method: 'GET',
    path: 'clusters/:ref/connection',
    name: 'getConnection',
    summary: 'Address, certificate files and code that connects',
    params: refParams,
    answer: {
      status: 200,
      description: 'how to connect',
      schema: connectionViewSchema
    },
    errors: ACT_ERRORS,
    handle: async ({ service }, { params }) => ({
      body: await service.connection(params.ref)
    })
  }),
  route({
    method: 'GET',
    path: 'clusters/:ref/dashboards',
    name: 'listDashboards',
    summary: "The scheduler's own list of plots",
    params: refParams,
    query: pageQuery,
    answer: {
      status: 200,
      description: 'plots',
      schema: pageSchema(dashboardViewSchema)
    },
    errors: ACT_ERRORS,
    handle: async ({ service }, { params, query }) => ({
      body: pageOf(
        await service.dashboards(params.ref),
        plot => plot.name,
        query
      )
    })
  })
];

/** Every route below `/api/v1/`. The event stream (an upgrade) and the dashboards are beside it. */
export const ROUTES: readonly Route[] = [
  ...bridgeRoutes,
  ...clusterRoutes,
  ...detailRoutes
];

/** What every route answers with while records are being loaded. */
export function startingError(): MusterError {
  return new MusterError({
    code: 'bridge-starting',
    message: 'the bridge is reading its records; try again in a moment'
  });
}
