/** Routes about the bridge, what it has to offer, and who is here. */
import { clientSchema, PROTOCOL_VERSION } from '../../protocol/index.js';
import type { HealthView } from '../../protocol/index.js';
import { pageOf } from './page.js';
import { clientParams, emptyBody, pageQuery } from './parameters.js';
import { route } from './route.js';
import type { Route } from './route.js';
import {
  backendViewSchema,
  environmentViewSchema,
  healthViewSchema,
  pageSchema,
  profileViewSchema
} from './view-schemas.js';

export const bridgeRoutes: readonly Route[] = [
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
