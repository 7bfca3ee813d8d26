/** The dashboards' HTTP side as a route of the application, behind its gate, with raw bodies. */
import type { FastifyInstance } from 'fastify';
import type { DashboardRelay } from './dashboards.js';
import { DASHBOARDS_PREFIX } from './dashboards.js';

export const DASHBOARD_METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS'
] as const;

export async function addDashboardRoutes(
  app: FastifyInstance,
  relay: DashboardRelay
): Promise<void> {
  await app.register((scope, options, done) => {
    scope.removeAllContentTypeParsers();
    // The body is not read here: the relay passes it on as it comes.
    scope.addContentTypeParser('*', (request, payload, parsed) => {
      parsed(null, payload);
    });
    scope.route({
      method: [...DASHBOARD_METHODS],
      url: `${DASHBOARDS_PREFIX}*`,
      handler: async (request, reply) => {
        // A throw comes before the first byte and goes the way of every error.
        await relay.relay(request.raw, reply.raw);
        reply.hijack();
      }
    });
    done();
  });
}
