/** Routes that look into one cluster: workers, jobs, events, logs, connection, plots. */
import { NEXT_OFFSET_HEADER } from '../../protocol/index.js';
import { pageOf } from './page.js';
import {
  eventsQuery,
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
  clusterEventSchema,
  connectionViewSchema,
  dashboardViewSchema,
  jobViewSchema,
  pageSchema,
  workerViewSchema
} from './view-schemas.js';

const ACT_ERRORS = ['not-found', 'conflict', 'backend-unavailable'] as const;

export const detailRoutes: readonly Route[] = [
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
