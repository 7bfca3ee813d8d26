/** Routes that make, change and end clusters. */
import { clusterPatchSchema, clusterSpecSchema } from '../../protocol/index.js';
import { pageOf } from './page.js';
import { emptyBody, forceQuery, pageQuery, refParams } from './parameters.js';
import { route } from './route.js';
import type { Route } from './route.js';
import {
  clusterViewSchema,
  pageSchema,
  previewViewSchema
} from './view-schemas.js';

const SPEC_ERRORS = ['spec-invalid', 'policy', 'backend-unavailable'] as const;
const ACT_ERRORS = ['not-found', 'conflict', 'backend-unavailable'] as const;
const oneCluster = {
  description: 'the cluster',
  schema: clusterViewSchema
};

export const clusterRoutes: readonly Route[] = [
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
